// The codecs of Zarr, by the names that numcodecs and Zarr v3 give them.
#include <fmt/format.h>

#include <array>

#include "format/zarr/array_metadata.h"

namespace headrace::zarr {
namespace {

/// A setting that is only shown, or 0.
std::uint32_t setting(const Json& settings, const char* key) {
  const Json& value = member(settings, key);
  if (!value.is_number_integer()) return 0;
  const auto number = value.get<std::int64_t>();
  return number < 0 || number > 1'000'000 ? 0 : static_cast<std::uint32_t>(number);
}

std::vector<std::uint32_t> level(const Json& settings) {
  if (!member(settings, "level").is_number_integer()) return {};
  return {setting(settings, "level")};
}

/// In the order of HDF5's Blosc filter: type size, chunk bytes, level, shuffle and compressor are its third to seventh.
FilterSpec blosc_filter(const Json& settings) {
  constexpr std::array<std::string_view, 6> kCompressors{"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"};
  const std::string name = text_of(settings, "cname").value_or("");
  std::uint32_t compressor = 6;  // one that is not shown
  for (std::uint32_t i = 0; i < kCompressors.size(); ++i)
    if (kCompressors[i] == name) compressor = i;
  const std::string shuffled = text_of(settings, "shuffle").value_or("");  // v3's words for v2's numbers
  const std::uint32_t shuffle = shuffled == "shuffle" ? 1 : shuffled == "bitshuffle" ? 2 : setting(settings, "shuffle");
  return {"blosc", {0, 0, setting(settings, "typesize"), 0, setting(settings, "clevel"), shuffle, compressor}};
}

}  // namespace

Result<FilterSpec> filter_of(const std::string& name, const Json& settings, const npy::NpyType& type) {
  constexpr std::string_view kNumcodecs = "numcodecs.";
  if (name.starts_with(kNumcodecs)) return filter_of(name.substr(kNumcodecs.size()), settings, type);
  if (name == "zlib") return FilterSpec{"deflate", level(settings)};
  if (name == "gzip") return FilterSpec{"gzip", level(settings)};
  if (name == "zstd") return FilterSpec{"zstd", level(settings)};
  if (name == "bz2") return FilterSpec{"bzip2", level(settings)};
  if (name == "lz4") return FilterSpec{"lz4_sized", {}};
  if (name == "crc32c") return FilterSpec{"crc32c", {}};
  if (name == "blosc") return blosc_filter(settings);
  if (name == "shuffle") {
    const std::uint32_t bytes = setting(settings, "elementsize");
    return FilterSpec{"shuffle", {bytes != 0 ? bytes : static_cast<std::uint32_t>(type.record_bytes)}};
  }
  return Error(ErrorCode::kUnsupported, fmt::format("there is no decoder for the codec '{}'", name))
      .with_hint("It reads zlib, gzip, zstd, lz4, bz2, blosc, shuffle and crc32c.");
}

}  // namespace headrace::zarr
