#include <headrace/windows.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text/number_text.h"
#include "catalog/row_digest.h"
#include "catalog/samples/span_map.h"
#include "dataset/dataset_contents.h"
#include "dataset/recipe/refuse.h"
#include "dataset/recipe/verb_options.h"
#include "dataset/samples/mapped_samples.h"

namespace headrace {
namespace {

/// Return the windows that are shuffled together. At either end of a shuffle block a unit is shared with a neighbour,
/// and decoded twice where the order takes them far apart: so a shuffle block has four units' bytes. Counted in what is
/// delivered, so that shuffle blocks of windows that overlap much are stretches of a unit: many of them are mixed in
/// the memory that one shuffle block of whole units would take. Where nothing is decoded a shuffle block is the windows
/// that begin in one unit: more of them mix better in the same memory.
std::uint64_t block_samples(const Source& source, const BlockLayout& layout, std::uint64_t stride, std::uint64_t rows) {
  constexpr std::uint64_t kUnitsOfBlock = 4;
  const std::uint64_t unit_rows = layout.most_stored_rows();
  if (is_decoded(source)) return kUnitsOfBlock * (unit_rows / std::max(stride, rows) + 1);
  return std::max<std::uint64_t>(unit_rows / std::max(stride, rows), 1);
}

class WindowMaker final : public SampleMaker {
 public:
  explicit WindowMaker(const WindowOptions& options)
      : rows_(options.length + options.lookahead),
        stride_(options.stride.value_or(options.length)),
        across_files_(options.across_files) {}

  [[nodiscard]] std::string identity() const override {
    return fmt::format("windows of {} rows every {}{}", rows_, stride_, across_files_ ? " across files" : "");
  }
  [[nodiscard]] bool follows_files() const override { return !across_files_; }
  [[nodiscard]] bool overlaps() const override { return stride_ < rows_; }
  [[nodiscard]] std::shared_ptr<const SampleMaker> joined(std::span<const Part>, const Source&) const override {
    return std::make_shared<WindowMaker>(*this);
  }

  [[nodiscard]] std::shared_ptr<MappedSource> make(std::shared_ptr<const Source> source,
                                                   std::shared_ptr<const RowSet> chosen) const override {
    std::vector<RowRange> stretches;
    std::uint64_t rows = 0, short_files = 0;
    for (const SourceFile& file : source->files) {
      if (across_files_ && !stretches.empty())
        stretches[0].count += file.rows;
      else
        stretches.push_back({rows, file.rows});
      rows += file.rows;
      short_files += file.rows < rows_;
    }
    Spans spans = Spans::windows(std::move(stretches), stride_, rows_);
    if (spans.size() == 0) throw nothing_fits(*source);
    std::vector<std::uint64_t> file_ends;
    rows = 0;
    for (const SourceFile& file : source->files) file_ends.push_back(spans.first_beginning_at(rows += file.rows));
    BlockLayout layout = plan_layout(*source, 0);
    const std::uint64_t together = block_samples(*source, layout, stride_, rows_);
    auto map = std::make_shared<SpanMap>(
        SpanMap::Options{.block_samples = std::max(together, spans.size() / kMostShuffleBlocks + 1),
                         .rows = layout.table,
                         .chosen = std::move(chosen),
                         .row_weight = row_weight(source->columns->size()),
                         .spans = std::move(spans)});
    std::vector<SourceGroup> groups;
    const std::size_t num_files = source->files.size();
    groups.push_back({std::move(source), std::move(layout)});
    std::shared_ptr<MappedSource> made =
        make_mapped_source(std::move(map), nullptr, std::move(groups), identity()).value();
    made->what = "windows";
    made->file_ends = std::move(file_ends);
    if (short_files > 0 && !across_files_)
      made->notices.push_back(
          fmt::format("{} of {} files have fewer rows than a window ({}): nothing of {} is "
                      "delivered; across_files=True lets windows go on in the next file",
                      short_files, num_files, rows_, short_files == 1 ? "it" : "them"));
    return made;
  }

 private:
  [[nodiscard]] Error nothing_fits(const Source& source) const {
    std::uint64_t most = 0, all = 0;
    const SourceFile* longest = source.files.data();
    for (const SourceFile& file : source.files) {
      all += file.rows;
      if (file.rows > most) most = file.rows, longest = &file;
    }
    if (!across_files_ && all >= rows_)
      return refuse(fmt::format("a window of {} rows is longer than every file; the longest has {}",
                                group_digits(rows_), group_digits(most)),
                    "Ask for shorter windows, or across_files=True: windows then go on in the next file.")
          .with_file(longest->path);
    return refuse(fmt::format("a window of {} rows is longer than the data: {} rows", group_digits(rows_),
                              group_digits(all)),
                  "Ask for shorter windows.")
        .with_file(longest->path);
  }

  const std::uint64_t rows_, stride_;
  const bool across_files_;
};

void check(const WindowOptions& options) {
  constexpr std::uint64_t kMostRows = std::numeric_limits<std::uint32_t>::max();
  if (options.length == 0) throw refuse("windows of 0 rows", "Give a length of at least 1.");
  if (options.stride == std::uint64_t{0})
    throw refuse("a stride of 0 rows: all windows would be the same",
                 "Give at least 1, or leave it out for windows that follow each other.");
  if (options.length > kMostRows || options.lookahead > kMostRows - options.length)
    throw refuse(fmt::format("windows of {} + {} rows are longer than 2^32", options.length, options.lookahead));
}

/// Throws kUnsupported for rows that windows are not made of.
const Source& rows_for_windows(const Dataset& data) {
  const Source& source = impl_of(data)->rows_for("windows()");
  const auto unsupported = [&](std::string what, std::string hint) {
    return Error(ErrorCode::kUnsupported, std::move(what)).with_file(source.files[0].path).with_hint(hint);
  };
  if (source.mixture)
    throw unsupported("windows of a mixture, whose rows are drawn one by one", "Mix the windows of its parts.");
  if (source.chosen)
    throw unsupported("windows of selected rows, which do not follow each other",
                      "Make windows of the whole data set, and select() or split() those.");
  if (source.program || source.finisher)
    throw unsupported("windows of transformed rows are not there yet",
                      "Make windows of what is stored, and map() those.");
  if (std::ranges::any_of(source.files, [](const SourceFile& file) { return file.axes.size() > 1; }))
    throw unsupported("windows of samples that lie along several axes", "Open the data without sample_axes.");
  return source;
}

}  // namespace

Dataset windows(const Dataset& data, const WindowOptions& options) {
  check(options);
  if (data.closed()) throw Error(ErrorCode::kClosed, "the data set was closed");
  rows_for_windows(data);
  const Dataset::Impl& impl = *impl_of(data);
  const auto maker = std::make_shared<const WindowMaker>(options);
  return Dataset(make_samples(maker, impl.source.shared_rows(), nullptr, impl.node_with(options)));
}

}  // namespace headrace
