// Writing the files of a plan, one after the other or, shuffled, some at a time, and verifying each before it gets its
// name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/rewrite/rewrite_plan.h"
#include "tools/rewrite/rewrite_record.h"

namespace headrace {

/// What earlier calls left of a file.
enum class FileState : std::uint8_t {
  kFresh,    ///< Nothing.
  kStarted,  ///< Some of its rows.
  kDone,     ///< All of it, verified.
};

struct RewriteCounts {
  std::uint64_t files_written = 0, files_found = 0;  ///< Found: whole and verified by an earlier call.
  std::uint64_t rows_written = 0, rows_found = 0;    ///< Rows of the arrays that are stored anew.
  std::uint64_t output_bytes = 0;                    ///< Bytes of all files.
  double seconds = 0;
  std::vector<std::string> notes;
};

/// How memory is divided: bytes of rows that are put together at once, and the threads that there is memory for.
struct RewriteMemory {
  std::uint64_t window_bytes = 0;
  std::uint32_t threads = 1;
  std::uint64_t total_bytes = 0;  ///< All that is held.
};
/// Errors: kOutOfBudget  not even one thread and one chunk fit.
Result<RewriteMemory> divide_memory(const RewritePlan& plan, std::uint32_t threads);

/// Return how often the sources of shuffled arrays are read, which is how often their rows fill the memory.
std::uint64_t passes_of(const RewritePlan& plan, const RewriteMemory& memory);

/// Say what an earlier call left. Errors: kInvalidArgument  something else has the output's name, or an unfinished
/// rewrite with other options, or of another version of the source, is there.
Result<FileState> state_of(const RewritePlan& plan, const RewriteFile& file);

/// Write all files that are not done. `progress(done_bytes, total_bytes)` of decoded bytes may be empty; false stops:
/// what is written so far is kept for the next call. Blocks until done. Errors: of the sources; kWriteFailed;
/// kCorruptData  what was written is not what was read; kCancelled; kFileChanged.
Result<RewriteCounts> run_rewrite(const RewritePlan& plan, const RewriteMemory& memory,
                                  const std::function<bool(std::uint64_t, std::uint64_t)>& progress);

}  // namespace headrace
