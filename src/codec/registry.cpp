// Every filter that Headrace decodes, one line each.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "codec/codec.h"

namespace headrace {

using MakeCodec = Result<std::unique_ptr<Codec>>(const FilterSpec&, const ChunkForm&);

// Each is defined in the filter's own file.
MakeCodec make_deflate, make_shuffle, make_fletcher32, make_szip, make_nbit, make_scaleoffset, make_bzip2, make_lzf,
    make_blosc, make_lz4, make_bitshuffle, make_zstd;
MakeCodec make_snappy, make_gzip, make_lz4_raw, make_lz4_hadoop;
MakeCodec make_crc32c, make_lz4_sized;

namespace {

struct Registered {
  std::string_view name;
  MakeCodec* make;
};

constexpr auto kFilters = std::to_array<Registered>({
    // HDF5's and Zarr's, under the names that people know them by; filter_ids.cpp has HDF5's numbers.
    {"deflate", make_deflate},
    {"shuffle", make_shuffle},
    {"fletcher32", make_fletcher32},
    {"szip", make_szip},
    {"nbit", make_nbit},
    {"scaleoffset", make_scaleoffset},
    {"bzip2", make_bzip2},
    {"lzf", make_lzf},
    {"blosc", make_blosc},
    {"lz4", make_lz4},
    {"bitshuffle", make_bitshuffle},
    {"zstd", make_zstd},
    // For Parquet's pages, under Parquet's names.
    {"snappy", make_snappy},
    {"gzip", make_gzip},
    {"lz4_raw", make_lz4_raw},
    {"lz4_hadoop", make_lz4_hadoop},
    // For Zarr alone.
    {"crc32c", make_crc32c},
    {"lz4_sized", make_lz4_sized},
});

const Registered* find_filter(std::string_view name) {
  const auto found = std::ranges::find(kFilters, name, &Registered::name);
  return found == kFilters.end() ? nullptr : &*found;
}

}  // namespace

bool codec_known(std::string_view name) {
  return find_filter(name) != nullptr;
}

Result<std::unique_ptr<Codec>> make_codec(const FilterSpec& spec, const ChunkForm& form) {
  if (const Registered* filter = find_filter(spec.name)) return filter->make(spec, form);
  return Error(ErrorCode::kUnsupported, fmt::format("there is no decoder for '{}'", spec.name));
}

}  // namespace headrace
