#include "tools/inspect/voxel_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <headrace/loader.h>
#include <headrace/volumes.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "base/text/number_text.h"
#include "tools/png_picture.h"
#include "transform/numbers.h"

namespace headrace {
namespace {

constexpr std::size_t kMostValues = 1 << 20;
constexpr std::size_t kListed = 16;            // values of a sentence
constexpr std::uint64_t kTileBytes = 1 << 20;  // read at once where there are no chunks
constexpr std::uint64_t kMostPixels = 2048;    // each way
constexpr const char* kVoxels = "voxels";      // the name of the array in a batch

Volumes volume_of(const std::vector<std::string>& files, const std::string& array) {
  return open_volumes(files, {.fields = {{kVoxels, array}}});
}

/// Tiles that decode each chunk once: its shape, or rows along the last axes.
std::vector<std::uint64_t> tile_of(const Volumes& volumes) {
  const std::vector<FieldStorage> stored = volumes.storage();
  if (!stored[0].chunk_shape.empty()) return stored[0].chunk_shape;
  std::vector<std::uint64_t> tile = volumes.shapes()[0];
  std::uint64_t bytes = volumes.arrays()[0].dtype.itemsize;
  for (std::size_t a = tile.size(); a-- > 0;) {
    tile[a] = std::clamp<std::uint64_t>(tile[a], 1, std::max<std::uint64_t>(kTileBytes / bytes, 1));
    bytes *= tile[a];
  }
  return tile;
}

/// Counts by the bits of an element, of at most 8 bytes.
using Counts = std::unordered_map<std::uint64_t, std::uint64_t>;

/// Elements that follow each other tend to be equal.
template <class Word>
void count(std::span<const bool> valid, const std::byte* from, Counts& counts) {
  std::uint64_t run = 0;
  Word last{};
  for (std::size_t i = 0; i < valid.size(); ++i) {
    if (!valid[i]) continue;
    Word element;
    std::memcpy(&element, from + i * sizeof(Word), sizeof(Word));
    if (element != last && run > 0) {
      counts[last] += run;
      run = 0;
    }
    last = element;
    ++run;
  }
  if (run > 0) counts[last] += run;
}

std::string value_text(const DType& dtype, std::uint64_t bits) {
  std::byte element[sizeof bits];
  std::memcpy(element, &bits, sizeof bits);
  if (dtype.kind == DType::Kind::kUInt || dtype.kind == DType::Kind::kBool) return fmt::format("{}", bits);
  if (dtype.kind == DType::Kind::kInt) {
    const std::size_t unused = 64 - 8 * dtype.itemsize;
    return fmt::format("{}", static_cast<std::int64_t>(bits << unused) >> unused);
  }
  double value = 0;
  load_numbers(dtype, element, 1, &value);
  return fmt::format("{:.6g}", value);
}

}  // namespace

std::string VoxelValues::text() const {
  const auto percent = [&](std::uint64_t n) {
    return fmt::format("{:.3g} %",
                       100 * static_cast<double>(n) / static_cast<double>(std::max<std::uint64_t>(voxels, 1)));
  };
  std::vector<std::string> named;
  std::uint64_t rest = voxels;
  for (std::size_t i = 0; i < std::min(shares.size(), kListed); ++i) {
    named.push_back(fmt::format("{}: {}", shares[i].value, percent(shares[i].voxels)));
    rest -= shares[i].voxels;
  }
  std::string out = fmt::format("{}", fmt::join(named, ", "));
  if (shares.size() > kListed)
    out += fmt::format(", {} others: {}", group_digits(shares.size() - kListed), percent(rest));
  return fmt::format("{} of {} voxels", out, group_digits(voxels));
}

Json VoxelValues::json() const {
  Json list = Json::array();
  for (const Share& share : shares) list.push_back({{"value", share.value}, {"voxels", share.voxels}});
  return {{"path", path}, {"voxels", voxels}, {"values", std::move(list)}};
}

VoxelValues count_values(const std::vector<std::string>& files, const std::string& array) {
  const Volumes volumes = volume_of(files, array);
  const std::vector<std::uint64_t> tile = tile_of(volumes);
  const Dataset tiles = patches(volumes, {.shape = tile, .stride = tile, .edge = PatchEdge::kFill});
  Counts counts;
  const DType dtype = volumes.arrays()[0].dtype;
  if (!is_number(dtype))
    throw Error(ErrorCode::kUnsupported, fmt::format("values of '{}', {}, are not counted", array, dtype.name()))
        .with_hint("Name arrays of numbers.");
  Loader loader(tiles, {.batch = Samples{1}, .cache = {CacheChoice::kNone, {}}});
  for (const Batch& batch : loader) {
    const std::span<const bool> valid = batch[std::string(kVoxels) + ".valid"].as<bool>();
    const std::byte* const from = batch[kVoxels].data();
    switch (dtype.itemsize) {
      case 1:
        count<std::uint8_t>(valid, from, counts);
        break;
      case 2:
        count<std::uint16_t>(valid, from, counts);
        break;
      case 4:
        count<std::uint32_t>(valid, from, counts);
        break;
      default:
        count<std::uint64_t>(valid, from, counts);
    }
    if (counts.size() > kMostValues)
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("'{}' has more than {} values", array, group_digits(kMostValues)))
          .with_hint("Name arrays of classes or of labels.");
  }
  VoxelValues out{array, 0, {}};
  for (const auto& [bits, voxels] : counts) {
    out.shares.push_back({value_text(dtype, bits), voxels});
    out.voxels += voxels;
  }
  std::ranges::sort(out.shares, [](const auto& a, const auto& b) {
    return a.voxels != b.voxels ? a.voxels > b.voxels : a.value < b.value;
  });
  return out;
}

std::string slice_picture(const std::string& file, const std::string& array) {
  const Volumes volumes = volume_of({file}, array);
  const std::vector<std::uint64_t>& extents = volumes.shapes()[0];
  std::vector<std::uint64_t> shape(extents.size(), 1), stride(extents.size(), 1);
  for (std::size_t a = extents.size() - std::min<std::size_t>(extents.size(), 2); a < extents.size(); ++a) {
    shape[a] = std::min(extents[a], kMostPixels);
    stride[a] = std::max<std::uint64_t>(extents[a], 1);
  }
  const Dataset slices = patches(volumes, {.shape = shape, .stride = stride, .edge = PatchEdge::kDrop});
  const Batch batch = slices.slice(slices.size() / 2, 1);
  std::vector<double> values(shape.back() * (shape.size() > 1 ? shape[shape.size() - 2] : 1));
  load_numbers(volumes.arrays()[0].dtype, batch[kVoxels].data(), values.size(), values.data());
  double least = INFINITY, most = -INFINITY;
  for (const double value : values)
    if (std::isfinite(value)) least = std::min(least, value), most = std::max(most, value);
  std::vector<std::uint8_t> grey;
  for (const double value : values) {
    const double part = most > least ? (value - least) / (most - least) : 0.5;
    grey.push_back(static_cast<std::uint8_t>(std::lround(255 * (part > 0 ? std::min(part, 1.0) : 0.0))));
  }
  return png_picture(grey, static_cast<std::uint32_t>(shape.back())).value();
}

}  // namespace headrace
