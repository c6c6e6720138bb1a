#include "dataset/samples/span_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/random/philox.h"
#include "base/text/number_text.h"
#include "catalog/row_digest.h"
#include "catalog/samples/span_map.h"
#include "dataset/dataset_contents.h"
#include "dataset/recipe/refuse.h"
#include "dataset/samples/joined_rows.h"
#include "dataset/samples/mapped_samples.h"

namespace headrace {
namespace {

constexpr std::uint64_t kLeastSpanBlocks =
    64;  // fewer would not mix, and blocks of so little data are soon all decoded

/// A table beside the rows.
struct Targets {
  std::shared_ptr<const Source> source = nullptr;  ///< Null: there is none.
  bool by_row = false;                             ///< It has the rows of the samples: the first of each is its own.
};

/// What is left of long samples.
struct Shortening {
  std::uint64_t most_rows = 0;  ///< 0: all rows.
  bool drawn = false;
};

class SpanMaker final : public SampleMaker {
 public:
  SpanMaker(SpanList list, Targets targets, Shortening shortening, std::string identity)
      : list_(std::move(list)), targets_(std::move(targets)), shortening_(shortening), identity_(std::move(identity)) {}
  SpanMaker(SpanList list, Targets targets) : list_(std::move(list)), targets_(std::move(targets)) {
    RandomKey key = RandomKey::of({list_.starts->size()});
    for (const std::uint64_t start : *list_.starts) key = key.with(start);
    if (list_.named)
      for (const std::uint64_t word : list_.named->words()) key = key.with(word);
    identity_ = fmt::format("spans {:016x}", key.low);
  }
  [[nodiscard]] std::string identity() const override { return identity_; }
  [[nodiscard]] bool follows_files() const override { return true; }
  [[nodiscard]] bool overlaps() const override { return false; }
  [[nodiscard]] std::string form() const override {
    std::string text = list_.is_array_each ? "spans, an array each" : list_.are_rows ? "lists" : "spans";
    if (shortening_.most_rows > 0)
      text += fmt::format(", {} {} rows", shortening_.drawn ? "any" : "the first", shortening_.most_rows);
    if (!targets_.source) return text;
    return text + (targets_.by_row ? ", with targets of each row" : ", with targets of each sample");
  }
  [[nodiscard]] std::shared_ptr<const SampleMaker> joined(std::span<const Part> parts, const Source&) const override {
    std::vector<const SpanList*> lists;
    std::vector<NamedRows> beside;
    for (const Part& part : parts) {
      const auto& maker = dynamic_cast<const SpanMaker&>(*part.maker);  // of equal form
      lists.push_back(&maker.list_);
      beside.push_back({part.name, maker.targets_.source.get()});
    }
    Targets targets{nullptr, targets_.by_row};
    if (targets_.source) targets.source = join_rows(beside);
    auto all = std::make_shared<const SpanMaker>(join_spans(lists), std::move(targets));
    if (shortening_.most_rows == 0) return all;
    return all->shortened(shortening_.most_rows, shortening_.drawn);
  }
  [[nodiscard]] std::shared_ptr<const SampleMaker> with_side(std::shared_ptr<const Source> side) const override {
    if (!targets_.source) return nullptr;
    return std::make_shared<SpanMaker>(list_, Targets{std::move(side), targets_.by_row}, shortening_, identity_);
  }
  [[nodiscard]] std::shared_ptr<const SampleMaker> shortened(std::uint64_t most_rows, bool drawn) const override {
    if (shortening_.most_rows > 0) return nullptr;
    return std::make_shared<SpanMaker>(list_, targets_, Shortening{most_rows, drawn},
                                       fmt::format("{}, {} {} rows", identity_, drawn ? "any" : "first", most_rows));
  }
  [[nodiscard]] std::uint64_t side_row(std::uint64_t stored) const override {
    return targets_.by_row ? (*list_.starts)[stored] : list_.samples_before(stored);
  }
  [[nodiscard]] std::uint64_t sample_number(std::uint64_t stored) const override {
    return list_.samples_before(stored);
  }

  [[nodiscard]] std::shared_ptr<MappedSource> make(std::shared_ptr<const Source> source,
                                                   std::shared_ptr<const RowSet> chosen) const override {
    BlockLayout layout = plan_layout(*source, 0);
    const std::uint64_t rows = layout.table->num_rows(), samples = list_.starts->size() - 1;
    const std::uint64_t block_rows = layout.most_stored_rows() * block_units(*source, layout);
    const std::uint64_t usual = block_rows * samples / std::max<std::uint64_t>(rows, 1);
    SpanMap::Options options{.block_samples = std::max<std::uint64_t>(std::min(usual, samples / kLeastSpanBlocks), 1),
                             .rows = layout.table,
                             .sided = list_.named,
                             .side_by_row = targets_.by_row,
                             .file_ends = list_.file_ends,
                             .file_rows = file_rows(*source),
                             .chosen = chosen ? chosen : list_.named,
                             .most_rows = shortening_.most_rows,
                             .draws_rows = shortening_.drawn,
                             .row_weight = row_weight(source->columns->size()),
                             .spans = Spans::between(list_.starts)};
    std::vector<SourceGroup> groups;
    groups.push_back({std::move(source), std::move(layout)});
    if (targets_.source) {
      groups.push_back({targets_.source, plan_layout(*targets_.source, 0)});
      options.side = groups[1].layout.table;
      options.side_weight = row_weight(targets_.source->columns->size());
    }
    std::shared_ptr<MappedSource> made =
        make_mapped_source(std::make_shared<SpanMap>(std::move(options)), nullptr, std::move(groups), identity_)
            .value();
    made->what = "spans";
    if (!list_.notice.empty()) made->notices.push_back(list_.notice);
    made->file_ends = list_.file_ends;
    return made;
  }

