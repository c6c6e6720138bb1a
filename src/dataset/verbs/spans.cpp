#include <headrace/dataset/spans.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/number_text.h"
#include "base/philox.h"
#include "catalog/row_digest.h"
#include "catalog/span_map.h"
#include "dataset/dataset_contents.h"
#include "dataset/key_runs.h"
#include "dataset/mapped_samples.h"
#include "dataset/refuse.h"
#include "dataset/span_list.h"

namespace headrace {
namespace {

class SpanMaker final : public SampleMaker {
 public:
  SpanMaker(SpanList list, std::shared_ptr<const Source> targets, std::string identity)
      : list_(std::move(list)), targets_(std::move(targets)), identity_(std::move(identity)) {}
  SpanMaker(SpanList list, std::shared_ptr<const Source> targets)
      : list_(std::move(list)), targets_(std::move(targets)) {
    RandomKey key = RandomKey::of({list_.starts->size()});
    for (const std::uint64_t start : *list_.starts) key = key.with(start);
    if (list_.named)
      for (const std::uint64_t word : list_.named->words()) key = key.with(word);
    identity_ = fmt::format("spans {:016x}", key.low);
  }
  [[nodiscard]] std::string identity() const override { return identity_; }
  [[nodiscard]] bool follows_files() const override { return true; }
  [[nodiscard]] bool overlaps() const override { return false; }
  [[nodiscard]] std::shared_ptr<const SampleMaker> with_side(std::shared_ptr<const Source> side) const override {
    return targets_ ? std::make_shared<SpanMaker>(list_, std::move(side), identity_) : nullptr;
  }
  [[nodiscard]] std::uint64_t sample_number(std::uint64_t stored) const override {
    return list_.samples_before(stored);
  }

  [[nodiscard]] std::shared_ptr<MappedSource> make(std::shared_ptr<const Source> source,
                                                   std::shared_ptr<const RowSet> chosen) const override {
    BlockLayout layout = plan_layout(*source, 0);
    const std::uint64_t rows = layout.table->num_rows(), samples = list_.starts->size() - 1;
    SpanMap::Options options{.home_samples = std::max<std::uint64_t>(
                                 layout.most_stored_rows() * samples / std::max<std::uint64_t>(rows, 1), 1),
                             .rows = layout.table,
                             .sided = list_.named,
                             .file_ends = list_.file_ends,
                             .chosen = chosen ? std::move(chosen) : list_.named,
                             .row_weight = row_weight(source->columns->size()),
                             .spans = Spans::between(list_.starts)};
    std::vector<SourceGroup> groups;
    groups.push_back({std::move(source), std::move(layout)});
    if (targets_) {
      groups.push_back({targets_, plan_layout(*targets_, 0)});
      options.side = groups[1].layout.table;
      options.side_weight = row_weight(targets_->columns->size());
    }
    std::shared_ptr<MappedSource> made =
        make_mapped_source(std::make_shared<SpanMap>(std::move(options)), nullptr, std::move(groups), identity_)
            .value();
    made->what = "spans";
    made->file_ends = list_.file_ends;
    return made;
  }

 private:
  const SpanList list_;
  const std::shared_ptr<const Source> targets_;
  std::string identity_;
};

SpanList list_spans(const Dataset& data, const SpanOptions& options) {
  if (options.offsets) return read_offsets(data, *options.offsets, options.go_on);
  if (!options.offset_list.empty()) return divide_offsets(data, options.offset_list);
  KeyRuns runs = find_key_runs(*options.key, options.key_column, options.go_on);
  return {std::make_shared<const std::vector<std::uint64_t>>(std::move(runs.starts)), std::move(runs.file_ends),
          nullptr};
}

/// Throws for rows that spans are not made of, and for files that are not alike.
void check(const Dataset& data, const SpanOptions& options) {
  if (options.key.has_value() + options.offsets.has_value() + !options.offset_list.empty() != 1)
    throw refuse("spans are told by a key or by offsets", "Give one of them.");
  const Source& source = data.impl()->rows_for("spans()");
  if (source.mixture || source.chosen || source.program || source.finisher)
    throw Error(ErrorCode::kUnsupported, "spans of selected, mixed or transformed rows are not there yet")
        .with_file(source.files[0].path)
        .with_hint("Make spans of what is stored, and select() or mix() those.");
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

/// The targets' source. Throws where a file has not one row for each sample.
std::shared_ptr<const Source> targets_of(const Dataset& data, const SpanList& list,
                                         const std::optional<Dataset>& targets) {
  if (!targets) return nullptr;
  const Source& source = targets->impl()->rows_for("targets");
  if (source.mixture || source.chosen || source.program || source.finisher)
    throw Error(ErrorCode::kUnsupported, "targets that are selected, mixed or transformed are not there yet")
        .with_file(source.files[0].path)
        .with_hint("Give them as they are stored.");
  for (const Field& field : targets->fields())
    if (std::ranges::find(data.fields(), field.name, &Field::name) != data.fields().end())
      throw refuse(fmt::format("both the samples and their targets have a field '{}'", field.name),
                   "Give one of them another name.")
          .with_field(field.name);
  const auto wrong = [&](std::uint64_t rows, std::uint64_t samples, std::string_view hint) {
    return std::move(refuse(fmt::format("{} has {} rows for {} samples", targets->fields()[0].name, group_digits(rows),
                                        group_digits(samples)),
                            hint));
  };
  const std::size_t files = source.files.size();
  std::uint64_t before = 0;
  for (std::size_t f = 0; f < files && files == data.files().size(); ++f) {
    const std::uint64_t end = list.samples_before(list.file_ends[f]);
    if (source.files[f].rows != end - before)
      throw wrong(source.files[f].rows, end - before, "Targets have one row for each sample of their file.")
          .with_file(source.files[f].path);
    before = end;
  }
  if (targets->size() != list.num_samples())
    throw wrong(targets->size(), list.num_samples(), "Targets have one row for each sample.")
        .with_file(source.files[0].path);
  return targets->impl()->source.shared_rows();
}

/// Null where a part has none, which is in memory.
std::shared_ptr<const DataNode> node_of(const Dataset& data, const SpanOptions& options) {
  auto node = std::make_shared<DataNode>();
  node->what = SpansNode{options.key       ? SpansNode::kKey
                         : options.offsets ? SpansNode::kOffsets
                                           : SpansNode::kList,
                         options.key_column ? *options.key_column + 1 : 0, options.offset_list};
  const Dataset* const told = options.key ? &*options.key : options.offsets ? &*options.offsets : nullptr;
  for (const Dataset* const part : {&data, told, options.targets ? &*options.targets : nullptr}) {
    if (!part) continue;
    if (!part->impl()->node) return nullptr;
    node->of.push_back(part->impl()->node);
  }
  return node;
}

}  // namespace

Dataset spans(const Dataset& data, const SpanOptions& options) {
  if (data.closed()) throw Error(ErrorCode::kClosed, "the data set was closed");
  check(data, options);
  SpanList list = list_spans(data, options);
  if (list.num_samples() == 0) throw refuse("there is no span in these files");
  std::shared_ptr<const Source> targets = targets_of(data, list, options.targets);
  const auto maker = std::make_shared<const SpanMaker>(std::move(list), std::move(targets));
  return Dataset(make_samples(maker, data.impl()->source.shared_rows(), nullptr, node_of(data, options)));
}

}  // namespace headrace
