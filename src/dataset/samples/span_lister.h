// SpanLister: puts runs of rows together to a SpanList, file by file.
#pragma once

#include <headrace/dataset.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "dataset/samples/span_list.h"

namespace headrace {

/// Threads: one. Memory: refers to the data set whose rows are divided.
class SpanLister {
 public:
  explicit SpanLister(const Dataset& data) : data_(data) {}

  /// Add the next file. \param offsets  Rows of it, ascending; of fewer than two there is no sample.
  template <class Number>
  void add_file(std::span<const Number> offsets) {
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
      add_span(static_cast<std::uint64_t>(offsets[i]), static_cast<std::uint64_t>(offsets[i + 1]));
    end_file();
  }
  /// Add a sample of rows [first, end) of the file that is being added; `first` is not before the last one's end.
  void add_span(std::uint64_t first, std::uint64_t end) {
    leave_out(first);
    starts_.push_back(first_row_ + at_);
    at_ = end;
  }
  void end_file() {
    const std::uint64_t rows = data_.files()[list_.file_ends.size()].rows;
    leave_out(rows);
    list_.file_ends.push_back(starts_.size());
    first_row_ += rows;
    at_ = 0;
  }
  /// Return how many rows belong to no sample so far.
  [[nodiscard]] std::uint64_t rows_left_out() const { return rows_left_out_; }

  SpanList take() {
    const std::uint64_t runs = starts_.size();
    starts_.push_back(first_row_);
    starts_.shrink_to_fit();
    list_.starts = std::make_shared<const std::vector<std::uint64_t>>(std::move(starts_));
    if (unnamed_.empty()) return std::move(list_);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> named;
    std::uint64_t next = 0;
    unnamed_.push_back(runs);
    for (const std::uint64_t run : unnamed_) {
      if (run > next) named.emplace_back(next, run);
      next = run + 1;
    }
    list_.named = std::make_shared<const RowSet>(runs, std::span(std::as_const(named)));
    return std::move(list_);
  }

 private:
  void leave_out(std::uint64_t end) {
    if (at_ == end) return;
    rows_left_out_ += end - at_;
    unnamed_.push_back(starts_.size());
    starts_.push_back(first_row_ + at_);
    at_ = end;
  }

  const Dataset& data_;
  SpanList list_;
  std::vector<std::uint64_t> starts_, unnamed_;
  std::uint64_t first_row_ = 0;  // of the file that is being added
  std::uint64_t at_ = 0;         // row of that file up to which there are runs
  std::uint64_t rows_left_out_ = 0;
};

}  // namespace headrace
