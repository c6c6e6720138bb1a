#include "dataset/opening/open_spans.h"

#include <headrace/spans.h>

#include <algorithm>
#include <set>
#include <utility>

#include "dataset/dataset_contents.h"
#include "dataset/files/file_lists.h"
#include "dataset/files/paths.h"
#include "dataset/opening/numbered_arrays.h"
#include "dataset/opening/open_rows.h"
#include "dataset/opening/sample_parts.h"
#include "dataset/recipe/refuse.h"
#include "dataset/recipe/verb_options.h"

namespace headrace {
namespace {

constexpr ListsRefused kOneValue{"has a list in each row; sample_by= needs one value a row",
                                 "Lists need no sample_by=: each row is a sample."};

/// What is opened beside the rows, in this order.
struct SpanParts {
  std::vector<PartOfSamples> key, offsets, meta;        ///< One at most, each.
  std::vector<PartOfSamples> targets;                   ///< Tried one after the other, where one has not all fields.
  std::vector<std::vector<PartOfSamples>> target_keys;  ///< Each tried so; what is in none is left out.
};

/// The table that tells the spans: its fields are first, last or end, and the number of the file.
PartOfSamples table_of(const SampleBy& by, const OpenOptions& options) {
  if (by.first.empty() || by.last.empty() == by.end.empty())
    throw refuse("a table of spans has a field for the first row of a sample, and one for the last or the end",
                 "Give first=, and one of last= and end=.");
  if (by.file.empty() != by.file_template.empty())
    throw refuse("file names a field with the number of a file, and file_template says the file's name by it",
                 "Give both, such as file=\"batch_id\", file_template=\"batch_{batch_id}.parquet\".");
  PartOfSamples part{files_meant(options, by.meta), {}};
  part.options.fields = {{by.first, ""}, {by.last.empty() ? by.end : by.last, ""}};
  if (!by.file.empty()) part.options.fields.push_back({by.file, ""});
  return part;
}

/// The keys of each row of targets, in their tables: beside them under the name that the samples' key has, or at the
/// root of other files.
std::vector<std::vector<PartOfSamples>> keys_of_targets(const std::vector<std::string>& files,
                                                        const OpenOptions& options) {
  std::vector<std::vector<PartOfSamples>> keys;
  const std::string& key = options.sample_by->key;
  if (key.empty() || options.sample_by->column) return keys;
  const auto divided_key = divide_path(key);
  const std::string of_rows = divided_key ? divided_key->second : key;
  const std::string name = of_rows.substr(of_rows.rfind('/') + 1);
  std::set<std::pair<std::string, std::string>> tried;
  for (const FieldChoice& target : options.targets) {
    const std::string given = target.path.empty() ? target.name : target.path;
    const auto divided = divide_path(given);
    const std::string others = divided ? divided->first : "", path = divided ? divided->second : given;
    const std::string beside = path.substr(0, path.rfind('/') + 1) + name;
    if (!tried.emplace(others, beside).second || (!divided && beside == of_rows)) continue;  // that of the rows
    const auto at = [&](const std::string& field) {
      PartOfSamples part{divided ? files_meant(options, others) : files, {.fields = {{field, ""}}}};
      part.options.companion_files = options.companion_files;
      part.options.nulls = options.nulls;
      return part;
    };
    keys.push_back({at(beside)});
    if (divided && beside != name) keys.back().push_back(at(name));
  }
  return keys;
}

SpanParts span_parts_of(const std::vector<std::string>& files, const OpenOptions& options) {
  SpanParts wanted;
  const SampleBy& by = *options.sample_by;
  if (!by.key.empty()) wanted.key = {field_at(files, options, by.key)};
  if (!by.offsets.empty()) wanted.offsets = {field_at(files, options, by.offsets)};
  if (!by.meta.empty()) wanted.meta = {table_of(by, options)};
  if (options.targets.empty()) return wanted;
  const PartOfSamples own = targets_at(files, options, options.targets);
  if (!by.meta.empty() && !others_of(options.targets)) {  // the table may have them
    wanted.targets.push_back(own);
    wanted.targets.back().paths = files_meant(options, by.meta);
  }
  wanted.targets.push_back(own);
  wanted.target_keys = keys_of_targets(files, options);
  return wanted;
}

/// Open one part. \return  Nullopt: it is not wanted.
std::optional<Dataset> open_one(const std::vector<PartOfSamples>& part) {
  if (part.empty()) return std::nullopt;
  return open_beside(part[0].paths, part[0].options, kOneValue).value();
}

std::optional<Dataset> open_wanted_targets(const std::vector<PartOfSamples>& places, const OpenOptions& options) {
  for (std::size_t i = 0; i < places.size(); ++i) try {
      return open_targets_at(places[i], options);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kFieldMissing || i + 1 == places.size()) throw;
    }
  return std::nullopt;
}

/// \return  Nullopt: no place has it, or it is text of any length, which is no key here.
std::optional<Dataset> open_key_of_targets(const std::vector<PartOfSamples>& places) {
  for (const PartOfSamples& part : places) {
    Result<Dataset> opened = open_beside(part.paths, part.options, kOneValue);
    if (opened.ok()) return std::move(*opened);
    if (opened.error().code() != ErrorCode::kFieldMissing && opened.error().code() != ErrorCode::kUnsupported)
      throw opened.error();
  }
  return std::nullopt;
}

/// What opens the same again: the files as they were opened for rows, and what was said besides.
FilesNode node_of_spans(FilesNode node, const OpenOptions& options, const SpanOptions& opened) {
  const auto meant = [&](const std::string& files, const Dataset& data) {
    std::vector<std::string>& paths = node.options.companion_files[files];
    if (!paths.empty()) return;
    for (const FileEntry& file : data.files()) paths.push_back(file.path);
  };
  const SampleBy& by = node.options.sample_by.emplace(*options.sample_by);
  node.options.targets = options.targets;
  if (const auto divided = divide_path(by.key)) meant(divided->first, *opened.key);
  if (const auto divided = divide_path(by.offsets)) meant(divided->first, *opened.offsets);
  if (opened.meta) meant(by.meta, *opened.meta);
  if (opened.targets) {
    if (const std::optional<std::string> others = others_of(options.targets)) meant(*others, *opened.targets);
    for (auto& [files, found] : opened.targets->companion_files())
      if (std::vector<std::string>& known = node.options.companion_files[files]; known.empty()) known = found;
  }
  for (auto& [files, paths] : node.options.companion_files) paths = absolute_paths(paths);
  return node;
}

Dataset open_spanned_rows(const std::vector<std::string>& files, const OpenOptions& options) {
  if (options.sample_axes > 1 || !options.broadcast.empty())
    throw refuse("sample_by= makes samples of rows; sample_axes= and broadcast= make samples of cells",
                 "Give one of them.");
  if (has_numbered_arrays(options))
    throw refuse("fields with a '*' are arrays for each sample", "Leave out sample_by=, or name one array.")
        .with_file(files[0]);
  OpenOptions of_rows = options;
  of_rows.sample_by.reset();
  of_rows.targets.clear();
  FilePlan plan = plan_files(files, of_rows).value();
  if (has_lists(plan.fields))
    throw refuse("rows that have lists are samples already", "Leave out sample_by=, or the lists: fields=[...].")
        .with_file(files[0]);
  return open_rows(std::move(plan), of_rows).value();
}

}  // namespace

Dataset open_spans(const std::vector<std::string>& files, const OpenOptions& options) {
  const Dataset rows = open_spanned_rows(files, options);
  const SampleBy& by = *options.sample_by;
  const SpanParts wanted = span_parts_of(files, options);
  SpanOptions made;
  made.key = open_one(wanted.key);
  made.key_column = by.column;
  made.offsets = open_one(wanted.offsets);
  made.offset_list = by.offset_list;
  made.meta = open_one(wanted.meta);
  made.meta_has_last = !by.meta.empty() && by.end.empty();
  if (!by.meta.empty()) made.file_template = by.file_template;
  made.targets = open_wanted_targets(wanted.targets, options);
  for (const std::vector<PartOfSamples>& places : wanted.target_keys)
    if (std::optional<Dataset> found = open_key_of_targets(places)) made.target_keys.push_back(std::move(*found));
  if (const auto& progress = options.progress)
    made.go_on = [progress, num_files = files.size()] { return progress(num_files, num_files); };
  Dataset samples = spans(rows, made);
  impl_of(samples)->node = node_of(node_of_spans(*options_of<FilesNode>(*impl_of(rows)->node), options, made));
  return samples;
}

}  // namespace headrace
