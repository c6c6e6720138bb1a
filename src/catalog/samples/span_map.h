// SpanMap: a sample is a run of consecutive rows: an event's pulses, a window of a token stream; and one row of a table
// beside them, where there is one (its label).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "catalog/row_set.h"
#include "catalog/samples/sample_map.h"

namespace headrace {

/// Where each sample's rows begin and end: listed, or at equal distances. Both ascend.
class Spans {
 public:
  /// Make spans of which the i-th has rows [starts[i], starts[i + 1]).
  static Spans between(std::vector<std::uint64_t> starts);
  static Spans between(std::shared_ptr<const std::vector<std::uint64_t>> starts);
  /// Make spans of which the i-th of a stretch has its rows [i * stride, i * stride + length): windows, which overlap
  /// where length is above stride, as many as fit. \param stretches  Rows over whose ends no window reaches, ascending
  /// and apart.
  static Spans windows(std::vector<RowRange> stretches, std::uint64_t stride, std::uint64_t length);

  [[nodiscard]] std::uint64_t size() const { return count_; }
  [[nodiscard]] std::uint64_t begin(std::uint64_t i) const {
    if (starts_) return (*starts_)[i];
    const Stretch& s = stretches_[stretch_of(i)];
    return s.rows.first + (i - s.first_sample) * stride_;
  }
  [[nodiscard]] std::uint64_t end(std::uint64_t i) const { return starts_ ? (*starts_)[i + 1] : begin(i) + length_; }
  /// Return the length of every sample; 0: they differ.
  [[nodiscard]] std::uint64_t common_length() const { return starts_ ? 0 : length_; }
  [[nodiscard]] std::uint64_t memory_bytes() const {
    return (starts_ ? starts_->capacity() * sizeof(std::uint64_t) : 0) + stretches_.capacity() * sizeof(stretches_[0]);
  }
  /// Return the samples of each stretch; of listed ones there is one stretch.
  [[nodiscard]] std::vector<std::uint64_t> stretch_sizes() const;
  /// Return the first sample that ends behind `row`.
  [[nodiscard]] std::uint64_t first_ending_behind(std::uint64_t row) const;
  /// Return the first sample that begins at `row` or behind it.
  [[nodiscard]] std::uint64_t first_beginning_at(std::uint64_t row) const;

 private:
  struct Stretch {
    RowRange rows;
    std::uint64_t first_sample = 0;
  };
  [[nodiscard]] std::uint64_t end_sample(std::size_t stretch) const {
    return stretch + 1 < stretches_.size() ? stretches_[stretch + 1].first_sample : count_;
  }
  [[nodiscard]] std::size_t stretch_of(std::uint64_t sample) const;
  [[nodiscard]] std::size_t stretch_at(std::uint64_t row) const;

  std::shared_ptr<const std::vector<std::uint64_t>> starts_;  // of listed ones
  std::vector<Stretch> stretches_;                            // of windows
  std::uint64_t count_ = 0, stride_ = 0, length_ = 0;
};

/// Group 0 holds the spans' rows; group 1, if there is one, a row for each sample. Shuffle blocks are runs of samples,
/// none of which reaches over the end of a stretch.
class SpanMap final : public SampleMap {
 public:
  struct Options {
    std::uint64_t block_samples = 1;              ///< Samples that are shuffled together, about a unit's.
    std::shared_ptr<const BlockTable> rows;       ///< Blocks of the spans' rows: the units of group 0.
    std::shared_ptr<const BlockTable> side = {};  ///< Blocks of the table beside them; null: there is none.
    std::shared_ptr<const RowSet> sided = {};     ///< Samples that have a row in that table; null: all.
    bool side_by_row = false;  ///< That table has a row for each row of the spans: a sample's is that of its first.
    /// Samples up to the end of each file, which no shuffle block reaches over; empty: they are one stretch.
    std::vector<std::uint64_t> file_ends = {};
    /// First row of each of these files; empty: each sample is an array of its own.
    std::vector<std::uint64_t> file_rows = {};
    std::shared_ptr<const RowSet> chosen = {};  ///< Samples that were selected; null: all.
    std::uint64_t most_rows = 0;                ///< Samples have no more rows than that; 0: all of theirs.
    bool draws_rows = false;  ///< Which rows a longer one has is drawn anew in each epoch; false: its first.
    std::uint64_t row_weight = 0, side_weight = 0;  ///< Weight of a row of group 0 and 1, see row_weight().
    Spans spans;
  };
  explicit SpanMap(Options options);

  [[nodiscard]] const std::shared_ptr<const BlockTable>& shuffle_blocks() const override { return blocks_; }
  [[nodiscard]] std::span<const UnitGroup> groups() const override { return groups_; }
  void expand(std::span<const SampleRef> samples, EpochSeed draws, std::vector<Part>& parts,
              std::vector<std::uint32_t>& ends) const override;
  void lengths(std::span<const SampleRef> samples, std::size_t group, std::vector<std::uint64_t>& out) const override;
  void units_of(std::uint32_t block, EpochSeed, std::vector<std::uint32_t>& out) const override;
  void blocks_of(std::uint32_t unit, std::vector<std::uint32_t>& out) const override;
  [[nodiscard]] std::uint64_t part_hash(SampleRef sample, const Part& part, std::uint64_t place) const override;
  [[nodiscard]] std::optional<RowRange> rows_of(SampleRef sample) const override;
  [[nodiscard]] std::optional<FileRow> file_row_of(SampleRef sample) const override;
  [[nodiscard]] std::uint64_t usual_parts() const override { return usual_parts_; }
  [[nodiscard]] std::uint64_t memory_bytes() const override {
    return options_.spans.memory_bytes() + first_rows_.capacity() * sizeof(first_rows_[0]);
  }

 private:
  /// Return the sample's number among all, chosen or not.
  [[nodiscard]] std::uint64_t number_of(SampleRef sample) const {
    return blocks_->stored_rows(sample.block).first +
           (options_.chosen ? blocks_->stored_row(sample.block, sample.row) : sample.row);
  }
  /// Return the row of the side table that a sample has; of one that has none, the next one's.
  [[nodiscard]] std::uint64_t side_row(std::uint64_t sample) const {
    if (options_.side_by_row) return options_.spans.begin(sample);
    return options_.sided ? options_.sided->count_below(sample) : sample;
  }
  [[nodiscard]] std::uint64_t sample_of_side(std::uint64_t row) const {
    if (options_.side_by_row) return options_.spans.first_ending_behind(row);
    return options_.sided ? (*options_.sided)[row] : row;
  }
  /// Return how many rows a sample has, after what `most_rows` leaves out.
  [[nodiscard]] std::uint64_t rows_left(std::uint64_t sample) const {
    const std::uint64_t rows = options_.spans.end(sample) - options_.spans.begin(sample);
    return options_.most_rows > 0 ? std::min(rows, options_.most_rows) : rows;
  }
  void add_rows(std::uint64_t row, std::uint64_t end, std::uint64_t place, std::vector<Part>& parts) const;
  void add_drawn_rows(std::uint64_t sample, EpochSeed draws, std::vector<Part>& parts) const;
  void blocks_between(std::uint64_t first_sample, std::uint64_t end_sample, std::vector<std::uint32_t>& out) const;

  const Options options_;
  std::shared_ptr<const BlockTable> blocks_;
  std::vector<UnitGroup> groups_;
  std::vector<std::uint64_t> first_rows_;  // of each unit, in its group's table
  std::uint64_t usual_parts_ = 1;
};

}  // namespace headrace
