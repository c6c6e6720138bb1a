// The ".zarray" document of Zarr v2. Source: the Zarr storage specification, version 2.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <string_view>

#include "format/zarr/array_metadata.h"

namespace headrace::zarr {
namespace {

/// Shuffled bytes are whole elements, as numcodecs has it.
Status check_shuffle(const ArrayMetadata& made) {
  if (made.filters.empty() || made.filters[0].name != "shuffle") return {};
  std::uint64_t bytes = made.type.record_bytes;  // set_shapes() has seen that it does not overflow
  for (const std::uint64_t extent : made.chunk_shape) bytes *= extent;
  const std::uint64_t width = made.filters[0].parameters[0];
  if (bytes % width == 0) return {};
  return Error(ErrorCode::kCorruptData,
               fmt::format("elements of {} bytes are shuffled, and a chunk has {} bytes", width, bytes));
}

/// Text has text as its fill value: a number beside it is that of another type.
Status check_text_fill(const Json& document, Error refusal) {
  const Json& type = member(document, "dtype");
  const bool is_text = type.is_string() && type.get_ref<const std::string&>().find('U') != std::string::npos;
  if (is_text && member(document, "fill_value").is_number())
    return Error(ErrorCode::kCorruptData, fmt::format("the type is {}, and the fill value {}", shown(type),
                                                      shown(member(document, "fill_value"))));
  return refusal;
}

/// "filters" come first when writing, "compressor" last.
Status set_filters(const Json& document, ArrayMetadata& made) {
  const auto add = [&](const Json& codec) -> Status {
    const auto id = text_of(codec, "id");
    if (!id) return Error(ErrorCode::kCorruptData, fmt::format("a codec without an id: {}", shown(codec)));
    HEADRACE_ASSIGN(FilterSpec filter, filter_of(*id, codec, made.type));
    made.filters.push_back(std::move(filter));
    return {};
  };
  const Json& filters = member(document, "filters");
  if (!filters.is_null() && !filters.is_array())
    return Error(ErrorCode::kCorruptData, fmt::format("filters are {}", shown(filters)));
  for (const Json& filter : filters) HEADRACE_TRY(add(filter));
  HEADRACE_TRY(check_shuffle(made));
  const Json& compressor = member(document, "compressor");
  return compressor.is_null() ? Status() : add(compressor);
}

}  // namespace

Result<ArrayMetadata> parse_v2_array(const Json& document) {
  ArrayMetadata made;
  made.version = 2;
  constexpr auto kKnown = std::to_array<std::string_view>({"zarr_format", "shape", "chunks", "dtype", "compressor",
                                                           "fill_value", "order", "filters", "dimension_separator"});
  HEADRACE_TRY(check_keys(document, kKnown));  // others are passed over, as the specification says
  if (const Json& format = member(document, "zarr_format"); !format.is_number() || format != 2)
    return Error(ErrorCode::kUnsupported, fmt::format("zarr_format {} in a .zarray, 2 is expected", shown(format)));
  for (const char* key : {"shape", "chunks", "dtype", "compressor", "fill_value", "order"})
    if (!document.contains(key)) return Error(ErrorCode::kCorruptData, fmt::format("the metadata has no '{}'", key));
  const Json& type = member(document, "dtype");
  if (Status known = set_type(type.is_string() ? type.get<std::string>() : std::string(), type, made); !known.ok())
    return std::move(check_text_fill(document, std::move(known.error())).error());
  HEADRACE_TRY(set_shapes(member(document, "shape"), member(document, "chunks"), made));
  HEADRACE_TRY(set_filters(document, made));
  HEADRACE_ASSIGN(made.fill, fill_of(member(document, "fill_value"), made.type));
  const Json& order = member(document, "order");
  if (order != "C" && order != "F")
    return Error(ErrorCode::kCorruptData, fmt::format("the order is {}, \"C\" or \"F\" is expected", shown(order)));
  if (order == "F" && made.shape.size() > 1) {
    made.order.resize(made.shape.size());
    std::iota(made.order.rbegin(), made.order.rend(), std::size_t{0});
  }
  if (const Json& separator = member(document, "dimension_separator"); !separator.is_null()) {
    if (separator != "." && separator != "/")
      return Error(ErrorCode::kCorruptData, fmt::format("the dimension_separator is {}", shown(separator)));
    made.keys.separator = separator == "/" ? '/' : '.';
  }
  return made;
}

}  // namespace headrace::zarr
