// Run files: the words of the options, in YAML. docs/run-files.md is the page for users; it and this schema agree.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <headrace/base/bytes.h>
#include <headrace/tools/tools.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "loader/options_table.h"
#include "storage/whole_file.h"
#include "tools/patches_section.h"
#include "tools/run_file_paths.h"
#include "tools/run_file_text.h"
#include "tools/text_config.h"
#include "tools/yaml_values.h"

namespace headrace {
namespace {

constexpr std::uint64_t kMostAxes = 64;  // no array has more

constexpr std::streamoff kMaxFileBytes = 1 << 20;

using yaml::as_bool;
using yaml::as_number;
using yaml::as_text;
using yaml::bad;
using yaml::found;
using yaml::Keys;
using yaml::walk;

Status read_fields(const YamlNode& node, const std::string& key, std::vector<FieldChoice>& fields) {
  std::set<std::string> names;
  const auto add = [&](const YamlNode& at, std::string name, std::string path) -> Status {
    if (!names.insert(name).second) return bad(at, key, fmt::format("the field '{}' is given twice", name));
    fields.push_back({std::move(name), std::move(path)});
    return {};
  };
  if (node.kind == YamlNode::Kind::kMap) {
    for (const auto& [name, path] : node.entries) {
      HEADRACE_ASSIGN(std::string text, as_text(path, key + "." + name.text));
      HEADRACE_TRY(add(name, name.text, std::move(text)));
    }
  } else if (node.kind == YamlNode::Kind::kList) {
    for (const YamlNode& item : node.items) {
      HEADRACE_ASSIGN(const std::string text, as_text(item, key));
      HEADRACE_TRY(add(item, text, text));
    }
  } else {
    return bad(node, key,
               fmt::format("a map of names and paths, or a list of paths, is expected; {} was found", found(node)));
  }
  if (fields.empty()) return bad(node, key, "no field is chosen");
  return {};
}

Status read_windows(const YamlNode& node, const std::string& key, WindowOptions& windows) {
  const auto number = [](std::uint64_t& out, std::uint64_t least) {
    return [&out, least](const YamlNode& n, const std::string& k) -> Status {
      HEADRACE_ASSIGN(out, as_number(n, k));
      if (out < least) return bad(n, k, fmt::format("a number of at least {} is expected", least));
      return {};
    };
  };
  Keys keys;
  keys["length"] = number(windows.length, 1);
  keys["lookahead"] = number(windows.lookahead, 0);
  keys["stride"] = [&](const YamlNode& n, const std::string& k) { return number(windows.stride.emplace(), 1)(n, k); };
  keys["across_files"] = [&](const YamlNode& n, const std::string& k) -> Status {
    HEADRACE_ASSIGN(windows.across_files, as_bool(n, k));
    return {};
  };
  HEADRACE_TRY(walk(node, key, keys));
  if (windows.length == 0) return bad(node, key, "length is missing: the rows of a window");
  return {};
}

/// What is said of files of tokens; {} says nothing.
Status read_tokens(const YamlNode& node, const std::string& key, TokenOptions& tokens) {
  Keys keys;
  keys["dtype"] = [&](const YamlNode& n, const std::string& k) -> Status {
    HEADRACE_ASSIGN(tokens.dtype, as_text(n, k));
    return {};
  };
  keys["vocab_size"] = [&](const YamlNode& n, const std::string& k) -> Status {
    HEADRACE_ASSIGN(tokens.vocab_size, as_number(n, k));
    if (tokens.vocab_size == 0) return bad(n, k, "a number of at least 1 is expected");
    return {};
  };
  keys["check"] = [&](const YamlNode& n, const std::string& k) -> Status {
    HEADRACE_ASSIGN(tokens.check, as_bool(n, k));
    return {};
  };
  return walk(node, key, keys);
}

/// [64, 64, 64], or one number for a single axis.
/// "event_id", {key: HitData, column: 0}, {offsets: event_offsets} or {meta: …, first: …, last: …}.
Status read_sample_by(const YamlNode& node, const std::string& key, SampleBy& by) {
  if (node.kind == YamlNode::Kind::kScalar) {
    HEADRACE_ASSIGN(by.key, as_text(node, key));
    return {};
  }
  const auto path = [](std::string& out) {
    return [&out](const YamlNode& n, const std::string& k) -> Status {
      HEADRACE_ASSIGN(out, as_text(n, k));
      return {};
    };
  };
  Keys keys;
  keys["key"] = path(by.key);
  keys["offsets"] = path(by.offsets);
  keys["column"] = [&](const YamlNode& n, const std::string& k) -> Status {
    HEADRACE_ASSIGN(by.column, as_number(n, k));
    return {};
  };
  for (const auto& [name, text] :
       std::initializer_list<std::pair<const char*, std::string*>>{{"meta", &by.meta},
                                                                   {"first", &by.first},
                                                                   {"last", &by.last},
                                                                   {"end", &by.end},
                                                                   {"file", &by.file},
                                                                   {"file_template", &by.file_template}})
    keys[name] = path(*text);
  HEADRACE_TRY(walk(node, key, keys));
  if (!by.key.empty() + !by.offsets.empty() + !by.meta.empty() != 1)
    return bad(node, key, "one of key, offsets and meta is expected");
  if (by.meta.empty() && !(by.first + by.last + by.end + by.file + by.file_template).empty())
    return bad(node, key, "first, last, end, file and file_template are fields of a table, and there is no meta");
  return {};
}

Status read_files(const YamlNode& node, const std::string& key, const std::string& run_file,
                  std::vector<std::string>& files) {
  if (node.kind != YamlNode::Kind::kList) {
    HEADRACE_ASSIGN(const std::string text, as_text(node, key));
    files.push_back(beside(run_file, text));
    return {};
  }
  for (const YamlNode& item : node.items) {
    HEADRACE_ASSIGN(const std::string text, as_text(item, key));
    files.push_back(beside(run_file, text));
  }
  if (files.empty()) return bad(node, key, "the list is empty");
  return {};
}

/// A value of an option as its table takes it. YAML readers differ in what they take for numbers and truth: one way of
/// writing them is taken here.
Result<std::string> text_for(const LoaderOption& option, const YamlNode& node, const std::string& key) {
  switch (option.kind) {
    case LoaderOption::Kind::kSwitch: {
      HEADRACE_ASSIGN(const bool on, as_bool(node, key));
      return std::string(on ? "true" : "false");
    }
    case LoaderOption::Kind::kCount: {
      HEADRACE_ASSIGN(const std::uint64_t number, as_number(node, key));
      return fmt::format("{}", number);
    }
    case LoaderOption::Kind::kSeconds:
    case LoaderOption::Kind::kNumber:
    case LoaderOption::Kind::kText:
      break;
  }
  if (node.kind == YamlNode::Kind::kMap) {  // batch: {tokens: 32768, lanes: 8}
    std::string words;
    for (const auto& [name, value] : node.entries) {
      HEADRACE_ASSIGN(const std::string text, as_text(value, key + "." + name.text));
      words += (words.empty() ? "" : ",") + name.text + "=" + text;
    }
    return words;
  }
  const Result<bool> truth = as_bool(node, key);
  return truth.ok() ? std::string(*truth ? "true" : "false") : as_text(node, key);
}

Status read_loader(const YamlNode& node, const std::string& run_file, LoaderSettings& settings) {
  Keys keys;
  for (const LoaderOption& option : loader_options()) {
    if ((option.where & LoaderOption::kRunFile) == 0) {
      keys[std::string(option.name)] = [](const YamlNode& n, const std::string& k) -> Status {
        return bad(n, k, "not in a run file: it is given in code");
      };
      continue;
    }
    keys[std::string(option.name)] = [&](const YamlNode& n, const std::string& k) -> Status {
      HEADRACE_ASSIGN(std::string text, text_for(option, n, k));
      if (option.name == "cache" && text.find('/') != std::string::npos) text = beside(run_file, text);
      const Status set = option.set(settings, text);
      return set.ok() ? Status() : Status(bad(n, k, set.error().message()).with_hint(set.error().hint()));
    };
  }
  HEADRACE_TRY(walk(node, "loader", keys));
  const Status settled = settle(settings);
  if (settled.ok()) return {};
  return bad(node, "loader", settled.error().message()).with_hint(settled.error().hint());
}

Result<std::string> read_text(const std::string& path) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed))
    return Error(ErrorCode::kInvalidArgument, "this is a directory, a run file is expected");
  auto text = read_whole_file(path, kMaxFileBytes);
  if (text.ok()) return text;
  if (text.error().code() == ErrorCode::kNotFound) return Error(ErrorCode::kNotFound, "there is no such run file");
  if (text.error().code() == ErrorCode::kPermission)
    return Error(ErrorCode::kPermission, "this run file may not be read");
  return text;
}

}  // namespace

