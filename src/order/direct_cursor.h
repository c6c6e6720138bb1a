// DirectCursor: a cursor over any order in which the row at a position follows directly from the position.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "order/sampler.h"

namespace headrace {

/// Cursor over an order given as a function position → row of the data set.
template <class RowAt>
class DirectCursor : public Cursor {
 public:
  /// \param total  Samples of the epoch.
  DirectCursor(const BlockTable& blocks, std::uint64_t total, const Walk& walk, RowAt row_at)
      : blocks_(blocks), total_(total), walk_(walk), row_at_(std::move(row_at)) {}

  void next_step(std::vector<SampleRef>& out, std::vector<BlockRows>&) override {
    const std::uint64_t begin = walk_.begin_of(step_, total_), end = walk_.begin_of(step_ + 1, total_);
    ++step_;
    const ShareRange mine = share_of(walk_.share, end - begin);
    offset_ = mine.begin;
    out.resize(out.size() + (mine.end - mine.begin));
    SampleRef* next = out.data() + (out.size() - (mine.end - mine.begin));
    std::array<std::uint64_t, 64> rows;
    for (std::uint64_t i = begin + mine.begin; i < begin + mine.end; i += rows.size()) {
      const std::uint64_t count = std::min<std::uint64_t>(rows.size(), begin + mine.end - i);
      if constexpr (requires(RowAt f, std::span<std::uint64_t> to) { f.fill(i, to); })
        row_at_.fill(i, std::span(rows).first(count));
      else
        for (std::uint64_t k = 0; k < count; ++k) rows[k] = row_at_(i + k);
      for (std::uint64_t k = 0; k < count; ++k) {
        const BlockTable::RowPlace p = blocks_.find(rows[k]);
        *next++ = {static_cast<std::uint32_t>(p.block), p.row_in_block};
      }
    }
  }
  [[nodiscard]] std::uint64_t offset() const override { return offset_; }
  [[nodiscard]] std::uint64_t rows_in(std::uint32_t) const override { return 0; }

 protected:
  const BlockTable& blocks_;
  const std::uint64_t total_;
  const Walk walk_;

 private:
  RowAt row_at_;
  std::uint64_t step_ = 0, offset_ = 0;
};

}  // namespace headrace
