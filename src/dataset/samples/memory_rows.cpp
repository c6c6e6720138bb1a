#include "dataset/samples/memory_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "base/memory/page_buffer.h"
#include "dataset/dataset_contents.h"

namespace headrace {
namespace {

constexpr std::uint64_t kReadAtOnceBytes = 8 << 20;

/// Rows that are there already: pieces have nothing to read, and decoding is a pointer.
class MemoryArray final : public ArrayReader {
 public:
  MemoryArray(ArrayInfo info, PageBuffer rows)
      : info_(std::move(info)),
        row_bytes_(static_cast<std::size_t>(info_.row_record_bytes())),
        rows_(std::move(rows)) {}

  [[nodiscard]] const ArrayInfo& info() const override { return info_; }
  [[nodiscard]] std::uint32_t pieces_across() const override { return 1; }
  [[nodiscard]] std::string piece_name(const Piece&) const override { return {}; }
  [[nodiscard]] ScratchNeed scratch_need(std::uint64_t) const override { return {}; }
  [[nodiscard]] RowGeometry geometry(std::uint32_t, std::size_t) const override {
    RowGeometry whole;
    whole.run_bytes = row_bytes_;
    return whole;
  }
  Status locate(RowRange rows, std::vector<Piece>& out) const override {
    if (rows.first > info_.rows() || rows.count > info_.rows() - rows.first)
      return Error(ErrorCode::kInvalidArgument,
                   fmt::format("{} rows from {} on of an array of {}", rows.count, rows.first, info_.rows()));
    if (rows.count > 0) out.push_back({rows.first, rows, {}, rows.count * row_bytes_});
    return {};
  }
  Result<DecodedPiece> decode(const Piece& piece, std::span<const std::byte>, const DecodeScratch&) const override {
    return DecodedPiece{rows_.data() + piece.rows.first * row_bytes_, row_bytes_};
  }

 private:
  const ArrayInfo info_;
  const std::size_t row_bytes_;
  const PageBuffer rows_;
};

ArrayInfo info_of(const StoredColumn& column, std::uint64_t rows) {
  ArrayInfo info;
  info.path = column.path;
  info.shape = column.shape;
  info.shape.insert(info.shape.begin(), rows);
  info.record_bytes = column.dtype.itemsize;
  info.columns = {{"", column.dtype, {}, 0}};
  info.stored_bytes = 0;
  return info;
}

}  // namespace

std::shared_ptr<const Source> rows_in_memory(const Dataset& data, std::span<const std::uint64_t> rows,
                                             const std::function<bool()>& go_on) {
  const Source& source = impl_of(data)->rows_for("rows in memory");
  std::vector<PageBuffer> columns;
  for (const StoredColumn& column : *source.columns)
    columns.push_back(PageBuffer::allocate(*MemoryBudget::process(), MemoryTag::kIndex,
                                           std::max<std::uint64_t>(rows.size() * column.row_bytes(), 1))
                          .value());
  // Read in the order of the files, and put each row where it belongs.
  std::vector<std::uint64_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  if (!std::ranges::is_sorted(rows)) std::ranges::sort(order, {}, [&](std::uint64_t place) { return rows[place]; });
  std::uint64_t row_bytes = 1;
  for (const StoredColumn& column : *source.columns) row_bytes += column.row_bytes();
  const std::uint64_t at_once = std::max<std::uint64_t>(kReadAtOnceBytes / row_bytes, 1);
  for (std::size_t next = 0; next < order.size();) {
    const std::uint64_t first = rows[order[next]];
    const std::uint64_t count = std::min(at_once, data.size() - first);
    const Batch some = data.slice(first, count, go_on);
    for (; next < order.size() && rows[order[next]] < first + count; ++next)
      for (std::size_t c = 0; c < columns.size(); ++c) {
        const std::uint64_t bytes = (*source.columns)[c].row_bytes();
        std::memcpy(columns[c].data() + order[next] * bytes, some.array(c).data() + (rows[order[next]] - first) * bytes,
                    bytes);
      }
  }
  auto made = std::make_shared<Source>();
  SourceFile file{source.files[0].path, rows.size(), source.files[0].fingerprint, {}};
  for (std::size_t c = 0; c < columns.size(); ++c) {
    made->places.push_back({static_cast<std::uint32_t>(c), 0});
    file.arrays.push_back(
        std::make_shared<MemoryArray>(info_of((*source.columns)[c], rows.size()), std::move(columns[c])));
  }
  made->files.push_back(std::move(file));
  made->columns = source.columns;
  made->fields = source.fields;
  made->notes = source.notes;
  return made;
}

}  // namespace headrace