Result<RunConfig> parse_run(const std::string& text, const std::string& path) {
  HEADRACE_ASSIGN(const YamlNode root, parse_yaml(text));
  if (is_text_config(root)) return read_text_config(root, path);
  RunConfig run;
  bool has_loader = false;
  Keys data_keys;
  data_keys["files"] = [&](const YamlNode& n, const std::string& k) { return read_files(n, k, path, run.files); };
  const auto note_beside = [&](const FieldChoice& field) {  // what is no FILES::PATH after all does no harm
    if (const std::size_t end = field.path.find("::"); end != 0 && end != std::string::npos)
      run.open.companion_files[field.path.substr(0, end)] = {beside(path, field.path.substr(0, end))};
  };
  data_keys["fields"] = [&](const YamlNode& n, const std::string& k) -> Status {
    HEADRACE_TRY(read_fields(n, k, run.open.fields));
    std::ranges::for_each(run.open.fields, note_beside);
    return {};
  };
  data_keys["sample_axes"] = [&](const YamlNode& n, const std::string& k) -> Status {
    HEADRACE_ASSIGN(const std::uint64_t axes, as_number(n, k));
    if (axes < 1 || axes > kMostAxes) return bad(n, k, fmt::format("a number from 1 to {} is expected", kMostAxes));
    run.open.sample_axes = static_cast<std::uint32_t>(axes);
    return {};
  };
  data_keys["nulls"] = [&](const YamlNode& n, const std::string& k) -> Status {
    HEADRACE_ASSIGN(const std::string word, as_text(n, k));
    const std::optional<Nulls> nulls = nulls_of(word);
    if (!nulls) return bad(n, k, "error, fill or mask is expected");
    run.open.nulls = *nulls;
    return {};
  };
  data_keys["broadcast"] = [&](const YamlNode& n, const std::string& k) -> Status {
    std::vector<FieldChoice> choices;
    HEADRACE_TRY(read_fields(n, k, choices));
    std::ranges::for_each(choices, note_beside);
    for (FieldChoice& choice : choices) run.open.broadcast.push_back({std::move(choice.name), std::move(choice.path)});
    return {};
  };
  data_keys["sample_by"] = [&](const YamlNode& n, const std::string& k) -> Status {
    SampleBy& by = run.open.sample_by.emplace();
    HEADRACE_TRY(read_sample_by(n, k, by));
    for (const std::string& one : {by.key, by.offsets}) note_beside({"", one});
    if (!by.meta.empty()) by.meta = beside(path, by.meta);
    return {};
  };
  data_keys["targets"] = [&](const YamlNode& n, const std::string& k) -> Status {
    HEADRACE_TRY(read_fields(n, k, run.open.targets));
    std::ranges::for_each(run.open.targets, note_beside);
    return {};
  };
  data_keys["windows"] = [&](const YamlNode& n, const std::string& k) {
    return read_windows(n, k, run.windows.emplace());
  };
  data_keys["tokens"] = [&](const YamlNode& n, const std::string& k) {
    return read_tokens(n, k, run.tokens.emplace());
  };
  bool has_volume = false;
  data_keys["volume"] = [&](const YamlNode& n, const std::string& k) -> Status {
    has_volume = true;
    Keys volume_keys;
    volume_keys["arrays"] = [&](const YamlNode& arrays, const std::string& name) -> Status {
      if (!run.open.fields.empty()) return bad(arrays, name, "fields are given as well: a volume has arrays");
      HEADRACE_TRY(read_fields(arrays, name, run.open.fields));
      std::ranges::for_each(run.open.fields, note_beside);
      return {};
    };
    return walk(n, k, volume_keys);
  };
  data_keys["patches"] = [&](const YamlNode& n, const std::string& k) {
    return read_patches(n, k, run.patches.emplace());
  };
  Keys keys;
  keys["data"] = [&](const YamlNode& n, const std::string& k) { return walk(n, k, data_keys); };
  keys["loader"] = [&](const YamlNode& n, const std::string&) -> Status {
    has_loader = true;
    LoaderSettings settings;
    HEADRACE_TRY(read_loader(n, path, settings));
    run.loader = settings.options;
    run.framework = settings.framework;
    run.device = settings.device;
    run.batch_format = settings.batch_format;
    return {};
  };
  if (root.kind == YamlNode::Kind::kNull)
    return Error(ErrorCode::kInvalidArgument, "the run file is empty: data and loader are expected");
  HEADRACE_TRY(walk(root, "", keys));
  if (run.files.empty()) return Error(ErrorCode::kInvalidArgument, "data.files is missing");
  if (has_volume != run.patches.has_value())
    return Error(ErrorCode::kInvalidArgument, has_volume
                                                  ? "data.patches is missing: which boxes of a volume are samples"
                                                  : "data.volume is missing: patches are boxes of a volume")
        .with_hint(
            "Such as volume: {arrays: {raw: volumes/raw}} and patches: {shape: [64, 64, 64], "
            "samples_per_epoch: 10000}.");
  if (run.patches && (run.windows || run.open.sample_by))
    return Error(ErrorCode::kInvalidArgument,
                 "patches are boxes of volumes; windows and sample_by make samples of rows")
        .with_hint("Leave one of them out.");
  if (run.tokens && (run.patches || run.open.sample_by || !run.open.fields.empty()))
    return Error(ErrorCode::kInvalidArgument, "files of tokens have one field, tokens, of which windows are made")
        .with_hint("Leave fields, sample_by and volume out.");
  if (!has_loader) return Error(ErrorCode::kInvalidArgument, "loader is missing: at least batch_size is needed");
  return run;
}

Dataset open_run(const RunConfig& run) {
  return open_run(run, run.files);
}

Dataset open_run(const RunConfig& run, const std::vector<std::string>& files) {
  if (run.patches) return patches(open_volumes(files, run.open), *run.patches);
  const bool is_tokens = run.tokens.has_value();
  Dataset data = is_tokens ? open_tokens(files, *run.tokens).rows() : open(files, run.open);
  return run.windows ? windows(data, *run.windows) : data;
}

RunConfig load_run(const std::string& path) {
  const Result<std::string> text = read_text(path);
  Result<RunConfig> run = text.ok() ? parse_run(*text, path) : text.error();
  if (!run.ok()) throw run.error().with_file(path).with_stage("run file");
  run->path = path;
  return std::move(*run);
}

}  // namespace headrace
