// BlockServer: decode the pieces of a block and put the wanted rows in their places while they are hot.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "assembly/block_keeper.h"
#include "assembly/block_layout.h"
#include "assembly/decode_counters.h"
#include "assembly/request_window.h"
#include "assembly/row_digest.h"
#include "assembly/side_chunks.h"
#include "assembly/source.h"
#include "base/page_buffer.h"
#include "storage/read_batch.h"

namespace headrace {

/// Arrays kept decoded in memory, for all threads. Filled once, before the first block.
class ResidentArrays {
 public:
  using Part = DecodedPart;
  /// Parts of an array in a file, by ascending rows, pieces across the row together: `across` is the index inside.
  struct Pieces {
    std::vector<std::vector<Part>> across;
  };
  std::map<std::pair<std::size_t, std::size_t>, Pieces> arrays;  ///< (file, array)
};

/// Rows wanted from a block, and where they go.
struct RowRun {
  std::byte* const* fields;          ///< Start of each field in the batch.
  std::uint32_t begin, end;          ///< In the requests.
  std::uint64_t first_position = 0;  ///< Of the batch, in the epoch.
  RowDigest* digest = nullptr;       ///< Of the rows put in place is added to it.
};

/// A block to serve.
struct BlockTask {
  std::uint64_t block = 0;  ///< For the keeper.
  std::uint32_t file = 0;
  RowRange rows;               ///< In the file.
  bool first = true;           ///< Count this decode as needed, not as amplification.
  std::uint64_t next_use = 0;  ///< Of the block, after this one; see BlockCache.
};

/// Limits of what a server allocates, for the budget.
struct ServerNeed {
  std::uint64_t scratch_bytes = 0;
  std::uint64_t read_buffer_bytes = 0;
  std::uint64_t dense_bytes = 0;  ///< For a block on its way to a keeper, decoded.
  std::uint64_t coded_bytes = 0;  ///< And encoded, and back.
};

/// One thread's decoding state. Threads: one at a time.
class BlockServer {
 public:
  BlockServer(const Source& source, const BlockLayout& layout, const ResidentArrays& resident, SideChunks& side_chunks,
              DecodeCounters& counters);
  /// From now on serve() looks there first, and keeps there what it decoded. It must outlive this.
  void set_keeper(BlockKeeper* keeper) { keeper_ = keeper->keeps() ? keeper : nullptr; }

  /// Allocate scratch. Errors: kOutOfBudget.
  Status prepare();
  /// Give the scratch back.
  void release();
  /// Put the requested rows of a block (relative to its first) in their places: from where the block is kept, else
  /// decoded from its file, and then kept if there is a keeper. Without requests the block is only kept. Gives up
  /// between two pieces when `cancelled` turns true.
  /// \return Rows that could not be served, with located errors; rows of good pieces are in place all the same. Valid
  ///         until the next call.
  std::span<const RowFailure> serve(const BlockTask& task, std::span<const Request> requests,
                                    std::span<const RowRun> runs, const std::atomic<bool>& cancelled);
  /// Decode one piece of an array into memory of its own.
  Result<DecodedPart> load(std::uint32_t file, std::size_t array, const Piece& piece);

  static ServerNeed need(const Source& source, const BlockLayout& layout);
  /// Sum of piece_weight() over the pieces of a row, for each file: what every row adds to a batch's digest.
  static std::vector<std::uint64_t> file_weights(const Source& source);

