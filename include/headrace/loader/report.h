// Report: what a loader did, in numbers. text() prints it on one screen, json() is the same for programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headrace {

struct Report {
  struct Stage {
    std::string name;    ///< "plan", "read", "decode", "scatter", "cache", "idle".
    double seconds = 0;  ///< Time, summed over threads.
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;  ///< Read: stored bytes; decode: decoded bytes; scatter: delivered bytes.
  };
  struct Memory {
    std::uint64_t budget_bytes = 0;
    std::uint64_t planned_bytes = 0;  ///< Sum of the parts below, as resolved before the run.
    std::uint64_t peak_bytes = 0;     ///< Sum over the parts of the most that was allocated so far.
    std::uint64_t slot_bytes = 0, slots = 0;
    std::uint64_t scratch_bytes = 0, read_buffer_bytes = 0, resident_bytes = 0, index_bytes = 0;
    std::uint64_t cache_bytes = 0;  ///< Planned for decoded data kept between epochs.
    /// Most that was allocated of each part so far. index_bytes is reserved at once and has no peak of its own.
    std::uint64_t peak_slot_bytes = 0, peak_cache_bytes = 0, peak_scratch_bytes = 0, peak_read_buffer_bytes = 0,
                  peak_resident_bytes = 0;
    std::uint64_t held_over_bytes = 0;     ///< Most that batches held by the caller took beyond the budget.
    std::uint64_t process_peak_bytes = 0;  ///< Highest resident memory of the whole process (VmHWM).
    /// Return a table of the parts: planned and measured.
    [[nodiscard]] std::string text() const;
  };
  /// Decoded data kept between epochs.
  struct Cache {
    std::string kind = "nothing";  ///< "nothing", "blocks", "all rows", "shared rows", "directory".
    std::string coding;            ///< How "blocks" are stored: "decoded", "shuffle + LZ4", "shuffle + zstd-1".
    std::uint64_t capacity_bytes = 0, bytes = 0;
    std::uint64_t blocks = 0, all_blocks = 0;  ///< Number kept now, and number of all blocks.
    std::uint64_t hits = 0, misses = 0;        ///< How often a block was found there, and how often not.
    double coded_share = 1;                    ///< Encoded bytes / decoded bytes; 1 if not encoded.
    bool complete = false;                     ///< True if it holds all rows, so that nothing is read any more.
  };
  /// What the user should know, a sentence each: settings that make loading slower than necessary, why a cache is not
  /// used or no longer used. Python warns of each once.
  std::vector<std::string> notices;
  std::uint64_t epochs_started = 0, epochs_finished = 0;
  std::uint64_t batches = 0, samples = 0, delivered_bytes = 0;
  double wall_seconds = 0;           ///< From the first epoch's start until now or the last batch.
  double consumer_wait_seconds = 0;  ///< Time inside next(): large if loading is the bottleneck.
  double consumer_work_seconds = 0;  ///< Time between calls of next(): large if the training is.
  double first_batch_seconds = 0;    ///< From the first epoch's start.
  /// Decoded bytes / bytes of decoding each needed chunk once an epoch. Above 1.0: chunks were decoded more often;
  /// below: rows came from memory or from a cache directory.
  double read_amplification = 0;
  double waste = 0;  ///< Share of decoded bytes that belong to columns which no field needs.
  std::uint64_t chunks_decoded = 0;
  std::uint64_t slow_path_chunks = 0;  ///< Read by a format's own library, one at a time.
  std::vector<std::string> slow_fields;
  std::uint32_t threads = 0;
  std::uint32_t rank = 0, world_size = 1;
  /// Number of rows that this rank received in the latest epoch, and the sums of their row numbers in the data set, of
  /// the squares and of the cubes, each modulo 2^64. The sums of all ranks add up to those of the whole epoch, which
  /// follow from the number of rows.
  struct RowSums {
    std::uint64_t epoch = 0, rows = 0, sum_of_rows = 0, sum_of_squares = 0, sum_of_cubes = 0;
  };
  RowSums row_sums;
  /// True after an epoch whose sums are those of every row exactly once (one rank, from the start, no dropped tail).
  bool exactly_once = false;
  std::vector<Stage> stages;
  Memory memory;
  Cache cache;
  std::string verdict;              ///< One sentence: is loading the bottleneck, and which part of it.
  std::vector<std::string> advice;  ///< What to change, most useful first.
  std::string data_summary;         ///< For example "4 files, 65,536 samples of 40.7 kB, gzip-4".

  /// Return delivered samples / wall_seconds; 0 before the first batch.
  [[nodiscard]] double samples_per_second() const;
  /// Return delivered_bytes / wall_seconds; 0 before the first batch.
  [[nodiscard]] double bytes_per_second() const;

  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string json() const;
};

}  // namespace headrace
