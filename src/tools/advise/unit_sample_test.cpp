#include "tools/advise/unit_sample.h"

#include <gtest/gtest.h>
#include <headrace/volumes.h>
#include <headrace/windows.h>

#include <set>

#include "format/testing/hdf5_files.h"
#include "loader/engine/access.h"

namespace headrace {
namespace {

class UnitSample : public ::testing::Test {
 protected:
  UnitSample() {
    for (const char* name : {"a.h5", "b.h5"}) {
      const testing::Hdf5Writer file(directory_.path(name));
      file.write("raw", {.shape = {32, 32, 32}, .chunk = {16, 16, 16}, .gzip = 1});
      file.write("plain", {.shape = {32, 32, 32}});
    }
  }
  [[nodiscard]] std::vector<SampledBlock> cells(const char* field, std::uint64_t most_units) const {
    const Dataset data = patches(open_volumes({directory_.path("*.h5")}, {.fields = {{field, ""}}}),
                                 {.shape = {8, 8, 8}, .samples_per_epoch = 5});
    return sample_units(source_of(data), {}, most_units, 1 << 30).value();
  }
  TemporaryFolder directory_;
};

TEST_F(UnitSample, CellsOfAllVolumesEachOnce) {
  std::set<std::uint64_t> places;
  for (const SampledBlock& cell : cells("raw", 100)) {
    ASSERT_EQ(cell.arrays[0].pieces.size(), 1u);
    const Piece& piece = cell.arrays[0].pieces[0];
    EXPECT_EQ(piece.stored.range.size, cell.stored_bytes);
    EXPECT_EQ(piece.decoded_bytes, 16u * 16 * 16 * 4);
    places.insert(piece.stored.range.offset);
  }
  EXPECT_EQ(places.size(), 8u) << "both files have equal cells at equal places";
  EXPECT_EQ(cells("raw", 100).size(), 16u);
  EXPECT_EQ(cells("raw", 3).size(), 3u);
}

TEST_F(UnitSample, StretchesOfWhatHasNoCellsStayInside) {
  constexpr std::uint64_t kBytes = 32 * 32 * 32 * 4;
  for (const SampledBlock& stretch : cells("plain", 6)) {
    EXPECT_GT(stretch.stored_bytes, 0u);
    EXPECT_LE(stretch.stored_bytes, kBytes);
  }
}

TEST_F(UnitSample, BlocksOfRowsOfWindows) {
  const Dataset data = windows(open(directory_.path("a.h5"), {.fields = {{"raw", ""}}}), {.length = 4});
  const std::vector<SampledBlock> blocks = sample_units(source_of(data), {}, 100, 1 << 30).value();
  ASSERT_FALSE(blocks.empty());
  std::uint64_t rows = 0;
  for (const SampledBlock& block : blocks) rows += block.place.rows.count;
  EXPECT_EQ(rows, 32u);
}

}  // namespace
}  // namespace headrace
