#include "tools/run_file_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "loader/options_table.h"
#include "tools/json.h"

namespace headrace {
namespace {

/// A string that YAML and JSON read alike.
std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A run file's relative paths begin at the run file, wherever that is written.
std::string absolute(const std::string& path) {
  if (path.starts_with('/') || path.starts_with('~')) return path;
  std::error_code failed;
  const std::filesystem::path here = std::filesystem::current_path(failed);
  return failed ? path : (here / path).string();
}

/// The path of an array, with the FILES of a "FILES::PATH" from anywhere.
std::string array_path(const std::string& path, const OpenOptions& open, const std::set<std::string>* beside) {
  const std::size_t end = path.find("::");
  const std::string files = path.substr(0, end);
  if (end == std::string::npos || end == 0 || (beside != nullptr && !beside->contains(files))) return path;
  const auto known = open.companion_files.find(files);
  return absolute(known == open.companion_files.end() || known->second.empty() ? files : known->second[0]) +
         path.substr(end);
}

/// "NAME: PATH" of a field.
std::string field_text(const std::string& name, const std::string& given, const OpenOptions& open,
                       const std::set<std::string>* beside) {
  const std::string path = array_path(given.empty() ? name : given, open, beside);
  return fmt::format("    {}: {}\n", headrace::quoted(name), headrace::quoted(path));
}

/// As run files have it: names alone, or the values of each. Arrays are in their order, which the draws follow.
std::string balance_text(const std::vector<PatchClass>& classes) {
  std::vector<std::pair<std::string, std::vector<std::string>>> values;
  std::vector<std::string> names;
  for (const PatchClass& one : classes) {
    names.push_back(quoted(one.array));
    if (!one.value) continue;
    auto known = std::ranges::find(values, one.array, [](const auto& entry) { return entry.first; });
    if (known == values.end()) known = values.insert(values.end(), {one.array, {}});
    known->second.push_back(one.value->text());
  }
  if (values.empty()) return fmt::format("[{}]", fmt::join(names, ", "));
  std::vector<std::string> entries;
  for (const auto& [name, numbers] : values)
    entries.push_back(fmt::format("{}: [{}]", quoted(name), fmt::join(numbers, ", ")));
  return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

std::string patches_text(const PatchOptions& patches) {
  std::string out = fmt::format("  patches:\n    shape: [{}]\n", fmt::join(patches.shape, ", "));
  if (patches.samples_per_epoch) out += fmt::format("    samples_per_epoch: {}\n", *patches.samples_per_epoch);
  if (!patches.stride.empty()) out += fmt::format("    stride: [{}]\n", fmt::join(patches.stride, ", "));
  if (patches.edge != PatchEdge::kShift)
    out += fmt::format("    edge: {}\n", patches.edge == PatchEdge::kDrop ? "drop" : "fill");
  if (patches.fill != 0) out += fmt::format("    fill: {}\n", patches.fill);
  if (patches.skip_small) out += "    small: skip\n";
  if (patches.draws == PatchDraws::kIndependent) out += "    draws: independent\n";
  if (!patches.balance.empty()) out += "    balance: " + balance_text(patches.balance) + "\n";
  if (!patches.context.empty()) out += "    context:\n";
  for (const PatchContext& one : patches.context)
    out += fmt::format("      {}: [{}]\n", quoted(one.array),
                       fmt::join(one.shape.empty() ? patches.shape : one.shape, ", "));
  return out;
}

}  // namespace

std::string data_section_text(const RunConfig& run, const std::set<std::string>* beside) {
  std::string out = "data:\n  files:\n";
  for (const std::string& file : run.files) out += fmt::format("    - {}\n", quoted(absolute(file)));
  if (run.patches) out += run.open.fields.empty() ? "  volume: {}\n" : "  volume:\n    arrays:\n";
  if (!run.open.fields.empty() && !run.patches) out += "  fields:\n";
  for (const FieldChoice& field : run.open.fields)
    out += (run.patches ? "  " : "") + field_text(field.name, field.path, run.open, beside);
  if (run.open.sample_axes > 1) out += fmt::format("  sample_axes: {}\n", run.open.sample_axes);
  if (run.open.nulls != Nulls::kError) out += fmt::format("  nulls: {}\n", to_string(run.open.nulls));
  if (!run.open.broadcast.empty()) out += "  broadcast:\n";
  for (const BroadcastChoice& field : run.open.broadcast) out += field_text(field.name, field.path, run.open, beside);
  if (const auto& by = run.open.sample_by) {
    out += "  sample_by:\n";
    if (!by->key.empty()) out += fmt::format("    key: {}\n", quoted(array_path(by->key, run.open, beside)));
    if (by->column) out += fmt::format("    column: {}\n", *by->column);
    if (!by->offsets.empty())
      out += fmt::format("    offsets: {}\n", quoted(array_path(by->offsets, run.open, beside)));
    if (!by->meta.empty()) out += fmt::format("    meta: {}\n", quoted(absolute(by->meta)));
    for (const auto& [key, text] :
         std::initializer_list<std::pair<const char*, const std::string*>>{{"first", &by->first},
                                                                           {"last", &by->last},
                                                                           {"end", &by->end},
                                                                           {"file", &by->file},
                                                                           {"file_template", &by->file_template}})
      if (!text->empty()) out += fmt::format("    {}: {}\n", key, quoted(*text));
  }
  if (!run.open.targets.empty()) out += "  targets:\n";
  for (const FieldChoice& field : run.open.targets) out += field_text(field.name, field.path, run.open, beside);
  if (run.patches) out += patches_text(*run.patches);
  if (const auto& tokens = run.tokens) {
    const bool says_nothing = tokens->dtype.empty() && tokens->vocab_size == 0 && !tokens->check;
    out += says_nothing ? "  tokens: {}\n" : "  tokens:\n";
    if (!tokens->dtype.empty()) out += fmt::format("    dtype: {}\n", quoted(tokens->dtype));
    if (tokens->vocab_size > 0) out += fmt::format("    vocab_size: {}\n", tokens->vocab_size);
    if (tokens->check) out += "    check: true\n";
  }
  if (run.windows) {
    out += fmt::format("  windows:\n    length: {}\n", run.windows->length);
    if (run.windows->lookahead > 0) out += fmt::format("    lookahead: {}\n", run.windows->lookahead);
    if (run.windows->stride) out += fmt::format("    stride: {}\n", *run.windows->stride);
    if (run.windows->across_files) out += "    across_files: true\n";
  }
  return out;
}

std::string option_text(const LoaderOption& option, const LoaderSettings& settings) {
  if (option.name == "group_by") return quoted(option.get(settings));
  std::string value = option.get(settings);
  if (option.name != "cache") return value;
  return quoted(settings.options.cache.mode == CacheChoice::kDirectory ? absolute(value) : value);
}

std::string run_file_text(const RunConfig& run) {
  std::string out = data_section_text(run);
  out += "loader:\n";
  const LoaderSettings settings{run.loader, run.framework, run.device, run.batch_format, {}, {}};
  for (const LoaderOption& option : loader_options()) {
    if ((option.where & LoaderOption::kRunFile) == 0 || !is_given(option, settings)) continue;
    out += fmt::format("  {}: {}\n", option.name, option_text(option, settings));
  }
  return out;
}

}  // namespace headrace
