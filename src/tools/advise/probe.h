// What this machine does with these files: blocks decoded and scattered into real batch memory by 1 and by N threads,
// so that what they share (memory, caches, turbo, a library's lock) is in the figures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loader/plan/engine_plan.h"
#include "tools/advise/read_probe.h"

namespace headrace {

/// Some threads serving blocks, each decoded once and all of its rows wanted. Files are read from the page cache.
struct ServingRate {
  std::uint32_t threads = 0;
  double rows_per_s = 0;
  double read_share = 0, decode_share = 0, scatter_share = 0;  ///< Shares of the threads' time.
  double processor_share = 1;                                  ///< Share of their time in which they had a processor.
  std::uint64_t rows = 0;                                      ///< That were measured.
};

struct Probe {
  ReadProbe reads;
  ServingRate one, many;  ///< By 1 thread, and by as many as the plan or this process may have.
  double gather_one_rows_per_s = 0, gather_rows_per_s = 0;  ///< 1 and `many` threads copying random rows of memory.
  double copy_bytes_per_s = 0;                              ///< Memory to memory, by one thread; 0: not measured.
  double touch_bytes_per_s = 0;                             ///< Fresh memory made resident, by one thread.
  double stored_bytes_a_row = 0;
  double seconds = 0;           ///< That all this took.
  std::optional<Error> damage;  ///< Rows of the sample that could not be decoded.

  /// Return the rows a second of `threads` threads, between and beyond what was measured.
  [[nodiscard]] double rows_per_s(std::uint32_t threads) const;
  [[nodiscard]] double gather_of(std::uint32_t threads) const;
  /// Return true if other processes had the processors: the figures are of a machine that is busier than it need be.
  [[nodiscard]] bool busy() const { return one.processor_share < 0.85; }
};

/// Measure serving, for about 1.3 s times `effort`. Memory: the threads' scratch, and batches of at most an eighth of
/// the plan's budget. Errors: kReadFailed, kCorruptData if no block can be read; kOutOfBudget.
Result<Probe> probe_serving(const Source& source, const EnginePlan& plan, std::uint32_t threads, double effort = 1);

/// Return the bytes a second at which fresh memory becomes resident, by one thread. Errors: kOutOfBudget.
Result<double> touch_rate();
/// Return the bytes a second that one thread copies from memory to memory. Errors: kOutOfBudget.
Result<double> copy_rate();

}  // namespace headrace
