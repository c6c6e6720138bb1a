#include "catalog/samples/span_map.h"

#include <algorithm>
#include <numeric>

#include "base/random/philox.h"
#include "catalog/row_digest.h"

namespace headrace {
namespace {

constexpr std::uint64_t kRowsOfSample = 0x726f7773;  // what is drawn, beside (seed, epoch, sample)

}  // namespace

Spans Spans::between(std::vector<std::uint64_t> starts) {
  return between(std::make_shared<const std::vector<std::uint64_t>>(std::move(starts)));
}

Spans Spans::between(std::shared_ptr<const std::vector<std::uint64_t>> starts) {
  Spans s;
  s.count_ = starts->empty() ? 0 : starts->size() - 1;
  s.starts_ = std::move(starts);
  return s;
}

Spans Spans::windows(std::vector<RowRange> stretches, std::uint64_t stride, std::uint64_t length) {
  Spans s;
  s.stride_ = std::max<std::uint64_t>(stride, 1);
  s.length_ = length;
  for (const RowRange rows : stretches) {
    s.stretches_.push_back({rows, s.count_});
    if (rows.count >= length) s.count_ += (rows.count - length) / s.stride_ + 1;
  }
  return s;
}

std::vector<std::uint64_t> Spans::stretch_sizes() const {
  if (stretches_.empty()) return {count_};
  std::vector<std::uint64_t> sizes;
  for (std::size_t s = 0; s < stretches_.size(); ++s) sizes.push_back(end_sample(s) - stretches_[s].first_sample);
  return sizes;
}

/// The last one of several with the same first sample: those before it have none.
std::size_t Spans::stretch_of(std::uint64_t sample) const {
  if (stretches_.size() == 1) return 0;
  const auto behind = std::ranges::upper_bound(stretches_, sample, {}, &Stretch::first_sample);
  return static_cast<std::size_t>(behind - stretches_.begin()) - 1;
}

std::size_t Spans::stretch_at(std::uint64_t row) const {
  const auto behind = std::ranges::upper_bound(stretches_, row, {}, [](const Stretch& s) { return s.rows.first; });
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(behind - stretches_.begin(), 1)) - 1;
}

std::uint64_t Spans::first_ending_behind(std::uint64_t row) const {
  if (starts_) {
    const auto at = std::upper_bound(starts_->begin() + 1, starts_->end(), row);
    return static_cast<std::uint64_t>(at - starts_->begin()) - 1;
  }
  if (count_ == 0) return 0;
  const std::size_t at = stretch_at(row);
  const Stretch& s = stretches_[at];
  if (row < s.rows.first) return s.first_sample;
  const std::uint64_t in_stretch = row - s.rows.first;
  return std::min(end_sample(at), s.first_sample + (in_stretch < length_ ? 0 : (in_stretch - length_) / stride_ + 1));
}

std::uint64_t Spans::first_beginning_at(std::uint64_t row) const {
  if (starts_) {
    const auto at = std::lower_bound(starts_->begin(), starts_->end() - 1, row);
    return static_cast<std::uint64_t>(at - starts_->begin());
  }
  if (count_ == 0) return 0;
  const std::size_t at = stretch_at(row);
  const Stretch& s = stretches_[at];
  if (row < s.rows.first) return s.first_sample;
  return std::min(end_sample(at), s.first_sample + (row - s.rows.first + stride_ - 1) / stride_);
}

