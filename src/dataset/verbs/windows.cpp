#include <headrace/windows.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "base/random/philox.h"
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

/// Rows over whose ends no window reaches.
struct Stretches {
  std::vector<RowRange> runs;
  std::uint64_t all_rows = 0;  ///< Rows of the files, in runs or not.
  bool are_files = true;       ///< Each is a file, whole, or all of them are one.
  std::string what = "files";  ///< In messages.
};

class WindowMaker final : public SampleMaker {
 public:
  WindowMaker(const WindowOptions& options, Stretches stretches)
      : rows_(options.length + options.lookahead),
        stride_(options.stride.value_or(options.length)),
        across_files_(options.across_files),
        stretches_(std::move(stretches)) {}

  [[nodiscard]] std::string identity() const override {
    if (stretches_.are_files) return form();
    RandomKey key = RandomKey::of({stretches_.all_rows});
    for (const RowRange run : stretches_.runs) key = key.with(run.first).with(run.count);
    return fmt::format("{} in {} runs {:016x}", form(), stretches_.runs.size(), key.low);
  }
  [[nodiscard]] std::string form() const override {
    return fmt::format("windows of {} rows every {}{}", rows_, stride_, across_files_ ? " across files" : "");
  }
  [[nodiscard]] bool follows_files() const override { return !across_files_; }
  [[nodiscard]] bool overlaps() const override { return stride_ < rows_; }
  [[nodiscard]] std::shared_ptr<const SampleMaker> joined(std::span<const Part> parts, const Source&) const override {
    auto all = std::make_shared<WindowMaker>(*this);
    all->stretches_ = {};
    for (const Part& part : parts) {
      const Stretches& more = dynamic_cast<const WindowMaker&>(*part.maker).stretches_;  // of equal form
      for (const RowRange run : more.runs)
        all->stretches_.runs.push_back({all->stretches_.all_rows + run.first, run.count});
      all->stretches_.all_rows += more.all_rows;
      all->stretches_.are_files = all->stretches_.are_files && more.are_files;
      if (!more.are_files) all->stretches_.what = more.what;
    }
    return all;
  }

  [[nodiscard]] std::shared_ptr<MappedSource> make(std::shared_ptr<const Source> source,
                                                   std::shared_ptr<const RowSet> chosen) const override {
    Spans spans = Spans::windows(stretches_.runs, stride_, rows_);
    if (spans.size() == 0) throw nothing_fits(*source);
    std::vector<std::uint64_t> file_ends, file_rows;
    std::uint64_t rows = 0;
    for (const SourceFile& file : source->files) {
      file_rows.push_back(rows);
      file_ends.push_back(spans.first_beginning_at(rows += file.rows));
    }
    BlockLayout layout = plan_layout(*source, 0);
    const std::uint64_t together = block_samples(*source, layout, stride_, rows_);
    auto map = std::make_shared<SpanMap>(
        SpanMap::Options{.block_samples = std::max(together, spans.size() / kMostShuffleBlocks + 1),
                         .rows = layout.table,
                         .file_ends = shuffles_by_file() ? file_ends : std::vector<std::uint64_t>(),
                         .file_rows = shuffles_by_file() ? std::move(file_rows) : std::vector<std::uint64_t>(),
                         .chosen = std::move(chosen),
                         .row_weight = row_weight(source->columns->size()),
                         .spans = std::move(spans)});
    std::vector<SourceGroup> groups;
    groups.push_back({std::move(source), std::move(layout)});
    std::shared_ptr<MappedSource> made =
        make_mapped_source(std::move(map), nullptr, std::move(groups), identity()).value();
    made->what = "windows";
    made->file_ends = std::move(file_ends);
    add_notice(*made);
    return made;
  }

 private:
  /// Runs may be many and short: then windows of a file are shuffled together, whichever run they are of.
  [[nodiscard]] bool shuffles_by_file() const { return !stretches_.are_files && !across_files_; }

  void add_notice(MappedSource& made) const {
    const auto too_short = std::ranges::count_if(stretches_.runs, [&](RowRange run) { return run.count < rows_; });
    if (too_short == 0 || (across_files_ && stretches_.are_files)) return;
    made.notices.push_back(
        fmt::format("{} of {} {} have fewer rows than a window ({}): nothing of {} is delivered{}", too_short,
                    stretches_.runs.size(), stretches_.what, rows_, too_short == 1 ? "it" : "them",
                    stretches_.are_files ? "; across_files=True lets windows go on in the next file" : ""));
  }

