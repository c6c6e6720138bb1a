#include "dataset/open_samples.h"

#include <fmt/format.h>
#include <headrace/dataset/spans.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dataset/dataset_contents.h"
#include "dataset/file_lists.h"
#include "dataset/numbered_arrays.h"
#include "dataset/refuse.h"
#include "dataset/verbs/verb_options.h"

namespace headrace {
namespace {

/// What FILES of a "FILES::PATH" stands for.
std::vector<std::string> files_meant(const OpenOptions& options, const std::string& files) {
  const auto known = options.companion_files.find(files);
  return known == options.companion_files.end() || known->second.empty() ? std::vector{files} : known->second;
}

/// The files that all targets are of, "FILES::PATH" each; nullopt: there are none.
std::optional<std::string> others_of(const OpenOptions& options) {
  std::optional<std::string> others;
  for (const FieldChoice& target : options.targets) {
    const auto divided = divide_path(target.path.empty() ? target.name : target.path);
    if (!divided || (others && *others != divided->first)) return std::nullopt;
    others = divided->first;
  }
  return others;
}

OpenOptions options_of_targets(const OpenOptions& options) {
  OpenOptions own;
  own.companion_files = options.companion_files;
  own.nulls = options.nulls;
  own.fields = options.targets;
  return own;
}

/// The table that tells the spans: its fields are first, last or end, and the number of the file.
Dataset open_table(const SampleBy& by, const OpenOptions& options) {
  if (by.first.empty() || by.last.empty() == by.end.empty())
    throw refuse("a table of spans has a field for the first row of a sample, and one for the last or the end",
                 "Give first=, and one of last= and end=.");
  if (by.file.empty() != by.file_template.empty())
    throw refuse("file names a field with the number of a file, and file_template says the file's name by it",
                 "Give both, such as file=\"batch_id\", file_template=\"batch_{batch_id}.parquet\".");
  OpenOptions own;
  own.fields = {{by.first, ""}, {by.last.empty() ? by.end : by.last, ""}};
  if (!by.file.empty()) own.fields.push_back({by.file, ""});
  return open(files_meant(options, by.meta), own);
}

/// Where targets= come from, each place with its fields; empty: all are of one.
std::string places_of_targets(const OpenOptions& options) {
  std::vector<std::pair<std::string, std::string>> places;  // → names
  for (const FieldChoice& target : options.targets) {
    const auto divided = divide_path(target.path.empty() ? target.name : target.path);
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

/// Open targets=; where they are of several places that do not fit together, the error says which.
Dataset open_places(const std::vector<std::string>& paths, const OpenOptions& own, const OpenOptions& options) {
  try {
    return open(paths, own);
  } catch (const Error& error) {
    const std::string places = places_of_targets(options);
    if (error.code() != ErrorCode::kInvalidArgument || places.empty()) throw;
    throw refuse(
        fmt::format("targets= come from {}, and their rows do not belong together: {}", places, error.message()),
        "Take all targets from one place: targets={\"NAME\": \"FILES::PATH\", ...} of the same FILES. Or join "
        "those of the other place by a key: data.join(table, on=\"NAME\").")
        .with_file(error.file())
        .with_field(error.field());
  }
}

/// The targets out of the table of spans; nullopt: it does not have them all.
std::optional<Dataset> targets_of_table(const SampleBy& by, const OpenOptions& options) {
  if (by.meta.empty() || options.targets.empty() || others_of(options)) return std::nullopt;
  const OpenOptions own = options_of_targets(options);
  try {
    return open_places(files_meant(options, by.meta), own, options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kFieldMissing) throw;
    return std::nullopt;
  }
}

/// The field of some files, of those meant by "FILES" where it is named; nullopt: there is none, or it is text of any
/// length, which is no key here.
std::optional<Dataset> key_at(const std::vector<std::string>& files, const std::string& path,
                              const OpenOptions& options) {
  OpenOptions own;
  own.companion_files = options.companion_files;
  own.nulls = options.nulls;
  own.fields = {{path, ""}};
  try {
    return open(files, own);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kFieldMissing && error.code() != ErrorCode::kUnsupported) throw;
    return std::nullopt;
  }
}

/// The keys of each row of targets, in their tables: beside them under the name that the samples' key has, or at the
/// root of other files.
std::vector<Dataset> keys_of_targets(const std::vector<std::string>& paths, const OpenOptions& options) {
  std::vector<Dataset> keys;
  const std::string& key = options.sample_by->key;
  if (key.empty() || options.sample_by->column) return keys;
  const auto divided_key = divide_path(key);
  const std::string of_rows = divided_key ? divided_key->second : key;
  const std::string name = of_rows.substr(of_rows.rfind('/') + 1);
  std::set<std::pair<std::string, std::string>> tried;
  for (const FieldChoice& target : options.targets) {
    const std::string given = target.path.empty() ? target.name : target.path;
    const auto divided = divide_path(given);
    const std::string files = divided ? divided->first : "", path = divided ? divided->second : given;
    const std::string beside = path.substr(0, path.rfind('/') + 1) + name;
    if (!tried.emplace(files, beside).second || (!divided && beside == of_rows)) continue;  // that of the rows
    std::optional<Dataset> found = key_at(divided ? files_meant(options, files) : paths, beside, options);
    if (!found && divided && beside != name) found = key_at(files_meant(options, files), name, options);
    if (found) keys.push_back(std::move(*found));
  }
  return keys;
}

/// What opens the same again: the files as they were opened for rows, and what was said besides.
FilesNode node_of_spans(FilesNode node, const OpenOptions& options, const SpanOptions& opened) {
  const auto meant = [&](const std::string& files, const Dataset& data) {
    std::vector<std::string>& paths = node.options.companion_files[files];
    if (!paths.empty()) return;
    for (const FileEntry& file : data.files()) paths.push_back(std::filesystem::absolute(file.path).string());
  };
  const SampleBy& by = node.options.sample_by.emplace(*options.sample_by);
  node.options.targets = options.targets;
  if (const auto divided = divide_path(by.key)) meant(divided->first, *opened.key);
  if (const auto divided = divide_path(by.offsets)) meant(divided->first, *opened.offsets);
  if (opened.meta) meant(by.meta, *opened.meta);
  if (!opened.targets) return node;
  if (const std::optional<std::string> others = others_of(options); others && !options.targets.empty())
    meant(*others, *opened.targets);
  for (auto& [files, found] : opened.targets->companion_files()) {
    std::vector<std::string>& known = node.options.companion_files[files];
    if (known.empty())
      for (const std::string& path : found) known.push_back(std::filesystem::absolute(path).string());
  }
  return node;
}

Dataset open_spans(const std::vector<std::string>& paths, const OpenOptions& options) {
  if (options.sample_axes > 1 || !options.broadcast.empty())
    throw refuse("sample_by= makes samples of rows; sample_axes= and broadcast= make samples of cells",
                 "Give one of them.");
  OpenOptions of_rows = options;
  of_rows.sample_by.reset();
  of_rows.targets.clear();
  const Dataset rows = open(paths, of_rows);
  if (rows.impl()->source.mapped())
    throw refuse("rows that have lists are samples already", "Leave out sample_by=, or the lists: fields=[...].")
        .with_file(rows.files()[0].path);
  SpanOptions made;
  const auto one = [&](const std::string& path) {
    OpenOptions own;
    if (const auto divided = divide_path(path)) {
      if (!divided->second.empty()) own.fields = {{divided->second, ""}};
      return open(files_meant(options, divided->first), own);
    }
    own.fields = {{path, ""}};
    return open(paths, own);
  };
  const SampleBy& by = *options.sample_by;
  if (!by.key.empty()) made.key = one(by.key);
  made.key_column = by.column;
  if (!by.offsets.empty()) made.offsets = one(by.offsets);
  made.offset_list = by.offset_list;
  if (!by.meta.empty()) {
    made.meta = open_table(by, options);
    made.meta_has_last = by.end.empty();
    made.file_template = by.file_template;
  }
  made.targets = targets_of_table(by, options);
  if (!made.targets) made.targets = open_targets(paths, options);
  if (made.targets && made.key) made.target_keys = keys_of_targets(paths, options);
  if (const auto& progress = options.progress) {
    const std::uint64_t files = rows.files().size();
    made.go_on = [progress, files] { return progress(files, files); };
  }
  Dataset samples = spans(rows, made);
  samples.impl()->node = node_of(node_of_spans(*options_of<FilesNode>(*rows.impl()->node), options, made));
  return samples;
}

}  // namespace

std::optional<Dataset> open_targets(const std::vector<std::string>& paths, const OpenOptions& options) {
  if (options.targets.empty()) return std::nullopt;
  OpenOptions own = options_of_targets(options);
  const std::optional<std::string> others = others_of(options);
  const bool is_asked_for = options.sample_by || has_numbered_arrays(options);  // else they are fields beside lists
  if (!others) return is_asked_for ? open_places(paths, own, options) : open(paths, own);
  for (FieldChoice& target : own.fields) {
    const auto divided = divide_path(target.path.empty() ? target.name : target.path);
    target.path = divided->second.empty() ? target.name : divided->second;
  }
  return open(files_meant(options, *others), own);
}

std::optional<Dataset> open_samples(const std::vector<std::string>& paths, const OpenOptions& options) {
  if (options.sample_by) return open_spans(paths, options);
  if (has_numbered_arrays(options)) return open_numbered_arrays(paths, options, open_targets(paths, options));
  if (!options.targets.empty())
    throw refuse("targets have a row for each sample of sample_by=, which is missing", "Name them among the fields.");
  return std::nullopt;
}

}  // namespace headrace
