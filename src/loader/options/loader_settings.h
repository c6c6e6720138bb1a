// The options of a loader, each once: run files, the command line and the Python module read and write them by the list
// in loader_settings.cpp, and the reference pages are compared with it. docs/guides/adding-an-option.md is the recipe.
#pragma once

#include <headrace/loader.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "spec/value_codecs.h"

namespace headrace {

/// An option that only code can give: an object of the program.
struct GivenInCode {};

/// Batches that lie in page-locked memory on the way to a device: two are copied while the next is filled.
inline constexpr std::uint32_t kStagedBatches = 3;

/// What `shuffle` says.
enum class ShuffleWord : std::uint8_t { kNone, kBlock, kExact };

/// What is said of a loader, word by word: its options, and words that stand for several of them or belong to Python.
struct LoaderSettings {
  LoaderOptions options = {};                           ///< Its batch and its order are settled from the words below.
  std::uint64_t batch_size = 0, global_batch_size = 0;  ///< 0: not given.
  std::optional<ByTokens> by_tokens = {};
  ShuffleWord shuffle = ShuffleWord::kNone;
  ShuffleShape shuffle_buffer = {};
  std::optional<Order> sampler_order = {};  ///< What code gives.
  std::string framework = "numpy", device = "cpu", batch_format = "dict", on_error = "raise";
  std::optional<Tail> tail = {};  ///< It may contradict drop_last, and either may be given where no tail is.
  bool drop_last = false;
  std::string group_by = {};                    ///< Groups::by, and
  std::uint64_t max_items = 0, max_groups = 0;  ///< what goes with it; 0: not given.
  GivenInCode sampler = {}, batch_sampler = {}, lookahead = {};
};
/// Return the list, in the order of Python's signature.
const Spec& spec_of(const LoaderSettings*);
const Spec& spec_of(const ByTokens*);

/// Fill in the options that the words stand for, and check all of them (option_rules.h). Errors: kInvalidArgument.
Status settle(LoaderSettings& settings);
/// Return the words that settle() makes such options of.
LoaderSettings settings_of(const LoaderOptions& options);

/// Return the options of a run that give way where others are given over them: what says otherwise how large batches
/// are, and what goes with that, a tail, another order. \param given  Names and values.
std::vector<std::string_view> options_replaced_by(const ValueMap& given);

/// Return true if the option has another value than its default.
bool is_given(const Member& option, const LoaderSettings& settings);
/// Return the value of an option as the command line takes it: "8GiB", "tokens=64,lanes=2"; empty: there is none.
std::string option_text(const Member& option, const LoaderSettings& settings);

}  // namespace headrace
