#include "tools/programs/text_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/machine/own_cpus.h"
#include "base/text/nearest_name.h"
#include "dataset/recipe/data_tree.h"
#include "dataset/recipe/verb_options.h"
#include "spec/path_forms.h"

namespace headrace {
namespace {

constexpr std::array kPaths{"path", "data_path", "train_path", "dataset_path"};
constexpr std::array kLengths{"block_size", "seq_len", "max_seq_len", "sequence_length", "maxlen", "context_length"};
constexpr std::array kWorkers{"worker_count", "worker_buffer_size", "prefetch_buffer_size"};
constexpr std::array kOthers{"batch_size", "cache_size", "tokenizer_name", "vocab_size",
                             "seed",       "shuffle",    "num_epochs",     "field"};
constexpr std::array kTextEndings{".txt", ".md",      ".json",  ".jsonl", ".ndjson",
                                  ".csv", ".parquet", ".arrow", ".gz",    ".zst"};

bool is_one_of(std::string_view name, const auto& names) {
  return std::ranges::find(names, name) != names.end();
}

/// A word, where it was found.
struct Setting {
  std::string key;  ///< "training.batch_size"
  const Value* value = nullptr;
};

/// The words of all sections, each once.
class Settings {
 public:
  static Result<Settings> of(const Value& root) {
    Settings all;
    HEADRACE_TRY(all.add(root, ""));
    return all;
  }
  [[nodiscard]] const Setting* find(std::string_view name) const {
    const auto found = std::ranges::find(found_, name, &std::pair<std::string, Setting>::first);
    return found == found_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] const Setting* first_of(const auto& names) const {
    for (const std::string_view name : names)
      if (const Setting* const setting = find(name)) return setting;
    return nullptr;
  }

 private:
  static std::vector<std::string> known() {
    std::vector<std::string> names;
    for (const char* const name : kPaths) names.emplace_back(name);
    for (const char* const name : kLengths) names.emplace_back(name);
    for (const char* const name : kWorkers) names.emplace_back(name);
    for (const char* const name : kOthers) names.emplace_back(name);
    return names;
  }

  Status add(const Value& section, const std::string& prefix) {
    const ValueMap* const map = section.map();
    if (!map) return {};
    const std::vector<std::string> names = known();
    const bool has_path = std::ranges::any_of(*map, [](const ValueEntry& one) { return is_one_of(one.key, kPaths); });
    for (const auto& [key, value, line] : *map) {
      if (value.map() && prefix.empty()) {
        HEADRACE_TRY(add(value, key + "."));
        continue;
      }
      const At at{nullptr, prefix + key};
      const Value place{{}, false, line};
      if (!is_one_of(key, names)) {
        if (!has_path || prefix.empty()) continue;  // the program's own
        return refused(place, at, "there is no such setting of the data",
                       fmt::format("There are: {}.", fmt::join(nearest_names(key, names), ", ")));
      }
      if (value.is_none()) continue;
      const Setting* const before = find(key);
      if (before != nullptr && flow_text(*before->value) != flow_text(value))
        return refused(place, at, fmt::format("{} and {} contradict each other", before->key, prefix + key));
      if (before == nullptr) found_.emplace_back(key, Setting{prefix + key, &value});
    }
    return {};
  }

  std::vector<std::pair<std::string, Setting>> found_;
};

constexpr std::string_view kWhatItIs = "a configuration for headrace.jax.load_text_dataset";

/// Refuse settings without what no run can be made without, all of it at once.
Status check_complete(const Settings& settings) {
  std::vector<std::string> what, names;
  const auto look = [&](const char* name, const auto& words) {
    if (settings.first_of(words) != nullptr) return;
    what.emplace_back(name);
    names.push_back(fmt::format("{}", fmt::join(words, ", ")));
  };
  look("the path of the data", kPaths);
  look("the sequence length", kLengths);
  look("the batch size", std::array{"batch_size"});
  if (what.empty()) return {};
  return Error(ErrorCode::kInvalidArgument, fmt::format("this is {}: {} {} missing", kWhatItIs,
                                                        fmt::join(what, " and "), what.size() == 1 ? "is" : "are"))
      .with_hint(fmt::format("Give one of these: {}.", fmt::join(names, "; and one of these: ")));
}

/// What a setting says, as the file has it.
std::string text_of_setting(const Setting& setting) {
  return setting.value->text() ? *setting.value->text() : flow_text(*setting.value);
}

/// \param tokenizer  As the settings name it; empty: they do not.
Status refuse_text(const Setting& data, const std::string& file, const std::string& tokenizer) {
  if (std::ranges::none_of(kTextEndings, [&](std::string_view ending) { return file.ends_with(ending); })) return {};
  return Error(ErrorCode::kUnsupported,
               fmt::format("{}: {} is text, and a run file reads tokens: this is {}, which takes "
                           "either",
                           data.key, file, kWhatItIs))
      .with_hint(fmt::format("Tokenise it once: headrace tokenize '{}' --tokenizer {} --to FOLDER, and give the "
                             "folder as {}. Text as it is: headrace bench text --path '{}'.",
                             file, tokenizer.empty() ? "NAME" : tokenizer, data.key, file));
}

/// Reads settings into a run, and notes what became of each. They are complete.
class Reader {
 public:
  Reader(const Settings& settings, RunConfig& run) : settings_(settings), run_(run) {}

