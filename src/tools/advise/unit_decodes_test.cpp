#include "tools/advise/unit_decodes.h"

#include <gtest/gtest.h>
#include <headrace/bytes.h>
#include <headrace/loader.h>
#include <headrace/volumes.h>
#include <headrace/windows.h>

#include "format/testing/hdf5_files.h"
#include "loader/engine/access.h"
#include "loader/plan/plan_for.h"

namespace headrace {
namespace {

class UnitDecodes : public ::testing::Test {
 protected:
  UnitDecodes() {
    const testing::Hdf5Writer file(directory_.path("a.h5"));
    file.write("x", {.shape = {65536, 8}, .chunk = {128, 8}, .gzip = 1});
    file.write("volume", {.shape = {64, 64, 64}, .chunk = {16, 16, 16}, .gzip = 1});
    options_.batch = Samples{16};
    options_.order = BlockShuffle{};
    options_.threads = 1;
    options_.cache.mode = CacheChoice::kNone;
  }
  [[nodiscard]] Dataset windows_of(std::uint64_t stride) const {
    return windows(open(directory_.path("a.h5"), {.fields = {{"x", ""}}}), {.length = 64, .stride = stride});
  }
  [[nodiscard]] Dataset patches_of(PatchOptions options) const {
    return patches(open_volumes({directory_.path("a.h5")}, {.fields = {{"volume", ""}}}), options);
  }
  [[nodiscard]] EnginePlan plan(const Dataset& data, std::uint64_t budget) const {
    return window_plan_for(data, options_, budget).value();
  }
  /// Compare with what a loader decodes, under budgets down to the least.
  void expect_what_a_loader_does(const Dataset& data, double all_bytes) {
    const std::uint64_t least = smallest_budget(data, options_);
    for (const std::uint64_t budget : {least * 2, least * 4, least * 16, mebibytes(256)}) {
      options_.memory = budget;
      const double foretold = unit_decodes(source_of(data), plan(data, budget));
      Loader loader(data, options_);
      for (const Batch& batch : loader) (void)batch;
      const auto decoded = static_cast<double>(engine_of(loader)->decodes().decoded_bytes);
      const double ratio = decoded / all_bytes / foretold;  // a window is as long as the threads let it be
      EXPECT_TRUE(0.5 < ratio && ratio < 2) << ratio << ", " << budget << ": " << foretold;
    }
  }
  TemporaryFolder directory_;
  LoaderOptions options_;
};

constexpr double kRowsBytes = 65536 * 8 * 4, kVolumeBytes = 64 * 64 * 64 * 4;

TEST_F(UnitDecodes, WindowsDecodeWhatALoaderDecodes) {
  expect_what_a_loader_does(windows_of(64), kRowsBytes);
  expect_what_a_loader_does(windows_of(24), kRowsBytes);  // which overlap
}

TEST_F(UnitDecodes, PatchesDecodeWhatALoaderDecodes) {
  expect_what_a_loader_does(patches_of({.shape = {12, 12, 12}, .stride = {12, 12, 12}}), kVolumeBytes);
  expect_what_a_loader_does(patches_of({.shape = {12, 12, 12}, .samples_per_epoch = 400}), kVolumeBytes);
}

TEST_F(UnitDecodes, InOrderOnceWhateverOverlaps) {
  options_.order = InOrder{};
  const Dataset data = windows_of(24);
  EXPECT_DOUBLE_EQ(unit_decodes(source_of(data), plan(data, mebibytes(64))), 1);
}

TEST_F(UnitDecodes, FewDrawnPatchesDecodeFewChunks) {
  const Dataset data = patches_of({.shape = {8, 8, 8}, .samples_per_epoch = 2});
  const double decodes = unit_decodes(source_of(data), plan(data, mebibytes(64)));
  EXPECT_GE(decodes, 2.0 / 64);  // a chunk for each patch at least, of 64
  EXPECT_LE(decodes, 16.0 / 64);
}

TEST_F(UnitDecodes, WhatIsReadByItselfIsNotDecodedTogether) {
  testing::Hdf5Writer(directory_.path("b.h5")).write("volume", {.shape = {32, 32, 32}});
  const Dataset data = patches(open_volumes({directory_.path("b.h5")}), {.shape = {8, 8, 8}, .samples_per_epoch = 9});
  EXPECT_EQ(unit_bytes(*source_of(data).mapped(), 0), 0u);
  EXPECT_DOUBLE_EQ(unit_decodes(source_of(data), plan(data, mebibytes(64))), 1);
}

TEST_F(UnitDecodes, BytesOfAUnit) {
  testing::Hdf5Writer(directory_.path("c.h5")).write("x", {.shape = {65536, 8}, .chunk = {16384, 8}});
  const Dataset data = windows(open(directory_.path("c.h5")), {.length = 64});
  EXPECT_EQ(unit_bytes(*source_of(data).mapped(), 0), 16384u * 8 * 4);
  EXPECT_EQ(unit_bytes(*source_of(patches_of({.shape = {8, 8, 8}, .samples_per_epoch = 2})).mapped(), 0), 16384u);
}

}  // namespace
}  // namespace headrace
