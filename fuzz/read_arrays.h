// What every fuzz target of a format does with a file that opened: reads all of its arrays that are small.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "format/format_reader.h"

namespace headrace::fuzz {

inline constexpr std::uint64_t kSmallBytes = 1 << 22, kRows = 1000, kPieces = 64;

/// Locate and decode some rows, in buffers of exactly the size that the reader asks for.
inline void read_rows(const ArrayReader& array, RowRange rows) {
  std::vector<Piece> pieces;
  if (rows.count == 0 || array.pieces_across() > kPieces || !array.locate(rows, pieces).ok()) return;
  const auto buffer = [](std::uint64_t bytes) { return std::make_unique<std::byte[]>(bytes); };
  for (const Piece& piece : pieces) {
    const ScratchNeed need = array.scratch_need(piece.rows.count);
    if (std::max({need.out_bytes, need.filter_bytes, piece.stored.range.size}) > kSmallBytes) return;
    const auto out = buffer(need.out_bytes), ping = buffer(need.filter_bytes), pong = buffer(need.filter_bytes);
    const ByteRange range = piece.stored.range;
    const auto stored = buffer(range.size);
    if (range.size > 0 && !piece.stored.file->read_at(range.offset, {stored.get(), range.size}).ok()) continue;
    (void)array.decode(piece, {stored.get(), range.size},
                       {{out.get(), need.out_bytes}, {ping.get(), need.filter_bytes}, {pong.get(), need.filter_bytes}});
  }
}

/// Read up to kRows rows of each array.
inline void read_arrays(const Result<std::shared_ptr<FormatReader>>& file) {
  if (!file.ok()) return;
  for (const ArrayInfo& info : (*file)->arrays()) {
    const auto array = (*file)->open_array(info.path);
    if (array.ok()) read_rows(**array, {0, std::min((*array)->info().rows(), kRows)});
  }
}

}  // namespace headrace::fuzz
