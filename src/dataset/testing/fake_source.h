// A data set in memory for tests: two or more arrays with chunks of their own, errors and delays on request.
#pragma once

#include <headrace/dataset.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <set>
#include <thread>

#include "dataset/dataset_contents.h"

namespace headrace::testing {

/// Element j of row r (of the data set) of array a. Every value names its place.
inline std::uint32_t fake_value(std::uint32_t array, std::uint64_t row, std::uint64_t j) {
  return static_cast<std::uint32_t>(array * 0x9e3779b9u + row * 1009 + j);
}

struct FakeFaults {
  std::set<std::uint64_t>
      bad_rows;  ///< Rows of the data set: decoding a piece that holds one fails. Fixed once threads run.
  std::optional<std::uint32_t> bad_array;  ///< Only pieces of this array fail.
  std::atomic<bool> no_memory{false};      ///< From then on decoding throws std::bad_alloc.
  std::atomic<bool> mended{false};         ///< From then on there are no bad rows.
  std::atomic<std::chrono::microseconds> delay{std::chrono::microseconds(0)};
  std::atomic<std::uint64_t> decodes{0};
};

class FakeArray : public ArrayReader {
 public:
  FakeArray(std::uint32_t number, std::uint64_t first_row, std::uint64_t rows, std::uint64_t width,
            std::uint64_t chunk_rows, std::shared_ptr<FakeFaults> faults, std::vector<std::uint64_t> chunk_ends = {})
      : number_(number), first_row_(first_row), width_(width), faults_(std::move(faults)) {
    info_.path = "a" + std::to_string(number);
    info_.shape = {rows, width};
    info_.record_bytes = 4;
    info_.columns = {{"", {DType::Kind::kUInt, 4}, {}, 0}};
    if (chunk_rows > 1) info_.chunk_shape = {chunk_rows, width};
    info_.filters = {{"fake", ""}};  // there is something to decode
    info_.chunk_ends = std::move(chunk_ends);
  }
  const ArrayInfo& info() const override { return info_; }
  Status locate(RowRange rows, std::vector<Piece>& out) const override {
    const std::uint64_t chunk = info_.chunk_shape.empty() ? 0 : info_.chunk_shape[0];
    if (chunk == 0) {
      out.push_back({rows.first, rows, {}, rows.count * width_ * 4, 0, 0});
      return {};
    }
    if (const auto& ends = info_.chunk_ends; !ends.empty()) {
      for (std::uint64_t c = 0, first = 0; c < ends.size(); first = ends[c++])
        if (first < rows.end() && ends[c] > rows.first)
          out.push_back({c, {first, ends[c] - first}, {}, (ends[c] - first) * width_ * 4, 0, 0});
      return {};
    }
    for (std::uint64_t c = rows.first / chunk; c * chunk < rows.end(); ++c)
      out.push_back({c, {c * chunk, std::min(chunk, info_.rows() - c * chunk)}, {}, chunk * width_ * 4, 0, 0});
    return {};
  }
  Result<DecodedPiece> decode(const Piece& piece, std::span<const std::byte>, const DecodeScratch& s) const override {
    ++faults_->decodes;
    if (faults_->no_memory) throw std::bad_alloc();
    const std::chrono::microseconds delay = faults_->delay;
    if (delay.count() > 0) std::this_thread::sleep_for(delay);
    auto* out = reinterpret_cast<std::uint32_t*>(s.out.data());
    for (std::uint64_t r = 0; r < piece.rows.count; ++r) {
      const std::uint64_t row = first_row_ + piece.rows.first + r;
      if (faults_->bad_rows.count(row) && faults_->bad_array.value_or(number_) == number_ && !faults_->mended)
        return Error(ErrorCode::kCorruptData, "a bad row").with_file("fake").with_field(info_.path);
      for (std::uint64_t j = 0; j < width_; ++j) out[r * width_ + j] = fake_value(number_, row, j);
    }
    return DecodedPiece{s.out.data(), width_ * 4};
  }
  RowGeometry geometry(std::uint32_t, std::size_t) const override {
    return row_box({width_}, {width_}, {0}, {0}, {width_}, 4, 0, 4);
  }
  std::uint32_t pieces_across() const override { return 1; }
  ScratchNeed scratch_need(std::uint64_t max_rows) const override {
    return {std::max(max_rows, info_.chunk_rows()) * width_ * 4, 0};
  }
  std::string piece_name(const Piece&) const override { return ""; }

 private:
  std::uint32_t number_;
  std::uint64_t first_row_, width_;
  std::shared_ptr<FakeFaults> faults_;
  ArrayInfo info_;
};

struct FakeShape {
  std::uint64_t width, chunk_rows;  ///< chunk_rows 1: addressable
};

inline Dataset fake_dataset(const std::vector<std::uint64_t>& file_rows, const std::vector<FakeShape>& arrays,
                            std::shared_ptr<FakeFaults> faults = std::make_shared<FakeFaults>()) {
  auto source = std::make_shared<Source>();
  std::vector<StoredColumn> columns;
  for (std::uint32_t a = 0; a < arrays.size(); ++a) {
    const std::string name = "a" + std::to_string(a);
    columns.push_back({name, name, {DType::Kind::kUInt, 4}, {arrays[a].width}});
    source->places.push_back({a, 0});
  }
  source->set_columns(std::move(columns));
  std::uint64_t first = 0;
  for (std::size_t f = 0; f < file_rows.size(); ++f) {
    SourceFile& file = source->files.emplace_back();
    file.path = "fake_" + std::to_string(f);
    file.rows = file_rows[f];
    for (std::uint32_t a = 0; a < arrays.size(); ++a)
      file.arrays.push_back(
          std::make_shared<FakeArray>(a, first, file.rows, arrays[a].width, arrays[a].chunk_rows, faults));
    first += file.rows;
  }
  return Dataset(Dataset::Impl::make(source));
}

/// A data set whose chunks differ in length: `file_ends` says where those of each file end. Array 0 is cut there; array
/// 1 in equal chunks of seven rows, which cross them.
inline Dataset fake_row_groups(const std::vector<std::vector<std::uint64_t>>& file_ends,
                               std::shared_ptr<FakeFaults> faults = std::make_shared<FakeFaults>()) {
  auto source = std::make_shared<Source>();
  source->set_columns({{"a0", "a0", {DType::Kind::kUInt, 4}, {3}}, {"a1", "a1", {DType::Kind::kUInt, 4}, {1}}});
  source->places = {{0, 0}, {1, 0}};
  std::uint64_t first = 0;
  for (const std::vector<std::uint64_t>& ends : file_ends) {
    SourceFile& file = source->files.emplace_back();
    file.path = "fake_" + std::to_string(source->files.size());
    file.rows = ends.back();
    std::uint64_t most = 2, before = 0;
    for (const std::uint64_t end : ends) most = std::max(most, end - before), before = end;
    file.arrays.push_back(std::make_shared<FakeArray>(0, first, file.rows, 3, most, faults, ends));
    file.arrays.push_back(std::make_shared<FakeArray>(1, first, file.rows, 1, 7, faults));
    first += file.rows;
  }
  return Dataset(Dataset::Impl::make(source));
}

}  // namespace headrace::testing
