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

  /// Let serve() look there for units from now on, and keep there what it decoded of them: of all grids of cells; of
  /// all groups of rows where it has stores, else of the first. It must outlive this.
  void set_decoded_cache(DecodedCache* decoded_cache);
  /// Ask there for what was read of a unit ahead, from now on. It must outlive this.
  void set_reads_ahead(ReadsAhead* ahead);

  /// Allocate scratch. Errors: kOutOfBudget.
  Status prepare();
  /// Give the scratch back.
  void release();
  /// Return what one thread needs.
  static ServerNeed need(const MappedSource& mapped);
  /// Serve a claim of a unit. \param digests  One for each run. \return What failed, by Request::item.
  std::span<const RowFailure> serve(const Claim& claim, std::span<RowDigest> digests,
                                    const std::atomic<bool>& cancelled);
  /// Gather a whole batch from the stores of all rows. Blocks that are not there yet are decoded, served and kept.
  /// \param asked  Blocks that the epochs have asked for, of all threads. \return What failed, by the number of the
  /// part.
  std::span<const RowFailure> gather(const Claim& claim, RowDigest& digest, EpochBlocks& asked,
                                     const std::atomic<bool>& cancelled);
  /// Keep a unit before a batch needs it. \return What failed: that is met again when a batch does.
  std::span<const RowFailure> keep(std::uint32_t unit, const std::atomic<bool>& cancelled);

 private:
  void serve_rows(const Claim& claim, std::span<RowDigest> digests, SampleMap::GroupUnit at,
                  const std::atomic<bool>& cancelled);
  struct GroupServer {
    std::uint32_t group = 0;
    std::uint32_t first_unit = 0, end_unit = 0;  // of the map's
    std::size_t first_array = 0;                 // of the slot, that its columns go to
    std::unique_ptr<BlockServer> rows;           // null: cells
    RowStore* store = nullptr;                   // of all of its rows
  };
  /// Parts [begin, end) of a whole batch, by row, which are those in one block.
  struct Stretch {
    std::uint32_t unit;  // of the map's
    bool first;          // of the epoch to ask for it
    std::size_t begin, end;
  };
  void find_parts(const GroupServer& of, const WindowSlot& slot);
  void find_stretches(const std::vector<Part>& parts);
  void check_stretches(const GroupServer& of);
  void decode_missing(const GroupServer& of, const WindowSlot& slot, RowRun run, const std::atomic<bool>& cancelled);
  [[nodiscard]] BlockTask task_of(const GroupServer& of, std::uint32_t unit, bool first) const;
  [[nodiscard]] bool has_samples(std::uint32_t unit);
  void serve_stretch(const GroupServer& of, const WindowSlot& slot, const Stretch& stretch, RowRun run,
                     const std::atomic<bool>& cancelled);
  void put_gathered(const GroupServer& of, const WindowSlot& slot, RowRun run);
  void note_failure(const RowFailure& failure, const WindowSlot& slot, std::uint32_t part, std::uint32_t position);
  /// Return the number of a sample among all, chosen or not.
  [[nodiscard]] std::uint64_t number_of(const WindowSlot& slot, std::uint32_t position) const;

  const MappedSource& mapped_;
  DecodedCache* decoded_cache_ = nullptr;
  ReadsAhead* ahead_ = nullptr;
  std::optional<CellServer> cells_;
  ResidentArrays no_residents_;
  SideChunks no_side_chunks_{0};
  std::vector<GroupServer> servers_;
  std::vector<RowRun> runs_;
  std::vector<std::uint64_t> by_row_;  // row and number of each move, to sort
  std::vector<Move> found_, moves_;
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
