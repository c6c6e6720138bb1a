// Patches of volumes through a loader, as C++ users make them.
#include <headrace/volumes.h>

#include <gtest/gtest.h>
#include <headrace/loader.h>
#include <headrace/split.h>

#include <set>
#include <string>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "format/testing/hdf5_files.h"

namespace headrace {
namespace {

using Start = std::vector<std::int64_t>;  // volume, z, y, x
constexpr std::uint64_t kShapes[2][3] = {{12, 9, 14}, {7, 16, 10}};
const std::vector<std::uint64_t> kPatch{5, 4, 6};

/// Two volumes of int32, whose values count their elements: in chunks with and without a filter, and in one run.
class Patches : public ::testing::Test {
 protected:
  Patches() {
    for (int v = 0; v < 2; ++v) {
      const testing::Hdf5Writer file(folder_.path("v_" + std::to_string(v) + ".h5"));
      const std::vector<hsize_t> shape(kShapes[v], kShapes[v] + 3);
      file.write("gzip", {.shape = shape, .chunk = {4, 4, 4}, .gzip = 1});
      file.write("chunks", {.shape = shape, .chunk = {3, 7, 5}});
      file.write("whole", {.shape = shape});
    }
  }
  [[nodiscard]] Volumes volumes() const {
    return open_volumes({folder_.path("v_*.h5")}, {.fields = {{"gzip", ""}, {"chunks", ""}, {"whole", ""}}});
  }

