// SpanMap: a sample is a run of consecutive rows: an event's pulses, a window of a token stream; and one row of a table
// beside them, where there is one (its label).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "catalog/sample_map.h"

namespace headrace {

/// Where each sample's rows begin and end: listed, or at equal distances. Both ascend.
class Spans {
 public:
  /// Sample i has rows [starts[i], starts[i + 1]).
  static Spans between(std::vector<std::uint64_t> starts);
  /// Sample i has rows [i * stride, i * stride + length): windows that overlap where length is above stride.
  static Spans windows(std::uint64_t count, std::uint64_t stride, std::uint64_t length);

  [[nodiscard]] std::uint64_t size() const { return count_; }
  [[nodiscard]] std::uint64_t begin(std::uint64_t i) const { return starts_.empty() ? i * stride_ : starts_[i]; }
  [[nodiscard]] std::uint64_t end(std::uint64_t i) const {
    return starts_.empty() ? i * stride_ + length_ : starts_[i + 1];
  }
  /// Length of every sample; 0: they differ.
  [[nodiscard]] std::uint64_t common_length() const { return starts_.empty() ? length_ : 0; }
  [[nodiscard]] std::uint64_t memory_bytes() const { return starts_.capacity() * sizeof(starts_[0]); }
  /// Return the first sample that ends behind `row`.
  [[nodiscard]] std::uint64_t first_ending_behind(std::uint64_t row) const;
  /// Return the first sample that begins at `row` or behind it.
  [[nodiscard]] std::uint64_t first_beginning_at(std::uint64_t row) const;

 private:
  std::vector<std::uint64_t> starts_;
  std::uint64_t count_ = 0, stride_ = 0, length_ = 0;
};

/// Group 0 holds the spans' rows; group 1, if there is one, a row for each sample. Homes are runs of samples.
class SpanMap final : public SampleMap {
 public:
  struct Options {
    Spans spans;
    std::shared_ptr<const BlockTable> rows;  ///< Blocks of the spans' rows: the units of group 0.
    std::shared_ptr<const BlockTable> side;  ///< Blocks of the table beside them; null: there is none.
    std::uint64_t home_samples = 1;          ///< Samples that are shuffled together, about a unit's.
    std::uint64_t row_weight = 0;            ///< Weight of a row of group 0, see row_weight().
    std::uint64_t side_weight = 0;           ///< Weight of a row of group 1.
  };
  explicit SpanMap(Options options);

  [[nodiscard]] const std::shared_ptr<const BlockTable>& shuffle_blocks() const override { return homes_; }
  [[nodiscard]] std::span<const UnitGroup> groups() const override { return groups_; }
  void expand(std::span<const SampleRef> samples, std::vector<Part>& parts,
              std::vector<std::uint32_t>& ends) const override;
  void lengths(std::span<const SampleRef> samples, std::size_t group, std::vector<std::uint64_t>& out) const override;
  void units_of(std::uint32_t home, std::vector<std::uint32_t>& out) const override;
  void homes_of(std::uint32_t unit, std::vector<std::uint32_t>& out) const override;
  [[nodiscard]] std::uint64_t part_hash(SampleRef sample, const Part& part, std::uint64_t place) const override;
  [[nodiscard]] std::uint64_t memory_bytes() const override {
    return options_.spans.memory_bytes() + first_rows_.capacity() * sizeof(first_rows_[0]);
  }

 private:
  [[nodiscard]] std::uint64_t number_of(SampleRef sample) const {
    return std::uint64_t{sample.block} * options_.home_samples + sample.row;
  }
  void homes_between(std::uint64_t first_sample, std::uint64_t end_sample, std::vector<std::uint32_t>& out) const;

  const Options options_;
  std::shared_ptr<const BlockTable> homes_;
  std::vector<UnitGroup> groups_;
  std::vector<std::uint64_t> first_rows_;  // of each unit, in its group's table
};

}  // namespace headrace
