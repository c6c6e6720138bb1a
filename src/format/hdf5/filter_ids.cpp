#include "format/hdf5/filter_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace headrace::hdf5 {
namespace {

struct Name {
  std::uint32_t id;
  std::string_view name;
};

// Source: HDF5's own filters (H5Zpublic.h) and The HDF Group's list of registered filter plugins.
// clang-format off
constexpr auto kNames = std::to_array<Name>({
    {1, "deflate"},       {2, "shuffle"},        {3, "fletcher32"},
    {4, "szip"},          {5, "nbit"},           {6, "scaleoffset"},
    {305, "LZO"},         {307, "bzip2"},        {32000, "lzf"},
    {32001, "blosc"},     {32002, "MAFISC"},     {32004, "lz4"},
    {32008, "bitshuffle"}, {32015, "zstd"},
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

}  // namespace

std::string_view filter_name(std::uint32_t id) {
  const auto found = std::ranges::find(kNames, id, &Name::id);
  return found == kNames.end() ? std::string_view{} : found->name;
}

std::uint32_t filter_id(std::string_view name) {
  const auto found = std::ranges::find(kNames, name, &Name::name);
  return found == kNames.end() ? 0 : found->id;
}

FilterSpec codec_of(const StoredFilter& filter) {
  return {std::string(filter_name(filter.id)), filter.client_values};
}

std::vector<FilterSpec> codecs_of(const std::vector<StoredFilter>& filters) {
  std::vector<FilterSpec> codecs;
  for (const StoredFilter& filter : filters) codecs.push_back(codec_of(filter));
  return codecs;
}

std::string decodable_filters() {
  std::string text;
  for (const Name& filter : kNames)
    if (codec_known(filter.name)) text += (text.empty() ? "" : " ") + std::string(filter.name);
  return text;
}

std::string filter_text(const StoredFilter& filter) {
  const std::string_view known = filter_name(filter.id);
  const std::string name = known.empty() ? filter.name : std::string(known);
  return name.empty() ? fmt::format("filter {}", filter.id) : fmt::format("filter {} ({})", filter.id, name);
}

}  // namespace headrace::hdf5
