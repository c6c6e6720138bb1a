#include "format/testing/read_rows.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace headrace::testing_format {
namespace {

constexpr std::size_t kGuardBytes = 64;
constexpr std::byte kGuard{0xA5};

/// A buffer that notices what is written past its end.
class Guarded {
 public:
  explicit Guarded(std::uint64_t size_bytes) : bytes_(size_bytes + kGuardBytes, kGuard) {}
  [[nodiscard]] std::span<std::byte> span() { return {bytes_.data(), bytes_.size() - kGuardBytes}; }
  [[nodiscard]] bool intact() const {
    return std::all_of(bytes_.end() - kGuardBytes, bytes_.end(), [](std::byte b) { return b == kGuard; });
  }

 private:
  std::vector<std::byte> bytes_;
};

void copy_loops(const RowGeometry& geometry, std::size_t loop, std::byte* to, const std::byte* from) {
  if (loop == geometry.loops.size()) {
    if (geometry.run_bytes > 0) std::memcpy(to, from, geometry.run_bytes);
    return;
  }
  const RowGeometry::Loop& l = geometry.loops[loop];
  for (std::size_t i = 0; i < l.count; ++i)
    copy_loops(geometry, loop + 1, to + i * l.dst_stride_bytes, from + i * l.src_stride_bytes);
}

}  // namespace

std::uint64_t row_bytes_of(const ArrayInfo& info, std::size_t column) {
  std::uint64_t bytes = info.columns.at(column).dtype.itemsize;
  for (const std::uint64_t n : info.columns[column].inner_shape) bytes *= n;
  for (std::size_t d = 1; d < info.shape.size(); ++d) bytes *= info.shape[d];
  return bytes;
}

void copy_row(const RowGeometry& geometry, std::byte* to, const std::byte* from) {
  copy_loops(geometry, 0, to + geometry.dst_offset_bytes, from + geometry.src_offset_bytes);
}

Result<std::vector<std::byte>> read_rows(const ArrayReader& array, RowRange rows, std::size_t column) {
  const std::uint64_t row_bytes = row_bytes_of(array.info(), column);
  std::vector<std::byte> dense(rows.count * row_bytes, std::byte{0xAB});
  std::vector<Piece> pieces;
  HEADRACE_TRY(array.locate(rows, pieces));
  for (const Piece& piece : pieces) {
    const ScratchNeed need = array.scratch_need(piece.rows.count);
    Guarded out(need.out_bytes), ping(need.filter_bytes), pong(need.filter_bytes);
    std::vector<std::byte> stored(piece.stored.range.size);
    if (!stored.empty()) HEADRACE_TRY(piece.stored.file->read_at(piece.stored.range.offset, stored));
    HEADRACE_ASSIGN(const DecodedPiece decoded, array.decode(piece, stored, {out.span(), ping.span(), pong.span()}));
    if (!out.intact() || !ping.intact() || !pong.intact())
      return Error(ErrorCode::kInternal, "decode() wrote past the scratch that scratch_need() asked for");
    const RowGeometry geometry = array.geometry(piece.across, column);
    for (std::uint64_t r = std::max(rows.first, piece.rows.first); r < std::min(rows.end(), piece.rows.end()); ++r)
      copy_row(geometry, dense.data() + (r - rows.first) * row_bytes,
               decoded.data + (r - piece.rows.first) * decoded.row_stride_bytes);
  }
  return dense;
}

}  // namespace headrace::testing_format
