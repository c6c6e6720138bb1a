#include "format/parquet/column_description.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

#include "format/parquet/pages/column_pages.h"

namespace headrace::parquet {
namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// The sum of two numbers that a damaged footer may say.
std::uint64_t sum_of(std::uint64_t a, std::uint64_t b) {
  return b > std::numeric_limits<std::uint64_t>::max() - a ? std::numeric_limits<std::uint64_t>::max() : a + b;
}

}  // namespace

ArrayInfo describe_column(const OpenParquet& opened, const LeafColumn& column) {
  ArrayInfo info;
  info.path = column.path;
  info.list = column.list;
  info.shape = {0};
  if (column.is_row_of_bytes) info.shape.push_back(column.width);
  info.record_bytes = column.dtype.itemsize;
  info.columns = {{"", column.dtype, {}, 0}};
  info.layout = Layout::kChunked;
  if (!column.units.empty()) info.attributes.values["units"] = column.units;
  if (!column.stored_as.empty()) info.attributes.values["stored as"] = column.stored_as;
  info.nullable = true;
  std::vector<std::uint64_t> ends;
  std::uint64_t end = 0;
  std::uint32_t codec = 0;
  bool dictionary = false;
  for (const RowGroup& group : opened.metadata.row_groups) {
    const ColumnChunk& chunk = group.columns[column.index];
    end = sum_of(end, column.is_list() ? chunk.num_values : group.num_rows);
    ends.push_back(end);
    info.stored_bytes += chunk.stored_bytes;
    codec = chunk.codec;
    dictionary = dictionary || (chunk.encodings & (1U << 2 | 1U << 8)) != 0;
  }
  set_rows(info, std::move(ends));
  if (dictionary) info.filters.push_back({"dictionary", ""});
  if (codec != 0) info.filters.push_back({lower(codec_name(codec)), ""});
  std::string damage = damage_of(opened, column);
  const bool is_damaged = !damage.empty();
  if (is_damaged) damage.insert(0, "damaged: ");
  if (std::string refusal = is_damaged ? std::move(damage) : refusal_of(opened, column); !refusal.empty()) {
    info.read_path = ReadPath::kUnsupported;
    info.reason = std::move(refusal);
    info.no_numbers = column.no_numbers && !is_damaged;
  }
  return info;
}

void set_rows(ArrayInfo& info, std::vector<std::uint64_t> ends) {
  info.shape[0] = ends.empty() ? 0 : ends.back();
  info.chunk_shape = info.shape;
  info.chunk_shape[0] = 1;
  std::uint64_t before = 0;
  for (const std::uint64_t end : ends)
    info.chunk_shape[0] = std::max(info.chunk_shape[0], end - std::exchange(before, end));
  info.chunk_ends = std::move(ends);
}

}  // namespace headrace::parquet
