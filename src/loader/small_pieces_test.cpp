// Blocks of many small pieces: what a request costs must not grow with the number of pieces, nor memory with what lies
// between them.
#include <gtest/gtest.h>
#include <headrace/loader.h>

#include <numeric>
#include <random>

#include "assembly/servers/block_server.h"
#include "dataset/testing/fake_source.h"
#include "storage/testing/memory_file.h"

namespace headrace {
namespace {

/// Chunks of eight rows, stored one by one with 32 KiB of something else behind each: of an array that is not read.
class SpreadArray final : public ArrayReader {
 public:
  static constexpr std::uint64_t kRowBytes = 64, kChunkRows = 8, kChunkBytes = kRowBytes * kChunkRows;
  static constexpr std::uint64_t kStride = kChunkBytes + (32 << 10);

  explicit SpreadArray(std::uint64_t rows) : file_(MemoryFile::pattern(rows / kChunkRows * kStride)) {
    info_.path = "y";
    info_.shape = {rows, kRowBytes};
    info_.chunk_shape = {kChunkRows, kRowBytes};
    info_.record_bytes = 1;
    info_.columns = {{"", {DType::Kind::kUInt, 1}, {}, 0}};
  }
  const ArrayInfo& info() const override { return info_; }
  Status locate(RowRange rows, std::vector<Piece>& out) const override {
    for (std::uint64_t c = rows.first / kChunkRows; c * kChunkRows < rows.end(); ++c)
      out.push_back({c, {c * kChunkRows, kChunkRows}, {file_.get(), {c * kStride, kChunkBytes}}, kChunkBytes, 0, 0});
    return {};
  }
  Result<DecodedPiece> decode(const Piece&, std::span<const std::byte> stored, const DecodeScratch&) const override {
    return DecodedPiece{stored.data(), kRowBytes};
  }
  RowGeometry geometry(std::uint32_t, std::size_t) const override {
    return row_box({kRowBytes}, {kRowBytes}, {0}, {0}, {kRowBytes}, 1, 0, 1);
  }
  std::uint32_t pieces_across() const override { return 1; }
  ScratchNeed scratch_need(std::uint64_t) const override { return {0, 0}; }
  std::string piece_name(const Piece&) const override { return ""; }

 private:
  const std::shared_ptr<MemoryFile> file_;
  ArrayInfo info_;
};

TEST(SmallPieces, WhatLiesBetweenThemTakesNoMoreMemoryThanIsPlanned) {
  constexpr std::uint64_t kRows = 8192;
  auto source = std::make_shared<Source>();
  source->set_columns({{"y", "y", {DType::Kind::kUInt, 1}, {SpreadArray::kRowBytes}}});
  source->places = {{0, 0}};
  SourceFile& file = source->files.emplace_back();
  file.path = "spread";
  file.rows = kRows;
  file.arrays.push_back(std::make_shared<SpreadArray>(kRows));
  const Dataset data(Dataset::Impl::make(source));
  const auto& dataset = *impl_of(data);
  const std::uint64_t planned = BlockServer::need(*dataset.source.rows(), dataset.layout).read_buffer_bytes;

  StageClock clock;
  DecodeCounters counters(clock);
  SideChunks side_chunks(0);
  BlockServer server(*dataset.source.rows(), dataset.layout, dataset.no_residents, side_chunks, counters);
  ASSERT_TRUE(server.prepare().ok());
  const std::atomic<bool> cancelled{false};
  for (std::uint32_t block = 0; block < dataset.blocks->num_blocks(); ++block) {
    const BlockTable::FileRows place = dataset.blocks->place(block);
    std::vector<Request> requests(place.rows.count);
    for (std::uint32_t i = 0; i < requests.size(); ++i) requests[i] = {i, i};
    std::vector<std::byte> batch(requests.size() * SpreadArray::kRowBytes);
    std::byte* const fields[] = {batch.data()};
    const RowRun runs[] = {{fields, 0, static_cast<std::uint32_t>(requests.size())}};
    EXPECT_TRUE(server.serve({block, place.file, place.rows}, {requests, {}, runs}, cancelled).empty());
    for (std::uint64_t i = 0; i < batch.size(); ++i) {
      const std::uint64_t at = place.rows.first * SpreadArray::kRowBytes + i;
      const std::uint64_t offset = at / SpreadArray::kChunkBytes * SpreadArray::kStride + at % SpreadArray::kChunkBytes;
      ASSERT_EQ(batch[i], MemoryFile::pattern_byte(offset)) << at;
    }
    EXPECT_LE(counters.peak_read_buffer_bytes(), planned);
  }
}

TEST(SmallPieces, EachLooksAtTheRequestsForItsRowsOnly) {
  constexpr std::uint64_t kRows = 20000;
  for (const bool shuffled : {false, true}) {
    const Dataset data = testing::fake_dataset({kRows}, {{1, 2}});
    const auto& dataset = *impl_of(data);
    const BlockTable::FileRows place = dataset.blocks->place(0);
    ASSERT_EQ(place.rows.count, kRows);

    std::vector<Request> requests(kRows);
    std::vector<std::uint32_t> rows(kRows);
    std::iota(rows.begin(), rows.end(), 0);
    if (shuffled) std::ranges::shuffle(rows, std::mt19937(1));
    for (std::uint32_t i = 0; i < kRows; ++i) requests[i] = {rows[i], i};
    std::vector<std::uint32_t> batch(kRows);
    std::byte* const fields[] = {reinterpret_cast<std::byte*>(batch.data())};
    const RowRun runs[] = {{fields, 0, kRows}};

    StageClock clock;
    DecodeCounters counters(clock);
    SideChunks side_chunks(0);
    BlockServer server(*dataset.source.rows(), dataset.layout, dataset.no_residents, side_chunks, counters);
    ASSERT_TRUE(server.prepare().ok());
    const std::atomic<bool> cancelled{false};
    EXPECT_TRUE(server.serve({0, place.file, place.rows}, {requests, {}, runs}, cancelled).empty());
    for (std::uint32_t i = 0; i < kRows; ++i) ASSERT_EQ(batch[i], testing::fake_value(0, rows[i], 0));
    EXPECT_LE(counters.requests_scanned(), 2 * kRows);  // of 10,000 pieces
  }
}

}  // namespace
}  // namespace headrace
