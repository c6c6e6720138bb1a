#include "tools/run_file_text.h"

#include <fmt/format.h>

#include <filesystem>

#include "loader/options_table.h"
#include "tools/json.h"

namespace headrace {
namespace {

/// A string that YAML and JSON read alike.
std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string absolute(const std::string& path) {
  if (path.starts_with('/') || path.starts_with('~')) return path;
  std::error_code failed;
  const std::filesystem::path here = std::filesystem::current_path(failed);
  return failed ? path : (here / path).string();
}

/// "FILES::PATH" with FILES from anywhere, if there are such files or there is said what they are.
std::string absolute_field(const std::string& path, const OpenOptions& open) {
  const std::size_t end = path.find("::");
  if (end == std::string::npos || end == 0) return path;
  const std::string files = path.substr(0, end);
  if (const auto known = open.beside.find(files); known != open.beside.end() && !known->second.empty())
    return absolute(known->second[0]) + path.substr(end);
  return absolute(files) + path.substr(end);
}

}  // namespace

std::string run_file_text(const RunConfig& run) {
  std::string out = "data:\n  files:\n";
  for (const std::string& file : run.files) out += fmt::format("    - {}\n", quoted(absolute(file)));
  if (!run.open.fields.empty()) {
    out += "  fields:\n";
    for (const FieldChoice& field : run.open.fields)
      out += fmt::format("    {}: {}\n", quoted(field.name),
                         quoted(absolute_field(field.path.empty() ? field.name : field.path, run.open)));
  }
  out += "loader:\n";
  const LoaderSettings settings{run.loader, run.framework, run.batch_format, {}, {}};
  for (const LoaderOption& option : loader_options()) {
    if ((option.where & LoaderOption::kRunFile) == 0 || !is_given(option, settings)) continue;
    const bool quote = option.kind == LoaderOption::Kind::kText && option.name == "cache";
    std::string value = option.get(settings);
    if (quote) value = quoted(run.loader.cache.mode == CacheChoice::kDirectory ? absolute(value) : value);
    out += fmt::format("  {}: {}\n", option.name, value);
  }
  return out;
}

}  // namespace headrace
