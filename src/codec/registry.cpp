// Every filter that Headrace decodes, one line each, and the names of those it does not.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "codec/codec.h"

// clang-format off
//  HDF5's filter number, the name people know it by, its maker (defined in the filter's own file).
#define HEADRACE_FILTERS(FILTER)                  \
  FILTER(1, "deflate", make_deflate)              \
  FILTER(2, "shuffle", make_shuffle)              \
  FILTER(3, "fletcher32", make_fletcher32)        \
  FILTER(307, "bzip2", make_bzip2)                \
  FILTER(32000, "lzf", make_lzf)                  \
  FILTER(32001, "blosc", make_blosc)              \
  FILTER(32004, "lz4", make_lz4)                  \
  FILTER(32008, "bitshuffle", make_bitshuffle)    \
  FILTER(32015, "zstd", make_zstd)
// clang-format on

namespace headrace {

#define HEADRACE_DECLARE(id, name, maker) Result<std::unique_ptr<Codec>> maker(const FilterSpec&, const ChunkForm&);
HEADRACE_FILTERS(HEADRACE_DECLARE)
#undef HEADRACE_DECLARE

namespace {

struct Registered {
  std::uint32_t id;
  std::string_view name;
  Result<std::unique_ptr<Codec>> (*maker)(const FilterSpec&, const ChunkForm&);
};

#define HEADRACE_ENTRY(id, name, maker) Registered{id, name, maker},
constexpr std::array kDecoders{HEADRACE_FILTERS(HEADRACE_ENTRY)};
#undef HEADRACE_ENTRY

struct Name {
  std::uint32_t id;
  std::string_view name;
};

// Source: HDF5's own filters (H5Zpublic.h) and The HDF Group's list of registered filter plugins.
// clang-format off
constexpr auto kOtherNames = std::to_array<Name>({
    {4, "szip"},          {5, "nbit"},           {6, "scaleoffset"},
    {305, "LZO"},         {32002, "MAFISC"},
    {32003, "Snappy"},    {32005, "APAX"},       {32006, "CBF"},
    {32007, "JPEG-XR"},   {32009, "SPDP"},       {32010, "LPC-Rice"},
    {32011, "CCSDS-123"}, {32012, "JPEG-LS"},    {32013, "ZFP"},
    {32014, "fpzip"},     {32016, "B3D"},        {32017, "SZ"},
    {32018, "FCIDECOMP"}, {32019, "JPEG"},       {32020, "VBZ"},
    {32021, "FAPEC"},     {32022, "BitGroom"},   {32023, "Granular BitRound"},
    {32024, "SZ3"},       {32025, "Delta-Rice"}, {32026, "Blosc2"},
    {32027, "FLAC"},      {32028, "SPERR"},      {32029, "TERSE/PROLIX"},
});
// clang-format on

const Registered* find_decoder(std::uint32_t id) {
  const auto found = std::find_if(kDecoders.begin(), kDecoders.end(), [&](const auto& d) { return d.id == id; });
  return found == kDecoders.end() ? nullptr : &*found;
}

}  // namespace

bool codec_known(std::uint32_t id) {
  return find_decoder(id) != nullptr;
}

std::string_view filter_name(std::uint32_t id) {
  if (const Registered* decoder = find_decoder(id)) return decoder->name;
  const auto found = std::find_if(kOtherNames.begin(), kOtherNames.end(), [&](const auto& n) { return n.id == id; });
  return found == kOtherNames.end() ? std::string_view{} : found->name;
}

Result<std::unique_ptr<Codec>> make_codec(const FilterSpec& spec, const ChunkForm& form) {
  if (const Registered* decoder = find_decoder(spec.id)) return decoder->maker(spec, form);
  std::string_view name = filter_name(spec.id);
  if (name.empty()) name = spec.name;
  return Error(ErrorCode::kUnsupported,
               fmt::format("no decoder for filter {} ({})", spec.id, name.empty() ? "not a registered filter" : name));
}

}  // namespace headrace