 private:
  /// A shuffle block's first and last unit are its neighbours' too, and are decoded for each: of so many units, one
  /// more. Where nothing is decoded, more and smaller shuffle blocks mix better in the same memory.
  [[nodiscard]] std::uint64_t block_units(const Source& source, const BlockLayout& layout) const {
    constexpr std::uint64_t kSpanBlockBytes = 4 << 20, kLeast = 4, kMost = 16;
    if (list_.is_array_each || !is_decoded(source)) return 1;  // an array is one sample's
    const std::uint64_t unit_bytes = layout.most_stored_rows() * source.row_bytes();
    return std::clamp(kSpanBlockBytes / std::max<std::uint64_t>(unit_bytes, 1), kLeast, kMost);
  }
  /// First row of each file; none where a file counts samples.
  [[nodiscard]] std::vector<std::uint64_t> file_rows(const Source& source) const {
    std::vector<std::uint64_t> first;
    std::uint64_t rows = 0;
    for (const SourceFile& file : source.files) first.push_back(std::exchange(rows, rows + file.rows));
    return first.size() == list_.file_ends.size() && !list_.are_rows ? first : std::vector<std::uint64_t>();
  }

  const SpanList list_;
  const Targets targets_;
  const Shortening shortening_;
  std::string identity_;
};

bool has_rows_of(const Source& source, const Source& rows) {
  return std::ranges::equal(source.files, rows.files, {}, &SourceFile::rows, &SourceFile::rows);
}

/// Throws where a sample has no row that could be its target.
void check_none_is_empty(const SpanList& list, const std::string& path) {
  for (std::uint64_t run = 0; run + 1 < list.starts->size(); ++run)
    if ((*list.starts)[run] == (*list.starts)[run + 1])
      throw refuse(
          fmt::format("sample {} has no rows, and the targets have a row for each row", list.samples_before(run)),
          "Give targets with a row for each sample.")
          .with_file(path);
}

/// Throws where a file has neither a row for each sample nor one for each row.
Targets targets_of(const Source& rows, const SpanList& list, const std::optional<Dataset>& targets) {
  if (!targets) return {};
  if (impl_of(*targets)->source.mapped())
    throw refuse(fmt::format("'{}' has a list for each sample, and targets one value", targets->fields()[0].name),
                 "Name it among the fields.")
        .with_file(targets->files()[0].path)
        .with_field(targets->fields()[0].name);
  const Source& source = impl_of(*targets)->rows_for("targets");
  if (source.mixture || source.chosen || source.program || source.finisher)
    throw Error(ErrorCode::kUnsupported, "targets that are selected, mixed or transformed are not there yet")
        .with_file(source.files[0].path)
        .with_hint("Give them as they are stored.");
  for (const Field& field : targets->fields())
    if (std::ranges::find(*rows.fields, field.name, &Field::name) != rows.fields->end())
      throw refuse(fmt::format("both the samples and their targets have a field '{}'", field.name),
                   "Give one of them another name.")
          .with_field(field.name);
  std::shared_ptr<const Source> shared = impl_of(*targets)->source.shared_rows();
  if (has_rows_of(source, rows) && targets->size() != list.num_samples()) {
    check_none_is_empty(list, source.files[0].path);
    return {std::move(shared), true};
  }
  const auto wrong = [&](std::uint64_t length, std::uint64_t samples, std::string_view whose) {
    return refuse(fmt::format("{} has {} rows for {} samples", targets->fields()[0].name, group_digits(length),
                              group_digits(samples)),
                  fmt::format("Targets have one row for each sample{}, or one for each row.", whose));
  };
  const std::size_t files = source.files.size();
  std::uint64_t before = 0;
  for (std::size_t f = 0; f < files && files == list.file_ends.size(); ++f) {
    const std::uint64_t end = list.samples_before(list.file_ends[f]);
    if (source.files[f].rows != end - before)
      throw wrong(source.files[f].rows, end - before, " of their file").with_file(source.files[f].path);
    before = end;
  }
  if (targets->size() != list.num_samples())
    throw wrong(targets->size(), list.num_samples(), "").with_file(source.files[0].path);
  return {std::move(shared), false};
}

}  // namespace

std::shared_ptr<Dataset::Impl> make_span_samples(std::shared_ptr<const Source> rows, SpanList list,
                                                 const std::optional<Dataset>& targets, DataTree node) {
  Targets beside = targets_of(*rows, list, targets);
  for (const Field& field : *rows->fields)
    for (const Source* const source : {rows.get(), beside.source.get()})
      if (source && std::ranges::find(*source->fields, field.name + ".offsets", &Field::name) != source->fields->end())
        throw refuse(fmt::format("a field is named {0}.offsets, which says where the samples of {0} begin", field.name),
                     "Give it another name.")
            .with_field(field.name + ".offsets");
  const auto maker = std::make_shared<const SpanMaker>(std::move(list), std::move(beside));
  return make_samples(maker, std::move(rows), nullptr, std::move(node));
}

}  // namespace headrace
