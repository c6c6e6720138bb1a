// Exit statuses (docs/command-line.md) and how errors are shown.
#pragma once

#include <headrace/error.h>
#include <headrace/tools.h>

#include <cstdint>

namespace headrace::cli {

enum ExitStatus : std::uint8_t {
  kGood = 0,            ///< Everything went well; of check-memory: it fits.
  kFindings = 1,        ///< Something is worth attention.
  kUsage = 2,           ///< An option is wrong, or a file, field or directory does not exist.
  kBadData = 3,         ///< Bytes are damaged, truncated or unreadable, or of a format that cannot be read.
  kOutOfResources = 4,  ///< Memory, disk or time ran out.
  kTight = 10,          ///< It fits, but only just (check-memory only).
  kWouldBeKilled = 11,  ///< The process would be killed (check-memory only).
  kBug = 70,            ///< An error that should not happen; please report it.
  kInterrupted = 130,   ///< Interrupted by Ctrl-C.
};

ExitStatus exit_status(ErrorCode code);

/// Return the exit status, or kOutOfResources where stdout did not take everything: a full disk behind `> file`.
int finish_stdout(int status);

/// Print an error on stderr: `error: file › field › … message`, the hint on a line of its own. With `json` the same as
/// an object on stdout. \return The exit status.
int show_error(const Error& error, bool json);

/// Print a result on stdout. \return The exit status.
int show_result(const ToolResult& result, bool json);

}  // namespace headrace::cli
