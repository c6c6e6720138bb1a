// Reading rows of arrays with many threads, piece by piece, each piece decoded once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/threads/parallel.h"
#include "format/format_reader.h"

namespace headrace {

/// Some rows of an array.
struct RowSource {
  const ArrayReader* reader = nullptr;
  RowRange rows;
  std::size_t number = 0;  ///< The caller's own.
};

/// A decoded piece. `rows` are those of the piece that were asked for.
struct ScannedPiece {
  const RowSource& source;
  const Piece& piece;
  RowRange rows;
  DecodedPiece decoded;

  /// Return the first byte of a row in the piece.
  [[nodiscard]] const std::byte* row(std::uint64_t number) const {
    return decoded.data + (number - piece.rows.first) * decoded.row_stride_bytes;
  }
};

/// Called with each piece, by any thread, several at once.
using VisitPiece = std::function<Status(const ScannedPiece&)>;
/// Called now and then by the calling thread with the bytes decoded so far; false stops.
using ScanTick = std::function<bool(std::uint64_t decoded_bytes)>;

/// Return the bytes that a thread needs to read pieces of an array with.
std::uint64_t scan_bytes(const ArrayReader& reader);

/// Decode all pieces that hold the rows of `sources` and hand each to `visit`. Where rows are addressable one by one,
/// a piece has some 4 MiB. Blocks until done. Errors: of reading and decoding, located; those of `visit`; kCancelled.
Status scan_rows(std::span<const RowSource> sources, std::uint32_t threads, const VisitPiece& visit,
                 const ScanTick& tick);

}  // namespace headrace
