// Report: what a loader did, in numbers; text() is the one screen, json() the same for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace {

struct Report {
  struct Stage {
    std::string name;    ///< "plan", "read", "decode", "scatter", "cache", "idle".
    double seconds = 0;  ///< Summed over threads.
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;  ///< Read: stored bytes; decode: decoded bytes; scatter: delivered bytes.
  };
  struct Memory {
    std::uint64_t budget_bytes = 0;
    std::uint64_t planned_bytes = 0;  ///< Sum of the parts below, as resolved before the run.
    std::uint64_t peak_bytes = 0;     ///< Most of each part that was allocated so far, added up.
    std::uint64_t slot_bytes = 0, slots = 0;
    std::uint64_t scratch_bytes = 0, read_buffer_bytes = 0, resident_bytes = 0, index_bytes = 0;
    std::uint64_t cache_bytes = 0;  ///< Planned for what is kept of decoded blocks.
    /// Most that was allocated of each part; index_bytes are reserved whole.
    std::uint64_t peak_slot_bytes = 0, peak_cache_bytes = 0, peak_scratch_bytes = 0, peak_read_buffer_bytes = 0,
                  peak_resident_bytes = 0;
    std::uint64_t held_over_bytes = 0;     ///< Batches the caller held beyond the budget, highest.
    std::uint64_t process_peak_bytes = 0;  ///< Highest resident memory of the whole process (VmHWM).
    /// A table, part by part: planned and measured.
    [[nodiscard]] std::string text() const;
  };
  /// What is kept of decoded blocks, between epochs.
  struct Cache {
    std::string kind = "nothing";  ///< "nothing", "blocks", "all rows", "shared rows", "directory".
    std::string coding;            ///< Of "blocks": "decoded", "shuffle + LZ4", "shuffle + zstd-1".
    std::uint64_t capacity_bytes = 0, bytes = 0;
    std::uint64_t blocks = 0, all_blocks = 0;  ///< Kept now, of all there are.
    std::uint64_t hits = 0, misses = 0;        ///< Blocks served from there, and not.
    double coded_share = 1;                    ///< Encoded over decoded bytes.
    bool complete = false;                     ///< Everything is there: batches are gathered from it.
  };
  /// What the user should know: settings that make things worse than they need be, why a cache is not used, or no
  /// more. Python warned of each once.
  std::vector<std::string> notices;
  std::uint64_t epochs_started = 0, epochs_finished = 0;
  std::uint64_t batches = 0, samples = 0, delivered_bytes = 0;
  double wall_seconds = 0;           ///< From the first epoch's start until now or the last batch.
  double consumer_wait_seconds = 0;  ///< Inside next().
  double consumer_work_seconds = 0;  ///< Between one next() and the following.
  double first_batch_seconds = 0;    ///< From the first epoch's start.
  /// Decoded bytes / decoded bytes of the distinct chunks that each epoch needed. 1.0: each was decoded once an epoch;
  /// above: more often; below: some came from memory or from a cache directory.
  double read_amplification = 0;
  double waste = 0;  ///< Share of decoded bytes in columns that no field needed.
  std::uint64_t chunks_decoded = 0;
  std::uint64_t slow_path_chunks = 0;  ///< Read by a format's own library, one at a time.
  std::vector<std::string> slow_fields;
  std::uint32_t threads = 0;
  std::uint32_t rank = 0, world_size = 1;
  /// Counts the rows that this rank was given in the latest epoch, and adds up their row numbers in the data set, the
  /// squares of them and the cubes, each modulo 2^64. Sums of ranks add up; those of a whole epoch follow from the
  /// number of rows.
  struct RowSums {
    std::uint64_t epoch = 0, rows = 0, sum_of_rows = 0, sum_of_squares = 0, sum_of_cubes = 0;
  };
  RowSums row_sums;
  /// True once an epoch ended whose sums are those of every row once (one rank, from the start, no dropped tail).
  bool exactly_once = false;
  std::vector<Stage> stages;
  Memory memory;
  Cache cache;
  /// What would decode every block once, where the window is shorter than the order's span.
  struct DecodeOnce {
    std::uint64_t shuffle_buffer_bytes = 0;  ///< A shuffle_buffer= that does in this budget; 0: none.
    double deff = 0, deff_now = 0;  ///< With that one, and now: of a label that is constant in a block, the worst case.
    double speedup = 0;             ///< What that would make of the threads' work, by the time that decoding took.
    std::uint64_t memory_bytes = 0;  ///< A memory= that does for the order as it is; 0: none.
  };
  std::optional<DecodeOnce> decode_once;  ///< Nothing where every block is decoded once.
  std::string verdict;                    ///< One sentence: is loading the limit, and which part.
  std::vector<std::string> advice;        ///< What to change, best first.
  std::string data_summary;               ///< "4 files, 65,536 samples of 40.7 kB, gzip-4".

  /// Return delivered samples by wall_seconds; 0 before the first batch.
  [[nodiscard]] double samples_per_second() const;
  /// Return delivered_bytes by wall_seconds; 0 before the first batch.
  [[nodiscard]] double bytes_per_second() const;

  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string json() const;
};

}  // namespace headrace
