// Every filter that Headrace decodes, one line each.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "codec/codec.h"

// clang-format off
//  The name people know it by, its maker (defined in the filter's own file).
//  From "snappy" to "lz4_hadoop" they are codecs of Parquet's pages, under Parquet's names, and from "crc32c" on Zarr's:
//  no number of an HDF5 filter leads to them.
#define HEADRACE_FILTERS(FILTER)                  \
  FILTER("deflate", make_deflate)              \
  FILTER("shuffle", make_shuffle)              \
  FILTER("fletcher32", make_fletcher32)        \
  FILTER("szip", make_szip)                    \
  FILTER("nbit", make_nbit)                    \
  FILTER("scaleoffset", make_scaleoffset)      \
  FILTER("bzip2", make_bzip2)                \
  FILTER("lzf", make_lzf)                  \
  FILTER("blosc", make_blosc)              \
  FILTER("lz4", make_lz4)                  \
  FILTER("bitshuffle", make_bitshuffle)    \
  FILTER("zstd", make_zstd)                \
  FILTER("snappy", make_snappy)            \
  FILTER("gzip", make_gzip)                \
  FILTER("lz4_raw", make_lz4_raw)          \
  FILTER("lz4_hadoop", make_lz4_hadoop)    \
  FILTER("crc32c", make_crc32c)            \
  FILTER("lz4_sized", make_lz4_sized)
// clang-format on

namespace headrace {

#define HEADRACE_DECLARE(name, maker) Result<std::unique_ptr<Codec>> maker(const FilterSpec&, const ChunkForm&);
HEADRACE_FILTERS(HEADRACE_DECLARE)
#undef HEADRACE_DECLARE

namespace {

struct Registered {
  std::string_view name;
  Result<std::unique_ptr<Codec>> (*maker)(const FilterSpec&, const ChunkForm&);
};

#define HEADRACE_ENTRY(name, maker) Registered{name, maker},
constexpr std::array kDecoders{HEADRACE_FILTERS(HEADRACE_ENTRY)};
#undef HEADRACE_ENTRY

const Registered* find_decoder(std::string_view name) {
  const auto found = std::find_if(kDecoders.begin(), kDecoders.end(), [&](const auto& d) { return d.name == name; });
  return found == kDecoders.end() ? nullptr : &*found;
}

}  // namespace

bool codec_known(std::string_view name) {
  return find_decoder(name) != nullptr;
}

Result<std::unique_ptr<Codec>> make_codec(const FilterSpec& spec, const ChunkForm& form) {
  if (const Registered* decoder = find_decoder(spec.name)) return decoder->maker(spec, form);
  return Error(ErrorCode::kUnsupported, fmt::format("there is no decoder for '{}'", spec.name));
}

}  // namespace headrace