  [[nodiscard]] Error nothing_fits(const Source& source) const {
    if (!stretches_.are_files) {
      std::uint64_t longest = 0;
      for (const RowRange run : stretches_.runs) longest = std::max(longest, run.count);
      return refuse(fmt::format("a window of {} rows is longer than all {}; the longest has {}", group_digits(rows_),
                                stretches_.what, group_digits(longest)),
                    "Ask for shorter windows, or select rows that follow each other.")
          .with_file(source.files[0].path);
    }
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
  Stretches stretches_;
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

[[nodiscard]] Error unsupported(const Source& source, std::string what, std::string_view hint) {
  return Error(ErrorCode::kUnsupported, std::move(what)).with_file(source.files[0].path).with_hint(hint);
}

/// Call `work` with every run of chosen rows, ascending.
template <class Work>
void for_runs(const RowSet& chosen, Work work) {
  const std::span<const std::uint64_t> words = chosen.words();
  std::uint64_t first = 0, count = 0;
  for (std::uint64_t w = 0; w < words.size(); ++w)
    for (std::uint64_t left = words[w]; left != 0; left &= left - 1) {
      const std::uint64_t row = w * 64 + static_cast<std::uint64_t>(std::countr_zero(left));
      if (count > 0 && row == first + count) {
        ++count;
        continue;
      }
      if (count > 0) work(RowRange{first, count});
      first = row, count = 1;
    }
  if (count > 0) work(RowRange{first, count});
}

/// Files, or the selected rows in them that follow each other. Throws kUnsupported for rows that windows are not made
/// of.
Stretches stretches_of(const Source& source, bool across_files) {
  if (source.mixture)
    throw unsupported(source, "windows of a mixture, whose rows are drawn one by one", "Mix the windows of its parts.");
  if (source.program || source.finisher)
    throw unsupported(source, "windows of transformed rows: a window is made of what is stored",
                      "Make the windows first, and map() those.");
  if (std::ranges::any_of(source.files, [](const SourceFile& file) { return file.axes.size() > 1; }))
    throw unsupported(source, "windows of samples that lie along several axes", "Open the data without sample_axes.");
  Stretches stretches;
  std::vector<RowRange> files;
  for (const SourceFile& file : source.files) {
    if (across_files && !files.empty())
      files[0].count += file.rows;
    else
      files.push_back({stretches.all_rows, file.rows});
    stretches.all_rows += file.rows;
  }
  if (!source.chosen) {
    stretches.runs = std::move(files);
    return stretches;
  }
  stretches.are_files = false;
  stretches.what = "runs of selected rows";
  std::size_t file = 0;
  for_runs(*source.chosen, [&](RowRange run) {
    while (run.count > 0) {
      while (files[file].end() <= run.first) ++file;
      const std::uint64_t count = std::min(run.count, files[file].end() - run.first);
      stretches.runs.push_back({run.first, count});
      run = {run.first + count, run.count - count};
    }
  });
  return stretches;
}

/// The samples' rows. Throws kUnsupported for samples that windows are not made of.
Stretches stretches_of(const MappedSource& samples, bool across_files) {
  const Source& source = *samples.groups[0].source;
  const bool ragged = samples.map->groups()[0].rows == UnitGroup::Rows::kRagged;
  if (samples.boxes || !samples.maker || !ragged)
    throw unsupported(source, fmt::format("windows() of {}", samples.what), "Make them of rows, documents or events.");
  if (samples.mixture)
    throw unsupported(source, "windows of a mixture, whose samples are drawn one by one",
                      "Mix the windows of its parts.");
  if (samples.program || samples.finisher)
    throw unsupported(source, "windows of transformed samples: a window is made of what is stored",
                      "Make the windows first, and map() those.");
  if (!samples.maker->shortened(1, false))
    throw unsupported(source, "windows of samples that are shortened", "Make the windows of whole ones.");
  if (samples.groups.size() > 1)
    throw unsupported(source, "windows of samples that have targets, of which a window has none",
                      "Open them without targets=.");
  if (across_files)
    throw refuse(fmt::format("across_files=True, and a window of {} has rows of one of them alone", samples.what),
                 "Leave it out.");
  Stretches stretches{{}, samples.groups[0].layout.table->num_rows(), false, samples.what};
  const BlockTable& blocks = *samples.map->shuffle_blocks();
  for (std::uint64_t i = 0; i < blocks.num_rows(); ++i) {
    const BlockTable::RowPlace at = blocks.find(i);
    const auto rows = samples.map->rows_of(SampleRef{static_cast<std::uint32_t>(at.block), at.row_in_block});
    if (!rows) throw unsupported(source, fmt::format("windows of {}", samples.what), "Make them of rows.");
    if (rows->count > 0) stretches.runs.push_back(*rows);
  }
  std::ranges::sort(stretches.runs, {}, &RowRange::first);
  return stretches;
}

}  // namespace

Dataset windows(const Dataset& data, const WindowOptions& options) {
  check(options);
  if (data.closed()) throw Error(ErrorCode::kClosed, "the data set was closed");
  const Dataset::Impl& impl = *impl_of(data);
  const MappedSource* const samples = impl.source.mapped();
  Stretches stretches =
      samples ? stretches_of(*samples, options.across_files) : stretches_of(*impl.source.rows(), options.across_files);
  std::shared_ptr<const Source> rows = samples ? samples->made_of() : impl.source.shared_rows();
  if (rows->chosen) {
    auto all = std::make_shared<Source>(*rows);
    all->chosen = nullptr;
    rows = std::move(all);
  }
  const auto maker = std::make_shared<const WindowMaker>(options, std::move(stretches));
  return Dataset(make_samples(maker, std::move(rows), nullptr, impl.node_with(options)));
}

}  // namespace headrace
