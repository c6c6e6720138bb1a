// PartServer: serve the units of a SampleMap. Groups of rows go through a BlockServer each, grids of cells through
// their reader's cells; both end in the same kernels and the same proof.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "assembly/kept/epoch_blocks.h"
#include "assembly/mapped_source.h"
#include "assembly/servers/block_server.h"
#include "assembly/servers/cell_server.h"
#include "assembly/window/window_slot.h"
#include "catalog/samples/sample_map.h"

namespace headrace {

/// One thread's. Threads: one at a time.
class PartServer {
 public:
  /// \param mapped  Must outlive the server.
  PartServer(const MappedSource& mapped, DecodeCounters& counters);

  /// Let serve() look there for units from now on, and keep there what it decoded of them: of all grids of cells, or of
  /// the first group of rows. It must outlive this.
  void set_decoded_cache(DecodedCache* decoded_cache);

  /// Allocate scratch. Errors: kOutOfBudget.
  Status prepare();
  /// Give the scratch back.
  void release();
  /// Return what one thread needs.
  static ServerNeed need(const MappedSource& mapped);
  /// Serve a claim of a unit. \param digests  One for each run. \return What failed, by Request::item.
  std::span<const RowFailure> serve(const Claim& claim, std::span<RowDigest> digests,
                                    const std::atomic<bool>& cancelled);
  /// Gather a whole batch from the store of all rows. Blocks that are not there yet are decoded, served and kept.
  /// \param asked  Blocks that the epochs have asked for, of all threads. \return What failed, by the number of the
  /// part.
  std::span<const RowFailure> gather(const Claim& claim, RowDigest& digest, EpochBlocks& asked,
                                     const std::atomic<bool>& cancelled);
  /// Return what serves the blocks of the first group, which is one of rows.
  [[nodiscard]] BlockServer& rows() { return *servers_[0].rows; }

 private:
  void serve_rows(const Claim& claim, std::span<RowDigest> digests, SampleMap::GroupUnit at,
                  const std::atomic<bool>& cancelled);
  /// Parts [begin, end) of a whole batch, by row, which are those in one block.
  struct Stretch {
    std::uint32_t unit;
    bool first;  // of the epoch to ask for it
    std::size_t begin, end;
  };
  void find_stretches(const std::vector<Part>& parts);
  void decode_missing(const WindowSlot& slot, RowRun run, const std::atomic<bool>& cancelled);
  [[nodiscard]] BlockTask task_of(std::uint32_t unit, bool first) const;
  [[nodiscard]] bool is_free(std::uint32_t unit);
  [[nodiscard]] bool has_samples(std::uint32_t unit);
  void decode_behind(std::uint32_t unit, const std::atomic<bool>& cancelled);
  void serve_stretch(const WindowSlot& slot, const Stretch& stretch, RowRun run, const std::atomic<bool>& cancelled);
  void put_gathered(const Claim& claim, RowRun run);
  void note_failure(const RowFailure& failure, const WindowSlot& slot, std::uint32_t part, std::uint32_t position);
  /// Return the number of a sample among all, chosen or not.
  [[nodiscard]] std::uint64_t number_of(const WindowSlot& slot, std::uint32_t position) const;

  struct GroupServer {
    std::size_t first_array = 0;        // of the slot, that its columns go to
    std::unique_ptr<BlockServer> rows;  // null: cells
  };
  const MappedSource& mapped_;
  std::optional<CellServer> cells_;
  ResidentArrays no_residents_;
  SideChunks no_side_chunks_{0};
  std::vector<GroupServer> servers_;
  std::vector<RowRun> runs_;
  std::vector<std::uint64_t> by_row_;  // row and number of each move, to sort
  std::vector<Move> found_, moves_;
  RowStore* store_ = nullptr;  // of all rows of the first group
  /// A part of a whole batch: the number of its first row, and of itself and its sample.
  struct GatheredPart {
    std::uint64_t row, place;
    std::uint32_t part, position;
  };
  std::vector<GatheredPart> gathered_;
  std::vector<Stretch> stretches_, busy_;
  std::vector<std::uint32_t> blocks_;
  std::vector<RowFailure> failures_;
};

}  // namespace headrace
