// Blocks of thousands of pieces: what a request costs must not grow with the number of pieces.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "assembly/block_server.h"
#include "loader/testing/fake_source.h"

namespace headrace {
namespace {

TEST(SmallPieces, EachLooksAtTheRequestsForItsRowsOnly) {
  constexpr std::uint64_t kRows = 20000;
  for (const bool shuffled : {false, true}) {
    const Dataset data = testing::fake_dataset({kRows}, {{1, 2}});
    const auto& dataset = *data.impl();
    const BlockTable::Place place = dataset.layout.table->place(0);
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
    BlockServer server(*dataset.source, dataset.layout, dataset.no_residents, side_chunks, counters);
    ASSERT_TRUE(server.prepare().ok());
    const std::atomic<bool> cancelled{false};
    EXPECT_TRUE(server.serve({0, place.file, place.rows}, {requests, {}, runs}, cancelled).empty());
    for (std::uint32_t i = 0; i < kRows; ++i) ASSERT_EQ(batch[i], testing::fake_value(0, rows[i], 0));
    EXPECT_LE(counters.looked_at(), 2 * kRows);  // of 10,000 pieces
  }
}

}  // namespace
}  // namespace headrace
