// Report: what a loader did, in numbers. text() prints it on one screen, json() is the same for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace {

/// What a loader did, in numbers.
struct Report {
  /// One stage of the work.
  struct Stage {
    std::string
        name;  ///< Name: "plan", "read", "decode", "scatter", "cache", "idle"; "python" of a Python loader's functions.
    double seconds = 0;       ///< Time, summed over threads.
    std::uint64_t count = 0;  ///< Number of times it ran.
    std::uint64_t bytes = 0;  ///< Bytes handled; read: stored bytes; decode: decoded bytes; scatter: delivered bytes.
  };
  /// Memory of the loader, planned and measured.
  struct Memory {
    std::uint64_t budget_bytes = 0;       ///< Limit of the loader.
    std::uint64_t planned_bytes = 0;      ///< Sum of the parts below, as resolved before the run.
    std::uint64_t peak_bytes = 0;         ///< Sum over the parts of the most that was allocated so far.
    std::uint64_t slot_bytes = 0;         ///< Planned for one slot, which holds one batch.
    std::uint64_t slots = 0;              ///< Number of slots.
    std::uint64_t scratch_bytes = 0;      ///< Planned for decoded chunks in flight.
    std::uint64_t read_buffer_bytes = 0;  ///< Planned for stored bytes in flight.
    std::uint64_t resident_bytes = 0;     ///< Planned for arrays and chunks that stay decoded.
    std::uint64_t index_bytes = 0;        ///< Planned for the indexes of chunks.
    std::uint64_t staging_bytes = 0;      ///< Planned for the program's buffers on the way to a device.
    std::uint64_t cache_bytes = 0;        ///< Planned for decoded data kept between epochs.
    /// Most that was allocated for slots so far. index_bytes is reserved at once and has no peak of its own.
    std::uint64_t peak_slot_bytes = 0;
    std::uint64_t peak_cache_bytes = 0;        ///< The same of decoded data kept between epochs,
    std::uint64_t peak_scratch_bytes = 0;      ///< of decoded chunks in flight,
    std::uint64_t peak_read_buffer_bytes = 0;  ///< of stored bytes in flight,
    std::uint64_t peak_resident_bytes = 0;     ///< and of arrays and chunks that stay decoded.
    std::uint64_t held_over_bytes = 0;         ///< Most that batches held by the caller took beyond the budget.
    std::uint64_t process_peak_bytes = 0;      ///< Highest resident memory of the whole process (VmHWM).
    /// Return a table of the parts: planned and measured.
    [[nodiscard]] std::string text() const;
  };
  /// Decoded data kept between epochs.
  struct Cache {
    std::string kind = "nothing";  ///< What is kept: "nothing", "blocks", "all rows", "shared rows", "directory".
    std::string coding;            ///< How "blocks" are stored: "decoded", "LZ4", "shuffle + LZ4", "shuffle + zstd-1".
    std::uint64_t capacity_bytes = 0;  ///< Most that it may hold.
    std::uint64_t bytes = 0;           ///< Bytes kept now.
    std::uint64_t blocks = 0;          ///< Blocks kept now.
    std::uint64_t all_blocks = 0;      ///< Blocks of the data set.
    std::uint64_t hits = 0;            ///< How often a block was found there.
    std::uint64_t misses = 0;          ///< How often a block was not found there, and was decoded from its file.
    double coded_share = 1;            ///< Encoded bytes / decoded bytes; 1 if not encoded.
    bool complete = false;             ///< True if it holds all rows, so that nothing is read any more.
    /// Epochs until everything that fits is kept, if they go on as they did: while you wait for batches, keeping blocks
    /// takes at most 12 % of the decode threads' time, and what kept blocks have saved. 0: nothing more will be kept;
    /// 100: 100 or more.
    std::uint64_t epochs_left = 0;
  };
  /// What the user should know, a sentence each: settings that make loading slower than necessary, why a cache is not
  /// used or no longer used. Python warns of each once.
  std::vector<std::string> notices;
  std::uint64_t epochs_started = 0;   ///< Epochs that were started.
  std::uint64_t epochs_finished = 0;  ///< Epochs that were delivered to their end.
  std::uint64_t batches = 0;          ///< Batches delivered.
  std::uint64_t samples = 0;          ///< Samples delivered.
  std::uint64_t tokens = 0;           ///< Rows of ragged fields delivered, with padding, by a token budget; else 0.
  std::uint64_t token_budget = 0;     ///< Most rows of a batch on this rank; 0: batches are not cut by a token budget.
  std::uint64_t delivered_bytes = 0;  ///< Bytes delivered.
  double wall_seconds = 0;            ///< Time from the first epoch's start until now or the last batch.
  double consumer_wait_seconds = 0;   ///< Time inside next(): large if loading is the bottleneck.
  double consumer_work_seconds = 0;   ///< Time between calls of next(): large if the training is.
  double batch_wait_p99_seconds = 0;  ///< Time inside next() that 99 % of the batches did not exceed, to an eighth.
  double first_batch_seconds = 0;     ///< Time from the first epoch's start to its first batch.
  /// Decoded bytes / bytes of decoding each needed chunk once an epoch. Above 1.0: chunks were decoded more often;
  /// below: rows came from memory or from a cache directory. Of patches: decoded bytes / stored bytes of what was
  /// delivered, below 1.0 where patches that overlap share what is decoded.
  double read_amplification = 0;
  double waste = 0;                      ///< Share of decoded bytes that belong to columns which no field needs.
  std::uint64_t chunks_decoded = 0;      ///< Chunks decoded, counted each time.
  std::uint64_t slow_path_chunks = 0;    ///< Chunks read by a format's own library, one at a time.
  std::vector<std::string> slow_fields;  ///< Fields read or converted by a format's own library, and why.
  std::uint32_t threads = 0;             ///< Decode threads.
  std::uint32_t rank = 0;                ///< Data-parallel rank of this loader.
  std::uint32_t world_size = 1;          ///< Number of data-parallel ranks; 1 without ranks.
  /// Number of rows that this rank received in the latest epoch, and the sums of their row numbers in the data set, of
  /// the squares and of the cubes, each modulo 2^64. The sums of all ranks add up to those of the whole epoch, which
  /// follow from the number of rows.
  struct RowSums {
    std::uint64_t epoch = 0;           ///< Number of the epoch.
    std::uint64_t rows = 0;            ///< Rows that were delivered.
    std::uint64_t sum_of_rows = 0;     ///< Sum of the row numbers.
    std::uint64_t sum_of_squares = 0;  ///< Sum of the squares of the row numbers.
    std::uint64_t sum_of_cubes = 0;    ///< Sum of the cubes of the row numbers.
  };
  RowSums row_sums;  ///< Which rows the latest epoch delivered on this rank, as sums.
  /// True after an epoch whose sums are those of every row exactly once (one rank, from the start, no dropped tail).
  bool exactly_once = false;
  std::vector<Stage> stages;  ///< Where the time went.
  Memory memory;              ///< Memory, planned and measured.
  Cache cache;                ///< Decoded data kept between epochs.
  /// How well the order mixes: Deff, the variance of batch means over that of independent draws.
  struct Mixing {
    double deff_blocks = 1;         ///< Deff of a label that is constant in each block, which is the worst case.
    double deff_files = 1;          ///< Deff of a label that is constant in each file.
    std::uint64_t mixed_bytes = 0;  ///< Decoded bytes of the blocks that are mixed at any time.
  };
  std::optional<Mixing> mixing;  ///< Empty if the data are not shuffled: file order, samplers, groups, mixtures.
  /// What would decode every block once, where the window is shorter than the order's span.
  struct DecodeOnce {
    std::uint64_t shuffle_buffer_bytes = 0;  ///< A shuffle_buffer= that fits this budget; 0: none does.
    double deff = 0;                 ///< Deff with it, of a label that is constant in a block, which is the worst case.
    double deff_now = 0;             ///< Deff of the same label with the present order.
    double speedup = 0;              ///< Expected gain: by what factor the decode threads' work would shrink.
    std::uint64_t memory_bytes = 0;  ///< A memory= that is enough for the order as it is; 0: none is.
  };
  std::optional<DecodeOnce> decode_once;  ///< Empty if every block is decoded once.
  /// Reads that were made ahead of decoding, because files answered late.
  struct Reading {
    std::uint64_t reads = 0;           ///< Reads made.
    std::uint64_t bytes = 0;           ///< Stored bytes read.
    double seconds_a_read = 0;         ///< Time of a read, on average.
    double in_flight = 0;              ///< Reads at once, on average while there were any.
    std::uint64_t most_in_flight = 0;  ///< Most reads at once.
    double ready_share = 0;            ///< Share of the blocks that were read before a thread came to decode them.
  };
  std::optional<Reading> reading;  ///< Empty if none were made: reads came from memory, or quickly enough.
  /// Copies to a device, measured by the program that makes them.
  struct ToDevice {
    std::string name;                    ///< "cuda:0".
    std::uint64_t batches = 0;           ///< Batches copied.
    std::uint64_t bytes = 0;             ///< Bytes copied.
    double copy_seconds = 0;             ///< Time of the copies on the device; 0: not measured.
    double stage_seconds = 0;            ///< Time of the copies into buffers from which the device copies.
    double buffer_wait_seconds = 0;      ///< Time waited for such a buffer: the copy before was not over.
    double batch_wait_seconds = 0;       ///< Time waited for the loader's batches.
    double step_wait_seconds = 0;        ///< Time that training steps waited for their batches.
    double step_seconds = 0;             ///< Time from the first batch to the last, without pauses between epochs.
    bool by_events = false;              ///< True if waits are of the device, by its events; false: of the host.
    double pinned_bytes_per_second = 0;  ///< Rate of a copy from page-locked memory, tried at the start; 0: not tried.
    double pageable_bytes_per_second = 0;  ///< Rate of a copy from other memory; 0: not tried.
    std::uint64_t buffers = 0;             ///< Buffers of page-locked memory.
    std::uint64_t buffer_bytes = 0;        ///< Size of each.
    std::uint64_t larger_batches = 0;      ///< Batches that none of them could hold.
  };
  std::optional<ToDevice> to_device;  ///< Empty if batches stay in the memory of the host.
  /// Take in what the copies to a device took. The verdict is then by what the steps waited.
  void add_to_device(ToDevice copies);
  std::string verdict;              ///< One sentence: is loading the bottleneck, and which part of it.
  std::vector<std::string> advice;  ///< What to change, most useful first.
  std::string data_summary;         ///< For example "4 files, 65,536 samples of 40.7 kB, gzip-4".

  /// Return delivered samples / wall_seconds; 0 before the first batch.
  [[nodiscard]] double samples_per_second() const;
  /// Return consumer_wait_seconds / batches: what next() takes on average; 0 before the first batch.
  [[nodiscard]] double batch_wait_seconds() const;
  /// Return delivered_bytes / wall_seconds; 0 before the first batch.
  [[nodiscard]] double bytes_per_second() const;

  /// Return the report as one screen.
  [[nodiscard]] std::string text() const;
  /// Return the report as JSON.
  [[nodiscard]] std::string json() const;
};

}  // namespace headrace
