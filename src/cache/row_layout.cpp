#include "cache/row_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

namespace headrace {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62;

Error bad(std::string what) {
  return Error(ErrorCode::kInvalidArgument, std::move(what)).with_stage("cache");
}

}  // namespace

Status check_row_layout(const RowLayout& layout) {
  if (layout.fields.empty()) return bad("a store of rows holds one field at least");
  if (layout.block_starts.empty() || layout.block_starts.front() != 0) return bad("the first block starts at row 0");
  for (std::size_t i = 1; i < layout.block_starts.size(); ++i)
    if (layout.block_starts[i] <= layout.block_starts[i - 1])
      return bad(fmt::format("block {} ends at row {}, before it starts at row {}", i - 1, layout.block_starts[i],
                             layout.block_starts[i - 1]));
  std::set<std::string> names;
  std::uint64_t total = 0;
  for (const StoredColumn& field : layout.fields) {
    if (!names.insert(field.name).second) return bad("two fields have this name").with_field(field.name);
    if (field.dtype.itemsize == 0) return bad("its elements have no bytes").with_field(field.name);
    std::uint64_t bytes = field.dtype.itemsize;
    bool fits = true;
    for (const std::uint64_t extent : field.shape) fits = fits && !__builtin_mul_overflow(bytes, extent, &bytes);
    fits = fits && !__builtin_mul_overflow(bytes, layout.rows(), &bytes);
    if (!fits || __builtin_add_overflow(total, bytes, &total) || total > kMostBytes)
      return bad(fmt::format("{} rows of it are more bytes than a machine has", layout.rows())).with_field(field.name);
  }
  return {};
}

ByteRange block_bytes(const RowLayout& layout, std::size_t field, std::uint64_t block) {
  const std::uint64_t row_bytes = layout.fields[field].row_bytes(), first = layout.block_starts[block];
  return {first * row_bytes, (layout.block_starts[block + 1] - first) * row_bytes};
}

std::string layout_text(const RowLayout& layout) {
  std::string text;
  for (const StoredColumn& field : layout.fields)
    text += fmt::format("field {}:{} {}:{} {} {}\n", field.name.size(), field.name, field.path.size(), field.path,
                        field.dtype.numpy_typestr(), fmt::join(field.shape, ","));
  return text + fmt::format("blocks {}\n", fmt::join(layout.block_starts, ","));
}

std::string rows_text(const RowLayout& layout, std::uint64_t block) {
  return fmt::format("rows [{}, {})", layout.block_starts[block], layout.block_starts[block + 1]);
}

}  // namespace headrace
