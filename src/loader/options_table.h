// The options of a loader, each once: run files, the command line and the Python module read them by this table, and
// the signature, docstring and reference pages are compared with it by a test.
#pragma once

#include <headrace/loader/loader.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace headrace {

/// What options set. Those of the Python face are kept as the words they are.
struct LoaderSettings {
  LoaderOptions options;
  std::string framework = "numpy", device = "cpu", batch_format = "dict";
  std::optional<Tail> tail;       ///< What tail= says, and
  std::optional<bool> drop_last;  ///< what drop_last= does: they may contradict each other.
};

struct LoaderOption {
  /// How a value is written: true or false; digits; seconds; any number; anything else.
  enum class Kind : std::uint8_t { kSwitch, kCount, kSeconds, kNumber, kText };
  /// Where it can be given. All are arguments of hr.Loader.
  enum Where : std::uint8_t { kCodeOnly = 0, kRunFile = 1, kCommandLine = 2, kEverywhere = 3 };

  std::string_view name;  ///< "batch_size"; with dashes on the command line.
  Kind kind = Kind::kText;
  std::string_view expected;  ///< "true, false, block or exact".
  std::string_view fallback;  ///< The default, as Python's signature has it.
  std::string_view doc;       ///< One line.
  Where where = kEverywhere;
  /// Take a value as text. Errors: kInvalidArgument, without the option's name. Null where no text says it.
  Status (*set)(LoaderSettings& settings, const std::string& text) = nullptr;
  /// Return the value as text that set() takes; empty where there is none.
  std::string (*get)(const LoaderSettings& settings) = nullptr;
};

/// Return all of them, in the order of Python's signature.
std::span<const LoaderOption> loader_options();
/// Return the option of that name; null if there is none.
const LoaderOption* find_loader_option(std::string_view name);
/// True if the option has another value than its default.
bool is_given(const LoaderOption& option, const LoaderSettings& settings);
/// Fill in options.tail and the order of groups, and check the options (option_rules.h). Errors: kInvalidArgument.
Status settle(LoaderSettings& settings);

}  // namespace headrace
