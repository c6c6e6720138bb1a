#include "dataset/list_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/number_text.h"
#include "dataset/dataset_contents.h"
#include "dataset/file_lists.h"
#include "dataset/open_samples.h"
#include "dataset/refuse.h"
#include "dataset/span_samples.h"
#include "dataset/verbs/verb_options.h"

namespace headrace {
namespace {

/// The fields of a plan that are lists, or those that are not, under the names that they have there.
std::vector<FieldChoice> fields_of(const FieldPlan& plan, bool lists) {
  std::vector<FieldChoice> fields;
  for (std::size_t c = 0; c < plan.columns.size(); ++c)
    if (plan.arrays[plan.places[c].array].is_list == lists)
      fields.push_back({plan.columns[c].name, plan.columns[c].path});
  return fields;
}

void check_files(const FieldPlan& plan) {
  for (const FieldPlan::Array& array : plan.arrays)
    if (array.is_list && array.list != 0)
      throw Error(ErrorCode::kUnsupported, "lists of files beside the own ones are not there yet")
          .with_field(array.path)
          .with_hint("Open those files themselves, and name what has one value a row as FILES::PATH.");
}

/// Throws where a row has another number of values in one list than in another.
void check_alike(const SourceFile& file, const std::vector<std::uint32_t>& lengths,
                 const std::vector<std::uint32_t>& others, const ArrayReader& other) {
  const auto [own, differs] = std::ranges::mismatch(lengths, others);
  if (own == lengths.end() && differs == others.end()) return;
  const auto row = own - lengths.begin();
  throw refuse(fmt::format("row {} has {} values in '{}', and {} in '{}'", row, *own, file.arrays[0]->info().path,
                           *differs, other.info().path),
               "Lists of a data set have one length in each row: choose some with fields=, and open others as a data "
               "set of their own.")
      .with_file(file.path);
}

/// The lengths of a file's lists, row by row. Each list is asked once.
std::vector<std::uint32_t> lengths_of(const SourceFile& file) {
  std::vector<std::string> asked;
  std::vector<std::uint32_t> lengths;
  for (const std::shared_ptr<ArrayReader>& array : file.arrays) {
    const std::string& list = array->info().list;
    if (std::ranges::find(asked, list) != asked.end()) continue;
    std::vector<std::uint32_t> own = array->list_lengths().value();
    if (!asked.empty()) check_alike(file, lengths, own, *array);
    if (asked.empty()) lengths = std::move(own);
    asked.push_back(list);
  }
  return lengths;
}

}  // namespace

Dataset open_list_samples(const std::vector<std::string>& paths, const OpenOptions& options, const FieldPlan& plan) {
  check_files(plan);
  OpenOptions of_values = options, of_rows = options;
  of_values.fields = fields_of(plan, true);
  of_rows.fields = fields_of(plan, false);
  if (options.progress)
    of_rows.progress = [&](std::size_t, std::size_t files) { return options.progress(files, files); };
  const Dataset values(open_dataset(paths, of_values, ListsAs::kValues).value());
  SpanList list;
  std::vector<std::uint64_t> starts{0};
  const Source& source = values.impl()->rows_for("lists");
  for (const SourceFile& file : source.files) {
    for (const std::uint32_t length : lengths_of(file)) starts.push_back(starts.back() + length);
    list.file_ends.push_back(starts.size() - 1);
  }
  list.starts = std::make_shared<const std::vector<std::uint64_t>>(std::move(starts));
  std::optional<Dataset> beside;
  of_rows.targets = std::exchange(of_rows.fields, {});
  if (!of_rows.targets.empty()) beside = open_targets(paths, of_rows);
  if (source.notes && !source.notes->notices.empty()) list.notice = source.notes->notices[0];
  FilesNode node;
  node.options.nulls = options.nulls;
  for (const FileEntry& file : values.files()) node.paths.push_back(std::filesystem::absolute(file.path).string());
  for (const std::vector<FieldChoice>* const fields : {&of_values.fields, &of_rows.targets})
    node.options.fields.insert(node.options.fields.end(), fields->begin(), fields->end());
  node.options.patterns = std::ranges::none_of(node.options.fields, &has_star);
  node.options.companion_files = options.companion_files;
  if (beside)
    for (auto& [text, files] : beside->companion_files()) node.options.companion_files[text] = files;
  for (const FieldChoice& field : of_rows.targets)  // where all of these are of the same others
    if (const auto divided = divide_path(field.path); divided && !node.options.companion_files.contains(divided->first))
      for (const FileEntry& file : beside->files()) node.options.companion_files[divided->first].push_back(file.path);
  for (auto& [text, files] : node.options.companion_files)
    for (std::string& file : files) file = std::filesystem::absolute(file).string();
  auto rows = std::make_shared<Source>(source);
  rows->left_out = plan.left_out;
  return Dataset(make_span_samples(std::move(rows), std::move(list), beside, node_of(std::move(node))));
}

}  // namespace headrace
