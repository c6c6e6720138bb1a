// Run files: how a data set is made and how it is delivered, in YAML. docs/run-files.md is the page for users.
#include <fmt/format.h>
#include <headrace/bytes.h>
#include <headrace/tools.h>

#include <filesystem>

#include "dataset/recipe/data_tree.h"
#include "dataset/recipe/verb_options.h"
#include "loader/options/loader_settings.h"
#include "storage/whole_file.h"
#include "tools/programs/text_config.h"
#include "tools/runs/run_file_text.h"
#include "tools/runs/yaml.h"

namespace headrace {
namespace {

Status read_loader(const Value& value, const At& at, RunConfig& run) {
  LoaderSettings settings;
  HEADRACE_TRY(spec<LoaderSettings>().read(value, at, &settings));
  const Status settled = settle(settings);
  if (!settled.ok()) return refused({{}, false, value.line}, at, settled.error().message(), settled.error().hint());
  set_loader(run, settings);
  return {};
}

Result<std::string> read_text(const std::string& path) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed))
    return Error(ErrorCode::kInvalidArgument, "this is a directory, a run file is expected");
  auto text = read_whole_file(path, kMaxYamlBytes);
  if (text.ok()) return text;
  if (text.error().code() == ErrorCode::kNotFound) return Error(ErrorCode::kNotFound, "there is no such run file");
  if (text.error().code() == ErrorCode::kPermission)
    return Error(ErrorCode::kPermission, "this run file may not be read");
  return text;
}

}  // namespace

Result<RunConfig> parse_run(const std::string& text, const std::string& path) {
  HEADRACE_ASSIGN(const Value root, parse_yaml(text));
  if (is_text_config(root)) return read_text_config(root, path);
  if (root.is_none()) return Error(ErrorCode::kInvalidArgument, "the run file is empty: data and loader are expected");
  const ValueMap* const map = root.map();
  if (!map) return unexpected(root, At{nullptr, "run file"}, "a map of keys and values");
  HEADRACE_TRY(check_keys(*map, {}, {"data", "loader"}));
  RunConfig run;
  const ReadContext context{path};
  bool has_loader = false;
  for (const ValueEntry& entry : *map) {
    const At at{nullptr, entry.key, &context};
    if (entry.key == "data") {
      HEADRACE_ASSIGN(run.data, read_data(entry.value, at));
      continue;
    }
    has_loader = true;
    HEADRACE_TRY(read_loader(entry.value, at, run));
  }
  if (!run.data) return Error(ErrorCode::kInvalidArgument, "data.files is missing");
  if (!has_loader) return Error(ErrorCode::kInvalidArgument, "loader is missing: at least batch_size is needed");
  return run;
}

Dataset open_run(const RunConfig& run, const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  return open(run.data, progress);
}

Dataset open_run(const RunConfig& run, const std::vector<std::string>& files,
                 const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  return open(with_files(*run.data, files).value(), progress);
}

std::vector<std::string> files_of_run(const RunConfig& run) {
  return files_of(*run.data);
}

std::optional<SampleBy> sample_by_of_run(const RunConfig& run) {
  const auto* const files = options_of<FilesNode>(source_of(*run.data));
  return files ? files->options.sample_by : std::nullopt;
}

RunConfig load_run(const std::string& path) {
  const Result<std::string> text = read_text(path);
  Result<RunConfig> run = text.ok() ? parse_run(*text, path) : text.error();
  if (!run.ok()) throw run.error().with_file(path).with_stage("run file");
  run->path = path;
  return std::move(*run);
}

}  // namespace headrace
