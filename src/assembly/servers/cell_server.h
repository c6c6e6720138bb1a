// CellServer: decode a cell of a volume's array, or read boxes of it by themselves, and copy what lies in samples'
// boxes to their places.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "assembly/ahead/reads_ahead.h"
#include "assembly/kept/decoded_cache.h"
#include "assembly/mapped_source.h"
#include "assembly/pieces/decode_counters.h"
#include "assembly/servers/block_server.h"
#include "assembly/servers/box_read.h"
#include "assembly/window/window_slot.h"
#include "base/memory/page_buffer.h"
#include "catalog/samples/box_map.h"

namespace headrace {

/// One thread's, for all groups of a map. Threads: one at a time. Blocks: serve() waits for the disk.
class CellServer {
 public:
  CellServer(const BoxMap& map, const std::vector<SourceGroup>& groups, DecodeCounters& counters)
      : map_(map), groups_(groups), counters_(counters) {}

  /// Let serve() look there for cells from now on, and keep there what it decoded. It must outlive this.
  void set_decoded_cache(DecodedCache* decoded_cache);
  /// Ask there for what was read of a cell ahead, from now on; null: nothing is. It must outlive this.
  void set_reads_ahead(ReadsAhead* ahead) { ahead_ = ahead; }
  /// Allocate scratch. Errors: kOutOfBudget.
  Status prepare();
  /// Give the scratch back.
  void release();
  /// Return what one thread needs.
  static ServerNeed need(const BoxMap& map, const std::vector<SourceGroup>& groups);
  /// Serve a claim of a cell. \param array  Array of the slot where its boxes go. \param digests  One for each run.
  /// \param failures  What failed is appended, by Request::item. Gives up, without a failure, once `cancelled`.
  void serve(const Claim& claim, SampleMap::GroupUnit at, std::size_t array, std::span<RowDigest> digests,
             std::vector<RowFailure>& failures, const std::atomic<bool>& cancelled);

 private:
  /// What is to be done for one claim.
  struct Task {
    const ArrayReader& reader;
    const CellGrid& grid;
    std::uint64_t cell;
    SampleMap::GroupUnit at;
    std::size_t array;
    const Piece* fetched = nullptr;  // was read ahead; null: it was not
    Piece piece = {};
    Axes extents = {};
  };
  struct BoxRequest {
    std::byte* to;
    BoxOverlap overlap;
    std::uint64_t first_place;  // element 0 of the box in the epoch's batches
    std::uint32_t run;
  };
  Status locate(Task& task);
  void list_requests(const Claim& claim, const Task& task);
  [[nodiscard]] bool reads_boxes(const Task& task) const;
  Status read_boxes(const Task& task, std::span<RowDigest> digests, const std::atomic<bool>& cancelled);
  Status serve_from_file(const Task& task, std::span<RowDigest> digests, const std::atomic<bool>& cancelled);
  // cell_server_kept.cpp
  bool copy_kept(const Claim& claim, const Task& task, std::span<RowDigest> digests);
  Status copy_boxes(const Claim& claim, const Task& task, std::span<RowDigest> digests);
  // cell_server_stored.cpp
  bool copy_stored(const Task& task, std::span<RowDigest> digests);
  Status serve_from_store(const Claim& claim, const Task& task, std::span<RowDigest> digests,
                          const std::atomic<bool>& cancelled);
  void put_in_store(RowStore& store, std::uint64_t cell, std::span<const std::byte> decoded);

  Status decode_boxes(const Task& task, std::span<RowDigest> digests,
                      const std::function<void(const std::byte*)>& then);
  void scatter(const Task& task, const std::byte* cell, std::span<RowDigest> digests);
  Result<const std::byte*> decode(const Task& task);
  void add_to(RowDigest& digest, const Task& task, const BoxRequest& request, std::uint64_t first_from,
              std::uint64_t last_from, const BoxCopied& done) const;

  const BoxMap& map_;
  const std::vector<SourceGroup>& groups_;
  DecodeCounters& counters_;
  DecodedCache* decoded_cache_ = nullptr;
  ReadsAhead* ahead_ = nullptr;
  PageBuffer stored_, out_, ping_, pong_, padded_;
  std::vector<BoxRequest> requests_;
  std::vector<Piece> pieces_;
};

}  // namespace headrace
