// VirtualAssembly: rows of a virtual dataset are put together of pieces of its sources.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/memory/page_buffer.h"
#include "format/hdf5/arrays/array_base.h"
#include "format/hdf5/virtual/virtual_mapping.h"

namespace headrace::hdf5 {

/// One call of VirtualArray::decode(). Threads: one.
class VirtualAssembly {
 public:
  /// What it has to know of the array.
  struct Of {
    std::span<const PreparedSource> sources;
    std::uint64_t record_bytes = 0;  ///< An element of the virtual dataset.
    std::uint64_t filter_bytes = 0;  ///< What any source's filters take of ping, and of pong.
  };
  /// Assemble rows into scratch.out. The sources' filters have the first part of ping and pong; stored bytes lie behind
  /// it in ping, decoded and converted ones in pong.
  VirtualAssembly(const Of& array, RowRange rows, const DecodeScratch& scratch)
      : array_(array), rows_(rows), target_(scratch.out), ping_(scratch.ping), pong_(scratch.pong) {}

  /// Put there what a mapping says. Blocks: until the source's bytes are there. Errors: the source's, which name its
  /// file, dataset and chunk; kFileChanged.
  Status read(const PreparedMapping& m);

 private:
  struct Ranks {
    std::uint64_t begin, end;
  };
  struct MappedPart {
    const PreparedMapping& m;
    const PreparedSource& source;
    const SelectionPart &into, &from;
  };
  struct Held {  // the piece that lies decoded in the scratch
    const PreparedSource* source = nullptr;
    Piece piece;
    DecodedPiece decoded;
  };
  struct TargetRun {
    std::uint64_t offset_units, run;
  };

  /// Read the ranks of `p.from` that are among `ranks`, some of the source's rows at a time.
  Status read_part(const MappedPart& p, Ranks ranks);
  /// Return where the source's rows end that are read together with the one at `position`.
  static std::uint64_t end_of_batch(const PreparedSource& source, const AxisSelection& rows, std::uint64_t position);
  /// \param at  Positions along the first axis. \param local  Ranks within p.from that are wanted.
  Status read_piece(const MappedPart& p, const Piece& piece, Ranks at, Ranks local);
  /// Decode a piece whose rows all go to neighbouring rows of the target, without a copy where that can be.
  Status decode_straight(const MappedPart& p, const Piece& piece, std::uint64_t row);
  Result<DecodedPiece> decode(const PreparedSource& source, const Piece& piece);
  Result<DecodedPiece> convert(const PreparedSource& source, const Piece& piece, const DecodedPiece& decoded);
  /// \param stored_to, out_to  Where the stored and the decoded bytes may go; empty: scratch.
  Result<DecodedPiece> read_and_decode(const PreparedSource& source, const Piece& piece, std::span<std::byte> stored_to,
                                       std::span<std::byte> out_to);
  /// Copy what lies in a piece to where it belongs, run by run. \param positions  Along each axis of p.from.
  void copy(const MappedPart& p, const Piece& piece, const DecodedPiece& decoded, const ArrayBase::RowBox& box,
            const std::vector<Ranks>& positions, Ranks local);
  /// Copy positions [begin, end) along the innermost axis of the source, whose index `start` lies at `row`.
  void copy_run(const MappedPart& p, const std::byte* row, std::uint64_t start, std::uint64_t step_bytes,
                std::uint64_t begin, std::uint64_t end, std::uint64_t base);
  /// Return where the element of a rank within p.into lies in the target, and how many follow it there.
  [[nodiscard]] TargetRun place(const MappedPart& p, std::uint64_t rank) const;

  const Of array_;
  const RowRange rows_;
  const std::span<std::byte> target_, ping_, pong_;
  std::vector<Piece> pieces_;
  Held held_;
  PageBuffer spare_;
};

}  // namespace headrace::hdf5
