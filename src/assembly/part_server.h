// PartServer: serve the units of a SampleMap. Groups of rows go through a BlockServer each, grids of cells through
// their reader's cells; both end in the same kernels and the same proof.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "assembly/block_server.h"
#include "assembly/box_copy.h"
#include "assembly/mapped_source.h"
#include "assembly/window_slot.h"
#include "catalog/box_map.h"
#include "catalog/sample_map.h"

namespace headrace {

/// One thread's. Threads: one at a time.
class PartServer {
 public:
  /// \param boxes  The map, where its groups are grids: of one array, which has one field.
  PartServer(const SampleMap& map, const std::vector<SourceGroup>& groups, const BoxMap* boxes,
             DecodeCounters& counters);

  /// Allocate scratch. Errors: kOutOfBudget.
  Status prepare();
  /// Give the scratch back.
  void release();
  /// Return what one thread needs.
  static ServerNeed need(const MappedSource& mapped);
  /// Serve a claim of a unit. \param digests  One for each run. \return What failed, by Request::item.
  std::span<const RowFailure> serve(const Claim& claim, std::span<RowDigest> digests,
                                    const std::atomic<bool>& cancelled);

 private:
  void serve_rows(const Claim& claim, std::span<RowDigest> digests, SampleMap::GroupUnit at,
                  const std::atomic<bool>& cancelled);
  void serve_cell(const Claim& claim, std::span<RowDigest> digests, SampleMap::GroupUnit at);
  Result<const std::byte*> decode_cell(SampleMap::GroupUnit at);

  struct GroupServer {
    std::size_t first_field = 0;
    std::unique_ptr<BlockServer> rows;
    std::unique_ptr<PieceDecoder> cells;
  };
  const SampleMap& map_;
  const std::vector<SourceGroup>& groups_;
  const BoxMap* const boxes_;
  DecodeCounters& counters_;
  ResidentArrays no_residents_;
  SideChunks no_side_chunks_{0};
  std::vector<GroupServer> servers_;
  std::vector<RowRun> runs_;
  std::vector<std::uint64_t> by_row_;  // row and number of each move, to sort
  std::vector<Move> found_, moves_;
  std::vector<RowFailure> failures_;
  std::vector<Piece> pieces_;
  std::uint64_t decoded_bytes_ = 0;  // of the cell that was decoded last
};

}  // namespace headrace