  const TemporaryFolder folder_;
};

/// Compare a batch with what its provenance names. \return Where each patch begins.
std::vector<Start> places(const Batch& batch, std::int32_t fill = -1) {
  std::vector<Start> found;
  const auto volume = batch["_volume"].as<std::int64_t>(), start = batch["_start"].as<std::int64_t>();
  const std::uint64_t elements = kPatch[0] * kPatch[1] * kPatch[2];
  for (std::uint64_t i = 0; i < batch.rows(); ++i) {
    found.push_back({volume[i], start[3 * i], start[3 * i + 1], start[3 * i + 2]});
    const std::uint64_t* const shape = kShapes[volume[i]];
    for (const char* const name : {"gzip", "chunks", "whole"}) {
      const auto values = batch[name].as<std::int32_t>();
      for (std::uint64_t e = 0; e < elements; ++e) {
        const std::uint64_t z = static_cast<std::uint64_t>(start[3 * i]) + e / (kPatch[1] * kPatch[2]);
        const std::uint64_t y = static_cast<std::uint64_t>(start[3 * i + 1]) + e / kPatch[2] % kPatch[1];
        const std::uint64_t x = static_cast<std::uint64_t>(start[3 * i + 2]) + e % kPatch[2];
        const bool inside = z < shape[0] && y < shape[1] && x < shape[2];
        const auto want = inside ? static_cast<std::int32_t>((z * shape[1] + y) * shape[2] + x) : fill;
        EXPECT_EQ(values[i * elements + e], want) << name << ' ' << z << ' ' << y << ' ' << x;
      }
    }
  }
  return found;
}

std::vector<Start> epoch_of(Loader& loader, std::int32_t fill = -1) {
  std::vector<Start> all;
  for (const Batch& batch : loader)
    for (Start& start : places(batch, fill)) all.push_back(std::move(start));
  return all;
}

TEST_F(Patches, DrawnOnesAreTheSameWhateverTheThreadsAndTheMemory) {
  const Dataset data = patches(volumes(), {.shape = kPatch, .samples_per_epoch = 50});
  EXPECT_EQ(data.size(), 50u);
  EXPECT_EQ(data.fields()[1].dims.text(), "(5, 4, 6)");
  std::vector<std::vector<Start>> epochs;
  for (const std::uint32_t threads : {1u, 4u})
    for (const std::uint64_t memory : {4u << 20, 64u << 20}) {
      Loader loader(
          data,
          {.batch = Samples{3}, .order = BlockShuffle{}, .provenance = true, .memory = memory, .threads = threads});
      for (int epoch = 0; epoch < 2; ++epoch) epochs.push_back(epoch_of(loader));
    }
  for (std::size_t i = 2; i < epochs.size(); ++i) EXPECT_EQ(epochs[i], epochs[i % 2]);
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_EQ(epochs[0].size(), 50u);
}

TEST_F(Patches, AGridComesOnceAnEpoch) {
  for (const PatchEdge edge : {PatchEdge::kShift, PatchEdge::kDrop, PatchEdge::kFill}) {
    PatchOptions options{.shape = kPatch, .stride = {4, 5, 6}, .edge = edge};
    if (edge == PatchEdge::kFill) options.fill = -7;
    const Dataset data = patches(volumes(), options);
    for (const std::uint32_t threads : {1u, 3u}) {
      Loader loader(data, {.batch = Samples{4}, .order = BlockShuffle{}, .provenance = true, .threads = threads});
      for (int epoch = 0; epoch < 2; ++epoch) {
        const std::vector<Start> all = epoch_of(loader, -7);
        EXPECT_EQ(all.size(), data.size());
        EXPECT_EQ(std::set(all.begin(), all.end()).size(), all.size());
      }
    }
    if (edge != PatchEdge::kFill) continue;
    Loader loader(data, {.batch = Samples{64}, .provenance = true});
    for (const Batch& batch : loader) {
      const auto valid = batch["chunks.valid"].as<bool>();
      const auto values = batch["chunks"].as<std::int32_t>();
      for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(valid[i], values[i] != -7);
    }
  }
}

TEST_F(Patches, AStateGoesOnAtEveryStep) {
  const Dataset data = patches(volumes(), {.shape = kPatch, .samples_per_epoch = 20});
  const LoaderOptions options{.batch = Samples{3}, .order = BlockShuffle{}, .provenance = true, .threads = 2};
  Loader whole(data, options);
  std::vector<std::vector<Start>> batches;
  std::vector<std::string> states;
  for (const Batch& batch : whole) {
    batches.push_back(places(batch));
    states.push_back(whole.state());
  }
  for (std::size_t step = 0; step + 1 < batches.size(); ++step) {
    Loader rest(data, options);
    rest.load_state(states[step]);
    std::size_t at = step + 1;
    for (const Batch& batch : rest) ASSERT_EQ(places(batch), batches[at++]);
    EXPECT_EQ(at, batches.size());
  }
}

TEST_F(Patches, ARecipeOpensThemAgain) {
  const Dataset data = patches(volumes(), {.shape = kPatch, .stride = {5, 4, 6}});
  const std::vector<std::uint64_t> some{1, 3, 4};
  const Dataset again =
      open_recipe(data.select(some).map({{"Cast", {"gzip"}, {{"dtype", std::string("float32")}}}}).recipe());
  ASSERT_EQ(again.size(), 3u);
  const Batch all = data.slice(0, data.size()), chosen = again.slice(0, 3);
  const std::uint64_t elements = kPatch[0] * kPatch[1] * kPatch[2];
  for (std::uint64_t i = 0; i < 3; ++i)
    for (std::uint64_t e = 0; e < elements; ++e)
      ASSERT_EQ(chosen["gzip"].as<float>()[i * elements + e],
                static_cast<float>(all["gzip"].as<std::int32_t>()[some[i] * elements + e]));
}

TEST_F(Patches, DrawnOnesHaveNoNumbers) {
  const Dataset data = patches(volumes(), {.shape = kPatch, .samples_per_epoch = 5});
  EXPECT_THROW((void)data.slice(0, 1), Error);
  EXPECT_THROW((void)data.select(std::vector<std::uint64_t>{1}), Error);
  EXPECT_THROW(split(data, std::vector{0.5, 0.5}), Error);
  EXPECT_THROW(patches(volumes(), {.shape = kPatch}), Error);
  EXPECT_THROW(patches(volumes(), {.shape = {8, 4, 6}, .samples_per_epoch = 5}), Error);
  EXPECT_EQ(patches(volumes(), {.shape = {8, 4, 6}, .samples_per_epoch = 5, .skip_small = true}).notices().size(), 1u);
}

}  // namespace
}  // namespace headrace
