#include <headrace/spans.h>

#include <fmt/format.h>

#include <utility>

#include "base/text/number_text.h"
#include "dataset/dataset_contents.h"
#include "dataset/recipe/refuse.h"
#include "dataset/recipe/verb_options.h"
#include "dataset/samples/key_runs.h"
#include "dataset/samples/memory_rows.h"
#include "dataset/samples/meta_spans.h"
#include "dataset/samples/span_list.h"
#include "dataset/samples/span_samples.h"

namespace headrace {
namespace {

/// Spans by a table; the targets are put into the order of the samples where the table has another.
SpanList list_by_table(const Dataset& data, const SpanOptions& options, std::optional<Dataset>& targets) {
  const std::size_t fields = options.meta->fields().size(), expected = options.file_template.empty() ? 2 : 3;
  if (fields != expected)
    throw refuse(fmt::format("a table of spans with {} fields, where {} are expected", fields, expected),
                 "Its fields are the first row, the last, and with a template the number of the file.");
  MetaSpans found = read_meta_spans(data, *options.meta, {options.meta_has_last, options.file_template}, options.go_on);
  if (targets && !found.meta_rows.empty() && targets->size() == options.meta->size())
    targets = Dataset(Dataset::Impl::make(rows_in_memory(*targets, found.meta_rows, options.go_on)));
  if (found.rows_left_out > 0)
    found.list.notice = fmt::format("{} of {} rows belong to no sample and are left out",
                                    group_digits(found.rows_left_out), group_digits(data.size()));
  return std::move(found.list);
}

SpanList list_spans(const Dataset& data, const SpanOptions& options, std::optional<Dataset>& targets) {
  if (options.meta) return list_by_table(data, options, targets);
  if (options.offsets) return read_offsets(data, *options.offsets, options.go_on);
  if (!options.offset_list.empty()) return divide_offsets(data, options.offset_list);
  std::vector<FileRows> files;
  for (const FileEntry& file : options.key->files()) files.push_back({file.path, file.rows});
  std::vector<const Dataset*> expected;
  for (const Dataset& keys : options.target_keys)
    if (targets && targets->size() == keys.size() && keys.size() != data.size()) expected.push_back(&keys);
  KeyRuns runs = find_key_runs(*options.key, files,
                               {.column = options.key_column, .expected = std::move(expected), .go_on = options.go_on});
  SpanList list{std::make_shared<const std::vector<std::uint64_t>>(std::move(runs.starts)), std::move(runs.file_ends),
                nullptr};
  if (!runs.notices.empty()) list.notice = std::move(runs.notices[0]);
  return list;
}

/// Throws for rows that spans are not made of, and for files that are not alike.
void check(const Dataset& data, const SpanOptions& options) {
  if (options.key.has_value() + options.offsets.has_value() + options.meta.has_value() + !options.offset_list.empty() !=
      1)
    throw refuse("spans need one of a key, offsets and a table", "Give one of them.");
  const Source& source = impl_of(data)->rows_for("spans()");
  if (source.mixture || source.chosen || source.program || source.finisher)
    throw Error(ErrorCode::kUnsupported, "spans of selected, mixed or transformed rows are not there yet")
        .with_file(source.files[0].path)
        .with_hint("Make spans of what is stored, and select() or mix() those.");
  for (const std::optional<Dataset>* const other : {&options.key, &options.offsets, &options.meta})
    if (*other && impl_of(**other)->source.mapped())
      throw refuse(
          fmt::format("'{}' has a list in each row; sample_by= needs one value a row", (*other)->fields()[0].name),
          "Lists need no sample_by=: each row is a sample.")
          .with_file((*other)->files()[0].path)
          .with_field((*other)->fields()[0].name);
  for (const std::optional<Dataset>* const other : {&options.key, &options.offsets})
    if (*other && (*other)->files().size() != data.files().size())
      throw refuse(fmt::format("{} files beside {}", (*other)->files().size(), data.files().size()),
                   "Open all of the same files.");
  for (std::size_t f = 0; options.key && f < data.files().size(); ++f) {
    const FileEntry &own = data.files()[f], &of_key = options.key->files()[f];
    if (own.rows != of_key.rows)
      throw refuse(
          fmt::format("the key has {} rows, the fields have {}", group_digits(of_key.rows), group_digits(own.rows)),
          "A key says for each row which sample it belongs to. For one value a sample use targets, for where "
          "samples begin offsets.")
          .with_file(of_key.path)
          .with_field(options.key->fields()[0].name);
  }
}

/// Null where a part has none, which is in memory.
DataTree tree_of(const Dataset& data, const SpanOptions& options) {
  SpansNode node;
  for (const auto& [part, to] :
       std::initializer_list<std::pair<const std::optional<Dataset>*, DataTree*>>{{&options.key, &node.key},
                                                                                  {&options.offsets, &node.offsets},
                                                                                  {&options.meta, &node.meta},
                                                                                  {&options.targets, &node.targets}}) {
    if (!*part) continue;
    *to = impl_of(**part)->node;
    if (!*to) return nullptr;
  }
  node.key_column = options.key_column;
  node.offset_list = options.offset_list;
  node.meta_has_last = options.meta_has_last;
  node.file_template = options.file_template;
  return impl_of(data)->node_with(std::move(node));
}

}  // namespace

Dataset spans(const Dataset& data, const SpanOptions& options) {
  if (data.closed()) throw Error(ErrorCode::kClosed, "the data set was closed");
  check(data, options);
  std::optional<Dataset> targets = options.targets;
  SpanList list = list_spans(data, options, targets);
  if (list.num_samples() == 0)
    throw refuse("there is no span in these files", options.meta ? "All rows of the table name other files." : "")
        .with_file((options.meta ? *options.meta : data).files()[0].path);
  return Dataset(
      make_span_samples(impl_of(data)->source.shared_rows(), std::move(list), targets, tree_of(data, options)));
}

}  // namespace headrace