  void note(const Setting& setting, std::string_view what) {
    run_.became.push_back(fmt::format("{} {}: {}", setting.key, text_of_setting(setting), what));
  }
  Result<std::optional<std::uint64_t>> number(std::string_view name) const {
    const Setting* const setting = settings_.find(name);
    if (setting == nullptr) return std::optional<std::uint64_t>();
    HEADRACE_ASSIGN(const std::uint64_t value, number_of(*setting));
    return std::optional(value);
  }
  Status files(const std::string& path) {
    const Setting* const data = settings_.first_of(kPaths);
    const Setting* const tokenizer = settings_.find("tokenizer_name");
    std::string file;
    HEADRACE_TRY(ValueCodec<std::string>::read(*data->value, At{nullptr, data->key}, {}, file));
    HEADRACE_TRY(refuse_text(*data, file, tokenizer == nullptr ? "" : text_of_setting(*tokenizer)));
    HEADRACE_ASSIGN(const auto vocab_size, number("vocab_size"));
    run_.data = node_of(TokensNode{{beside(path, file)}, {.vocab_size = vocab_size.value_or(0)}});
    note(*data, "files of tokens");
    return {};
  }
  Status sizes() {
    const Setting* const length = settings_.first_of(kLengths);
    HEADRACE_ASSIGN(const std::uint64_t tokens, number_of(*length, 1));
    run_.data = node_of(WindowOptions{.length = tokens, .lookahead = 1}, run_.data);
    note(*length, "windows of so many tokens, and the next token");
    const Setting* const batch = settings_.find("batch_size");
    HEADRACE_ASSIGN(const std::uint64_t size, number_of(*batch, 1));
    run_.loader.batch = GlobalSamples{size};
    note(*batch, "windows in a batch, of all ranks together");
    return {};
  }
  Status order() {
    bool on = true;
    if (const Setting* const shuffle = settings_.find("shuffle")) {
      HEADRACE_TRY(ValueCodec<bool>::read(*shuffle->value, At{nullptr, shuffle->key}, {}, on));
    }
    if (on) run_.loader.order = BlockShuffle{};
    HEADRACE_ASSIGN(const auto seed, number("seed"));
    run_.loader.seed = seed.value_or(0);
    return {};
  }
  Status workers() {
    if (const Setting* const count = settings_.find("worker_count")) {
      HEADRACE_ASSIGN(const std::uint64_t wanted, number_of(*count));
      const auto most = static_cast<std::uint64_t>(own_cpus().count);
      run_.loader.threads = static_cast<std::uint32_t>(std::min(wanted, most));
      note(*count, fmt::format("{} decode threads; no worker processes",
                               wanted == 0 ? "as many" : std::to_string(run_.loader.threads)));
    }
    for (const char* const name : {"worker_buffer_size", "prefetch_buffer_size"})
      if (const Setting* const setting = settings_.find(name))
        note(*setting, "without effect: as many batches ahead as the memory holds");
    if (const Setting* const setting = settings_.find("cache_size"))
      note(*setting, "not needed: windows are read from the files, which the page cache keeps in memory");
    if (const Setting* const setting = settings_.find("tokenizer_name"))
      note(*setting, "not compared here; headrace.jax.load_text_dataset compares it");
    if (const Setting* const setting = settings_.find("field")) note(*setting, "not needed: the files are tokens");
    if (const Setting* const setting = settings_.find("num_epochs"))
      note(*setting, "--epochs says how many are measured");
    return {};
  }

 private:
  static Result<std::uint64_t> number_of(const Setting& setting, std::uint64_t least = 0) {
    return read_whole(*setting.value, At{nullptr, setting.key}, {least});
  }

  const Settings& settings_;
  RunConfig& run_;
};

bool has_key(const ValueMap& map, const auto& names) {
  return std::ranges::any_of(map, [&](const ValueEntry& one) { return is_one_of(one.key, names); });
}
/// At the root, or in a section.
bool has_setting(const ValueMap& root, const auto& names) {
  return has_key(root, names) || std::ranges::any_of(root, [&](const ValueEntry& one) {
           return one.value.map() && has_key(*one.value.map(), names);
         });
}

}  // namespace

bool is_text_config(const Value& root) {
  const ValueMap* const map = root.map();
  if (!map || has_setting(*map, std::array{"loader"})) return false;
  return has_setting(*map, kWorkers) || has_setting(*map, std::array{"tokenizer_name"}) ||
         (has_setting(*map, kPaths) && has_setting(*map, kLengths));
}

Result<RunConfig> read_text_config(const Value& root, const std::string& path) {
  HEADRACE_ASSIGN(const Settings settings, Settings::of(root));
  HEADRACE_TRY(check_complete(settings));
  RunConfig run;
  Reader reader(settings, run);
  HEADRACE_TRY(reader.files(path));
  HEADRACE_TRY(reader.sizes());
  HEADRACE_TRY(reader.order());
  HEADRACE_TRY(reader.workers());
  return run;
}

}  // namespace headrace