SpanMap::SpanMap(Options options) : options_(std::move(options)) {
  std::vector<BlockTable::FileBlocks> shuffled;
  std::vector<std::uint64_t> sizes = options_.file_ends;
  std::adjacent_difference(sizes.begin(), sizes.end(), sizes.begin());
  if (sizes.empty()) sizes = options_.spans.stretch_sizes();
  for (const std::uint64_t samples : sizes) shuffled.push_back({samples, options_.block_samples});
  blocks_ = std::make_shared<const BlockTable>(shuffled, options_.chosen);
  const std::uint64_t length = options_.spans.common_length();
  groups_.push_back({static_cast<std::uint32_t>(options_.rows->num_blocks()),
                     length > 0 ? UnitGroup::Rows::kFixed : UnitGroup::Rows::kRagged, length, false});
  if (options_.side)
    groups_.push_back({static_cast<std::uint32_t>(options_.side->num_blocks()), UnitGroup::Rows::kFixed, 1, true});
  for (const BlockTable* table : {options_.rows.get(), options_.side.get()})
    for (std::uint64_t b = 0; table && b < table->num_blocks(); ++b) first_rows_.push_back(table->stored_rows(b).first);
  // Blocks are alike but for a file's last: a window that is longer than the usual one has a part more at each end.
  const std::uint64_t blocks = options_.rows->num_blocks(), rows = options_.rows->num_rows();
  const std::uint64_t usual = length > 0 ? length : rows / std::max<std::uint64_t>(options_.spans.size(), 1);
  std::uint64_t drawn = 0;  // rows that are drawn one by one, of all samples
  for (std::uint64_t i = 0; options_.draws_rows && i < options_.spans.size(); ++i)
    if (options_.spans.end(i) - options_.spans.begin(i) > options_.most_rows) drawn += options_.most_rows;
  usual_parts_ = drawn / std::max<std::uint64_t>(options_.spans.size(), 1);
  usual_parts_ += 2 + (blocks == 0 ? 0 : usual / std::max<std::uint64_t>(rows / blocks, 1)) + (options_.side ? 1 : 0);
}

/// Add the parts of rows [row, end). \param place  Of the first in its sample.
void SpanMap::add_rows(std::uint64_t row, std::uint64_t end, std::uint64_t place, std::vector<Part>& parts) const {
  while (row < end) {
    const BlockTable::RowPlace at = options_.rows->find(row);
    const std::uint64_t count = std::min<std::uint64_t>(at.left, end - row);
    parts.push_back({static_cast<std::uint32_t>(at.block), at.row_in_block, static_cast<std::uint32_t>(count), place});
    row += count;
    place += count;
  }
}

/// Draw `most_rows` of a sample's rows, each set of them equally likely, and keep their order.
void SpanMap::add_drawn_rows(std::uint64_t sample, EpochSeed draws, std::vector<Part>& parts) const {
  const std::uint64_t begin = options_.spans.begin(sample), rows = options_.spans.end(sample) - begin;
  KeyedRandom random(RandomKey::of({draws.seed, draws.epoch, kRowsOfSample, sample}));
  std::vector<bool> drawn(rows);
  // Floyd's method: as many draws as rows, whatever they are drawn from (Bentley and Floyd, CACM 30, 1987).
  for (std::uint64_t last = rows - options_.most_rows; last < rows; ++last) {
    const std::uint64_t row = random.below(last + 1);
    drawn[drawn[row] ? last : row] = true;
  }
  std::uint64_t place = 0;
  for (std::uint64_t row = 0; row < rows;) {
    if (!drawn[row]) {
      ++row;
      continue;
    }
    std::uint64_t end = row + 1;
    while (end < rows && drawn[end]) ++end;
    add_rows(begin + row, begin + end, place, parts);
    place += end - row;
    row = end;
  }
}

void SpanMap::expand(std::span<const SampleRef> samples, EpochSeed draws, std::vector<Part>& parts,
                     std::vector<std::uint32_t>& ends) const {
  for (const SampleRef sample : samples) {
    const std::uint64_t i = number_of(sample), begin = options_.spans.begin(i), end = options_.spans.end(i);
    if (const std::uint64_t rows = rows_left(i); rows == end - begin || !options_.draws_rows)
      add_rows(begin, begin + rows, 0, parts);
    else
      add_drawn_rows(i, draws, parts);
    if (options_.side) {
      const BlockTable::RowPlace at = options_.side->find(side_row(i));
      parts.push_back({groups_[0].num_units + static_cast<std::uint32_t>(at.block), at.row_in_block, 1, 0});
    }
    ends.push_back(static_cast<std::uint32_t>(parts.size()));
  }
}

void SpanMap::lengths(std::span<const SampleRef> samples, std::size_t, std::vector<std::uint64_t>& out) const {
  for (const SampleRef sample : samples) {
    out.push_back(rows_left(number_of(sample)));
  }
}

std::optional<RowRange> SpanMap::rows_of(SampleRef sample) const {
  const std::uint64_t i = number_of(sample), begin = options_.spans.begin(i);
  return RowRange{begin, options_.draws_rows ? options_.spans.end(i) - begin : rows_left(i)};
}

