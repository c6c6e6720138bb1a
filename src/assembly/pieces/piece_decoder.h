// PieceDecoder: one thread's way from stored bytes to decoded rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assembly/block_layout.h"
#include "assembly/pieces/decode_counters.h"
#include "assembly/pieces/piece_planner.h"
#include "assembly/pieces/side_chunks.h"
#include "assembly/source.h"
#include "assembly/window/copy_digest.h"
#include "base/memory/page_buffer.h"
#include "storage/read_batch.h"

namespace headrace {

/// Threads: one at a time. Blocks: read() waits for the disk.
class PieceDecoder {
 public:
  PieceDecoder(const Source& source, const BlockLayout& layout, DecodeCounters& counters);

  /// Allocate scratch. Errors: kOutOfBudget.
  Status prepare();
  /// Give the scratch back.
  void release();

  /// Return how many of `tasks`, from the first on, are read together: some MiB of stored bytes.
  static std::size_t read_together(std::span<const PieceTask> tasks);
  /// Read the stored bytes of `tasks`, pieces of one file. Errors: of the file, which also must not have changed.
  Status read(std::uint32_t file, std::span<const PieceTask> tasks);
  /// Decode the i-th of the tasks that were read last. \param out  Where to; empty: scratch, until the next decode().
  /// \return Its rows, and which they are.
  Result<RowsAt> decode(std::uint32_t file, const PieceTask& task, std::size_t i, std::span<std::byte> out);
  /// Read and decode one piece into memory of its own.
  Result<DecodedPart> load(std::uint32_t file, std::size_t array, const Piece& piece);

  /// Return the number among all rows of the data set of the first row of a file.
  [[nodiscard]] std::uint64_t first_row_of(std::uint32_t file) const { return first_row_of_file_[file]; }
  /// Return the decoded bytes since the last call.
  std::uint64_t take_decoded_bytes();

  /// Return what is allocated now, as a budget counts it.
  [[nodiscard]] std::uint64_t scratch_bytes() const {
    return out_.charged_bytes() + ping_.charged_bytes() + pong_.charged_bytes();
  }
  [[nodiscard]] std::uint64_t read_buffer_bytes() const { return read_buffer_.charged_bytes(); }

  struct Need {
    std::uint64_t scratch_bytes = 0, read_buffer_bytes = 0;
  };
  static Need need(const Source& source, const BlockLayout& layout);

 private:
  Status reserve_read_buffer(std::uint64_t bytes);
  /// Have scratch for a page, which may have more rows than the first one of its column, by which scratch was planned.
  Status reserve_page(const ArrayReader& reader, const Piece& piece);

  const Source& source_;
  const BlockLayout& layout_;
  DecodeCounters& counters_;
  std::vector<std::uint64_t> first_row_of_file_;
  PageBuffer out_, ping_, pong_, read_buffer_;
  ReadBatch batch_;
  std::vector<FileRange> ranges_;
  std::uint64_t decoded_bytes_ = 0;
};

}  // namespace headrace
