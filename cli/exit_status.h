// Exit statuses (docs/command-line.md) and how errors are shown.
#pragma once

#include <headrace/base/error.h>
#include <headrace/tools/tools.h>

#include <cstdint>

namespace headrace::cli {

enum ExitStatus : std::uint8_t {
  kGood = 0,
  kFindings = 1,
  kUsage = 2,           ///< Also: a file, field or directory that is not there.
  kBadData = 3,         ///< Damaged, truncated or unreadable bytes, or a format that cannot be read.
  kOutOfResources = 4,  ///< Memory, disk, time.
  kTight = 10,          ///< check-memory only.
  kWouldBeKilled = 11,  ///< check-memory only.
  kBug = 70,
  kInterrupted = 130,
};

ExitStatus exit_status(ErrorCode code);

/// Print an error on stderr: `error: file › field › … message`, the hint on a line of its own. With `json` the same as
/// an object on stdout. \return The exit status.
int show_error(const Error& error, bool json);

/// Print a result on stdout. \return The exit status.
int show_result(const ToolResult& result, bool json);

}  // namespace headrace::cli
