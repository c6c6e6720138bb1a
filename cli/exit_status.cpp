#include "exit_status.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "terminal.h"
#include "tools/json.h"

namespace headrace::cli {
namespace {

void print(const std::string& text) {
  say(text);
  if (!text.empty() && text.back() != '\n') say("\n");
}

}  // namespace

int finish_stdout(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  tell(fmt::format("error: the result could not be written: {}\n", std::strerror(errno)));
  return kOutOfResources;
}

ExitStatus exit_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
    case ErrorCode::kPermission:
    case ErrorCode::kFieldMissing:
      return kUsage;
    case ErrorCode::kCorruptData:
    case ErrorCode::kUnsupported:
    case ErrorCode::kReadFailed:
    case ErrorCode::kFileChanged:
      return kBadData;
    case ErrorCode::kOutOfBudget:
    case ErrorCode::kWriteFailed:
    case ErrorCode::kTimeout:
      return kOutOfResources;
    case ErrorCode::kCancelled:
      return kInterrupted;
    case ErrorCode::kClosed:
    case ErrorCode::kForked:
    case ErrorCode::kInternal:
      return kBug;
  }
  return kBug;
}

int show_error(const Error& error, bool json) {
  const int status = exit_status(error.code());
  if (json) {
    print(dump({{"error", error_json(error)}, {"exit_status", status}}));
    return finish_stdout(status);
  }
  std::string text = error.what();
  const std::string& hint = error.hint();
  if (!hint.empty() && text.ends_with(hint)) {  // onto its own line
    text.erase(text.size() - hint.size());
    text.erase(text.find_last_not_of(" \n") + 1);
  }
  const std::size_t words = hint.find_first_not_of(" \n");
  const bool colour = stderr_has_colour();
  tell(fmt::format("{}error:{} {}\n", colour ? "\x1b[1;31m" : "", colour ? "\x1b[0m" : "", text));
  if (words != std::string::npos)
    tell(fmt::format("{}hint:{}  {}\n", colour ? "\x1b[1m" : "", colour ? "\x1b[0m" : "", hint.substr(words)));
  return status;
}

int show_result(const ToolResult& result, bool json) {
  print(json ? result.json : result.text);
  if (result.exit_status != 0) return finish_stdout(result.exit_status);
  return finish_stdout(result.bad_data ? kBadData : result.findings ? kFindings : kGood);
}

}  // namespace headrace::cli
