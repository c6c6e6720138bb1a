// BlockServer: serve what is wanted of a block, from where it is kept or from its file, through one Sink.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "assembly/ahead/reads_ahead.h"
#include "assembly/block_layout.h"
#include "assembly/copying/sink.h"
#include "assembly/kept/block_filler.h"
#include "assembly/kept/decoded_cache.h"
#include "assembly/pieces/decode_counters.h"
#include "assembly/pieces/piece_decoder.h"
#include "assembly/pieces/piece_geometries.h"
#include "assembly/pieces/piece_planner.h"
#include "assembly/pieces/resident_arrays.h"
#include "assembly/pieces/side_chunks.h"
#include "assembly/source.h"
#include "assembly/window/request_window.h"
#include "base/memory/page_buffer.h"

namespace headrace {

/// Limits of what a server allocates, for the budget.
struct ServerNeed {
  std::uint64_t scratch_bytes = 0;
  std::uint64_t read_buffer_bytes = 0;
  std::uint64_t dense_bytes = 0;  ///< For a block on its way to the cache, decoded.
  std::uint64_t coded_bytes = 0;  ///< And encoded, and back.
};

/// One thread's decoding state. Threads: one at a time.
class BlockServer {
 public:
  /// \param program  Says where the columns go, where samples are made of rows; null: the source's, or none. \param
  /// first_column  Number of the source's first column among those of `program`.
  BlockServer(const Source& source, const BlockLayout& layout, const ResidentArrays& resident, SideChunks& side_chunks,
              DecodeCounters& counters, std::shared_ptr<const Program> program = {}, std::size_t first_column = 0);
  /// Let serve() look there first from now on, and keep there what it decoded. It must outlive this. \param group
  /// Which of its stores has the source's rows.
  void set_decoded_cache(DecodedCache* decoded_cache, std::size_t group = 0) {
    decoded_cache_ = decoded_cache->keeps() ? decoded_cache : nullptr;
    store_ = decoded_cache->rows ? &(*decoded_cache->rows)[group] : nullptr;
    group_ = group;
  }

  /// Ask there for what was read of a block ahead, from now on; null: nothing is. \param first_unit  Number there of
  /// block 0. It must outlive this.
  void set_reads_ahead(ReadsAhead* ahead, std::uint32_t first_unit = 0) { ahead_ = ahead, first_unit_ = first_unit; }

  /// Allocate scratch. Errors: kOutOfBudget.
  Status prepare();
  /// Give the scratch back.
  void release();
  /// Put the wanted rows of a block in their places: from where the block is kept, else decoded from its file, and then
  /// kept if there is a cache. Where nothing is wanted the block is only kept. Gives up between two pieces when
  /// `cancelled` turns true.
  /// \return Rows that could not be served, with located errors; rows of good pieces are in place all the same. Valid
  ///         until the next call.
  std::span<const RowFailure> serve(const BlockTask& task, const Wanted& wanted, const std::atomic<bool>& cancelled);
  /// Copy rows of any blocks from the store of all rows, where these are ready. \param first_row  Number of row 0 of
  /// the moves. \return As serve(), with rows counted like those of the moves.
  std::span<const RowFailure> gather(std::uint64_t first_row, const Wanted& wanted);
  /// Return what one decode of a block is, without resident arrays, which are not decoded with a block.
  [[nodiscard]] std::uint64_t needed_bytes(const BlockTask& task);
  /// Count that as needed: a block was served from where it is kept.
  void count_kept(const BlockTask& task);
  /// Decode a part of a resident array to its place. Pieces that fail are noted there: the error belongs to the batch
  /// that needs their rows. \param go_on  Asked before each piece: false ends it.
  void load(const ResidentArrays::ArrayPart& part, ResidentArrays& to, const std::function<bool()>& go_on);

  static ServerNeed need(const Source& source, const BlockLayout& layout);

 private:
  // block_server_kept.cpp
  bool serve_kept(const BlockTask& task, const Wanted& wanted);
  void tell_policy(const BlockTask& task, std::uint64_t start_ns, bool hit);
  bool serve_from_store(const BlockTask& task, const Wanted& wanted);
  bool keep_damaged(const BlockTask& task);
  bool serve_from_cache(const BlockTask& task, const Wanted& wanted);
  void put_dense(std::uint64_t block, std::span<const std::byte* const> fields, const Wanted& wanted);
  Status put_coded(const KeptBlock& kept, const Wanted& wanted);
  void note_memory();

  // block_server_resident.cpp
  void serve_resident(std::uint32_t file, std::uint32_t array);
  void place(const ResidentArrays::ArrayPart& part, const Piece& piece, const RowsAt& decoded, ResidentArrays& to);

  const Wanted& by_row(const Wanted& wanted);
  const Wanted& by_row(Wanted&& wanted) = delete;
  void serve_task(std::uint32_t file, const PieceTask& task, std::size_t i);
  void serve_side_task(std::uint32_t file, const PieceTask& task);
  void find_runs(const ArrayReader& reader, const Piece& piece);
  void put_piece(std::uint32_t file, const PieceTask& task, const RowsAt& rows, StageSpan& span);
  void fail(RowRange piece_rows, Error error);
  void fail_piece(std::uint32_t file, const PieceTask& task, const Error& error);
  void put(std::size_t field, const FieldRows& from, std::uint64_t first_row, const Wanted& wanted, StageSpan& span);
  const std::vector<RowGeometry>& geometry(const ArrayReader& reader, std::uint32_t array, std::uint32_t across);

  const Source& source_;
  const BlockLayout& layout_;
  const ResidentArrays& resident_;
  SideChunks& side_chunks_;
  DecodeCounters& counters_;
  DecodedCache* decoded_cache_ = nullptr;
  ReadsAhead* ahead_ = nullptr;
  std::uint32_t first_unit_ = 0;
  RowStore* store_ = nullptr;  // of all rows; null: none
  std::size_t group_ = 0;      // of the cache's stores
  const BlockForm form_;
  const Sink sink_;
  PiecePlanner planner_;
  PieceDecoder decoder_;
  BlockFiller filler_;
  std::vector<std::vector<std::size_t>> fields_of_array_;
  // The block at hand:
  const BlockTask* task_ = nullptr;
  Wanted wanted_;
  std::vector<RowFailure> failures_;
  std::vector<PieceRun> runs_;  // of the piece at hand
  std::vector<Move> moves_;     // the requests by row, where many pieces look for theirs
  PageBuffer piece_;            // some rows of an encoded block
  PageBuffer row_;              // one of them that is put together from its parts, to be transformed
  PieceGeometries geometries_;
};

}  // namespace headrace
