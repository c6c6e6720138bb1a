#include "dataset/opening/sample_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dataset/files/file_lists.h"
#include "dataset/recipe/refuse.h"

namespace headrace {
namespace {

const std::string& path_in(const FieldChoice& field) {
  return field.path.empty() ? field.name : field.path;
}

/// Where targets= come from, each place with its fields; empty: all are of one.
std::string places_of_targets(const OpenOptions& options) {
  std::vector<std::pair<std::string, std::string>> places;  // → names
  for (const FieldChoice& target : options.targets) {
    const auto divided = divide_path(path_in(target));
    const std::string place = divided ? divided->first : "";
    const auto known = std::ranges::find(places, place, &std::pair<std::string, std::string>::first);
    if (known == places.end())
      places.emplace_back(place, target.name);
    else
      known->second += ", " + target.name;
  }
  std::string text;
  for (const auto& [place, names] : places) {
    const bool of_table = options.sample_by && !options.sample_by->meta.empty();
    const std::string own = of_table ? "the table of Spans(meta=)" : "the files of the samples";
    text += fmt::format("{}{} ({})", text.empty() ? "" : " and ", place.empty() ? own : place, names);
  }
  return places.size() > 1 ? text : "";
}

}  // namespace

std::vector<std::string> files_meant(const OpenOptions& options, const std::string& files) {
  const auto known = options.companion_files.find(files);
  return known == options.companion_files.end() || known->second.empty() ? std::vector{files} : known->second;
}

std::optional<std::string> others_of(const std::vector<FieldChoice>& fields) {
  std::optional<std::string> others;
  for (const FieldChoice& field : fields) {
    const auto divided = divide_path(path_in(field));
    if (!divided || (others && *others != divided->first)) return std::nullopt;
    others = divided->first;
  }
  return others;
}

PartOfSamples targets_at(const std::vector<std::string>& files, const OpenOptions& options,
                         const std::vector<FieldChoice>& fields) {
  PartOfSamples part{files, {}};
  part.options.companion_files = options.companion_files;
  part.options.nulls = options.nulls;
  part.options.fields = fields;
  const std::optional<std::string> others = others_of(fields);
  if (!others) return part;
  part.paths = files_meant(options, *others);
  for (FieldChoice& field : part.options.fields) {
    const std::string path = divide_path(path_in(field))->second;
    field.path = path.empty() ? field.name : path;
  }
  return part;
}

PartOfSamples field_at(const std::vector<std::string>& files, const OpenOptions& options, const std::string& path) {
  const auto divided = divide_path(path);
  if (!divided) return {files, {.fields = {{path, ""}}}};
  PartOfSamples part{files_meant(options, divided->first), {}};
  if (!divided->second.empty()) part.options.fields = {{divided->second, ""}};
  return part;
}

Dataset open_targets_at(const PartOfSamples& part, const OpenOptions& options) {
  Result<Dataset> opened = open_beside(part.paths, part.options, kOneTarget);
  if (opened.ok()) return std::move(*opened);
  const Error& error = opened.error();
  const std::string places = places_of_targets(options);
  if (error.code() != ErrorCode::kInvalidArgument || places.empty()) throw error;
  throw refuse(fmt::format("targets= come from {}, and their rows do not belong together: {}", places, error.message()),
               "Take all targets from one place: targets={\"NAME\": \"FILES::PATH\", ...} of the same FILES. Or join "
               "those of the other place by a key: data.join(table, on=\"NAME\").")
      .with_file(error.file())
      .with_field(error.field());
}

std::optional<Dataset> open_targets(const std::vector<std::string>& files, const OpenOptions& options) {
  if (options.targets.empty()) return std::nullopt;
  return open_targets_at(targets_at(files, options, options.targets), options);
}

}  // namespace headrace