std::optional<SampleMap::FileRow> SpanMap::file_row_of(SampleRef sample) const {
  if (options_.file_ends.empty()) return std::nullopt;
  const std::uint32_t file = blocks_->place(sample.block).file;
  const std::uint64_t i = number_of(sample);
  if (options_.file_rows.empty()) return FileRow{file, i - (file == 0 ? 0 : options_.file_ends[file - 1])};
  return FileRow{file, options_.spans.begin(i) - options_.file_rows[file]};
}

/// From the first to the last that its chosen samples have rows in.
void SpanMap::units_of(std::uint32_t block, EpochSeed, std::vector<std::uint32_t>& out) const {
  const std::uint64_t first = number_of({block, 0});
  const std::uint64_t last = number_of({block, static_cast<std::uint32_t>(blocks_->block_rows(block) - 1)});
  const std::uint64_t begin = options_.spans.begin(first), end = options_.spans.end(last);
  if (begin < end) {
    const auto last_unit = static_cast<std::uint32_t>(options_.rows->find(end - 1).block);
    for (auto unit = static_cast<std::uint32_t>(options_.rows->find(begin).block); unit <= last_unit; ++unit)
      out.push_back(unit);
  }
  if (!options_.side) return;
  const auto last_unit = static_cast<std::uint32_t>(options_.side->find(side_row(last)).block);
  for (auto unit = static_cast<std::uint32_t>(options_.side->find(side_row(first)).block); unit <= last_unit; ++unit)
    out.push_back(groups_[0].num_units + unit);
}

/// Append the shuffle blocks that have chosen samples and lie where some samples [first, end) do, chosen or not.
void SpanMap::blocks_between(std::uint64_t first_sample, std::uint64_t end_sample,
                             std::vector<std::uint32_t>& out) const {
  if (first_sample >= end_sample) return;
  std::uint64_t first = first_sample, end = end_sample;  // of the data set's own samples
  if (const RowSet* const chosen = options_.chosen.get()) {
    // A shuffle block may pass a unit by with chosen samples on either side of it: up to a shuffle block more is looked
    // at.
    const std::uint64_t size = chosen->size_of_whole(), block = options_.block_samples;
    first = chosen->count_below(first_sample - std::min(first_sample, block - 1));
    end = chosen->count_below(std::min(end_sample + block - 1, size));
    if (first == end) return;
  }
  const std::uint64_t last = blocks_->find(end - 1).block;
  for (std::uint64_t block = blocks_->find(first).block; block <= last; ++block)
    out.push_back(static_cast<std::uint32_t>(block));
}

/// The same shuffle blocks as those whose units_of() names the unit: also those whose samples pass it by without a row
/// in it.
void SpanMap::blocks_of(std::uint32_t unit, std::vector<std::uint32_t>& out) const {
  std::vector<std::uint32_t> blocks, units;
  if (unit >= groups_[0].num_units) {
    const RowRange rows = options_.side->stored_rows(unit - groups_[0].num_units);
    blocks_between(sample_of_side(rows.first), sample_of_side(rows.end() - 1) + 1, blocks);
  } else {
    const RowRange rows = options_.rows->stored_rows(unit);
    // From the sample before those with rows here to the one behind them: where none has, both may be of one shuffle
    // block.
    const std::uint64_t first = options_.spans.first_ending_behind(rows.first);
    const std::uint64_t end = options_.spans.first_beginning_at(rows.end());
    blocks_between(first - std::min<std::uint64_t>(first, 1), std::min(end + 1, options_.spans.size()), blocks);
  }
  for (const std::uint32_t block : blocks) {
    units.clear();
    units_of(block, {},
             units);  // a shuffle block at either end may have no row here after all, if its nearest samples are empty
    if (std::find(units.begin(), units.end(), unit) != units.end()) out.push_back(block);
  }
}

std::uint64_t SpanMap::part_hash(SampleRef, const Part& part, std::uint64_t place) const {
  const bool side = part.unit >= groups_[0].num_units;
  return run_hash(first_rows_[part.unit] + part.row, place + part.place, part.count) *
         (side ? options_.side_weight : options_.row_weight);
}

}  // namespace headrace