 private:
  struct Task {
    std::uint32_t array;
    Piece piece;
  };
  /// A block that is being decoded to be kept.
  struct Filling {
    enum Where : std::uint8_t { kNowhere, kStore, kCache } where = kNowhere;
    bool in_place = false;           // the store's own memory, not scratch
    std::vector<std::byte*> fields;  // where the block's first row of each field goes
  };
  struct Wanted {
    std::uint32_t row, position, run;
  };
  // block_server_kept.cpp
  bool serve_kept(const BlockTask& task, std::span<const Request> requests, std::span<const RowRun> runs);
  bool serve_from_store(const BlockTask& task, std::span<const Request> requests, std::span<const RowRun> runs);
  bool serve_from_cache(const BlockTask& task, std::span<const Request> requests, std::span<const RowRun> runs);
  void scatter_kept(const BlockTask& task, std::span<const std::byte* const> fields, std::span<const Request> requests,
                    std::span<const RowRun> runs);
  Status scatter_coded(const BlockTask& task, const KeptBlock& kept, std::span<const Request> requests,
                       std::span<const RowRun> runs);
  void add_kept_digests(const BlockTask& task, std::span<const Request> requests, std::span<const RowRun> runs);
  bool fill_scratch(const BlockTask& task, bool encodes);
  std::span<std::byte> place_to_fill(std::uint32_t array, const std::vector<RowGeometry>& geometries,
                                     const Piece& piece, RowRange rows) const;
  void fill_rows(std::uint32_t array, const std::vector<RowGeometry>& geometries, RowRange piece_rows,
                 const DecodedPiece& decoded, RowRange rows);
  void finish_filling(const BlockTask& task);
  void stop_filling(const BlockTask& task);

  Status locate_wanted(const ArrayReader& reader, RowRange rows);
  void plan_tasks(std::uint32_t file, RowRange rows, std::span<const Request> requests, bool first);
  Status read_together(const SourceFile& file, std::size_t begin, std::size_t end);
  Status decode_and_scatter(std::uint32_t file, const Task& task, std::span<const std::byte> stored, RowRange rows,
                            std::span<const Request> requests, std::span<const RowRun> runs);
  Status serve_from_side_chunks(std::uint32_t file, const Task& task, RowRange rows, std::span<const Request> requests,
                                std::span<const RowRun> runs);
  void fail(RowRange piece_rows, RowRange rows, Error error);
  std::uint64_t scatter(std::uint32_t file, std::uint32_t array, std::uint32_t across, RowRange piece_rows,
                        const DecodedPiece& decoded, RowRange rows, std::span<const Request> requests,
                        std::span<const RowRun> runs);
  void add_digests(std::uint32_t file, std::uint32_t array, std::uint32_t across, RowRange piece_rows, RowRange rows,
                   std::span<const Request> requests, std::span<const RowRun> runs) const;
  void scatter_resident(std::uint32_t file, std::uint32_t array, RowRange rows, std::span<const Request> requests,
                        std::span<const RowRun> runs);
  const std::vector<RowGeometry>& geometry(const ArrayReader& reader, std::uint32_t array, std::uint32_t across);
  Status reserve_read_buffer(std::uint64_t bytes);

  const Source& source_;
  const BlockLayout& layout_;
  const ResidentArrays& resident_;
  SideChunks& side_chunks_;
  DecodeCounters& counters_;
  BlockKeeper* keeper_ = nullptr;
  Filling filling_;
  const BlockForm form_;
  std::vector<std::vector<std::size_t>> fields_of_array_;
  std::vector<std::uint64_t> first_row_of_file_;  // in the data set
  std::vector<std::uint64_t> file_weights_;
  PageBuffer out_, ping_, pong_, read_buffer_;
  PageBuffer dense_, coded_;  // a block on its way to the keeper
  PageBuffer piece_;          // some rows on their way back
  std::vector<Wanted> by_row_;
  ReadBatch batch_;
  std::vector<Task> tasks_, side_tasks_;
  std::vector<Piece> pieces_;
  std::vector<FileRange> ranges_;
  std::vector<std::uint32_t> wanted_rows_;
  std::vector<RowFailure> failures_;
  std::uint64_t decoded_bytes_ = 0, needed_bytes_ = 0;  // of the block at hand
  std::unordered_map<const ArrayReader*, std::vector<std::vector<RowGeometry>>> geometries_;
  std::vector<RowGeometry> passing_geometry_;  // the last one that is not kept
};

}  // namespace headrace
