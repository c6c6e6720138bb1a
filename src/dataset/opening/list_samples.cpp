#include "dataset/opening/list_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text/number_text.h"
#include "dataset/dataset_contents.h"
#include "dataset/files/file_lists.h"
#include "dataset/files/paths.h"
#include "dataset/opening/open_rows.h"
#include "dataset/opening/sample_parts.h"
#include "dataset/recipe/refuse.h"
#include "dataset/recipe/verb_options.h"
#include "dataset/samples/span_samples.h"

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

Dataset open_list_samples(const std::vector<std::string>& files, const OpenOptions& options, const FieldPlan& plan) {
  check_files(plan);
  OpenOptions of_values = options;
  of_values.fields = fields_of(plan, true);
  const Dataset values = open_rows(plan_files(files, of_values).value(), of_values).value();
  SpanList list;
  std::vector<std::uint64_t> starts{0};
  const Source& source = impl_of(values)->rows_for("lists");
  for (const SourceFile& file : source.files) {
    for (const std::uint32_t length : lengths_of(file)) starts.push_back(starts.back() + length);
    list.file_ends.push_back(starts.size() - 1);
  }
  list.starts = std::make_shared<const std::vector<std::uint64_t>>(std::move(starts));
  list.are_rows = true;
  if (source.notes && !source.notes->notices.empty()) list.notice = source.notes->notices[0];
  FilesNode node;
  node.options.nulls = options.nulls;
  node.options.companion_files = options.companion_files;
  node.options.fields = of_values.fields;
  for (const FileEntry& file : values.files()) node.paths.push_back(file.path);
  std::optional<Dataset> beside;
  if (const std::vector<FieldChoice> fields = fields_of(plan, false); !fields.empty()) {
    PartOfSamples part = targets_at(files, options, fields);
    if (options.progress)
      part.options.progress = [&](std::size_t, std::size_t all) { return options.progress(all, all); };
    beside = open_beside(part.paths, part.options, kOneTarget).value();
    for (auto& [text, paths] : beside->companion_files()) node.options.companion_files[text] = paths;
    for (const FieldChoice& field : fields) {  // where all of these are of the same others
      node.options.fields.push_back(field);
      const auto divided = divide_path(field.path);
      if (divided && !node.options.companion_files.contains(divided->first))
        for (const FileEntry& file : beside->files()) node.options.companion_files[divided->first].push_back(file.path);
    }
  }
  node.options.patterns = std::ranges::none_of(node.options.fields, &has_star);
  node.paths = absolute_paths(node.paths);
  for (auto& [text, paths] : node.options.companion_files) paths = absolute_paths(paths);
  auto rows = std::make_shared<Source>(source);
  rows->left_out = plan.left_out;
  return Dataset(make_span_samples(std::move(rows), std::move(list), beside, node_of(std::move(node))));
}

}  // namespace headrace
