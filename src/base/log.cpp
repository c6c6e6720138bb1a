#include "base/log.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

namespace headrace {
namespace {

void to_stderr(LogLevel level, const std::string& message) {
  const std::string line = fmt::format("headrace {}: {}\n", to_string(level), message);
  std::fwrite(line.data(), 1, line.size(), stderr);  // one call, so that lines of threads do not mix
}

struct Log {
  std::atomic<LogLevel> level{LogLevel::kWarning};
  std::mutex mutex;  // for the pointer only: the sink itself runs outside
  std::shared_ptr<const LogSink> sink = std::make_shared<LogSink>(to_stderr);

  Log() {
    const char* const wanted = std::getenv("HEADRACE_LOG");
    if (wanted == nullptr || *wanted == '\0') return;
    for (const LogLevel l : {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError, LogLevel::kOff})
      if (to_string(l) == wanted) {
        level = l;
        return;
      }
    to_stderr(LogLevel::kWarning, fmt::format("HEADRACE_LOG={} is none of debug, info, warning, error, off", wanted));
  }
};

Log& the_log() {
  static Log& log = *new Log;  // threads may log while static objects are destroyed
  return log;
}

}  // namespace

std::string_view to_string(LogLevel level) {
  static constexpr std::array<std::string_view, 5> kNames{"debug", "info", "warning", "error", "off"};
  return kNames[static_cast<std::size_t>(level)];
}

void set_log_sink(LogSink sink) {
  auto next = std::make_shared<const LogSink>(sink ? std::move(sink) : LogSink(to_stderr));
  const std::lock_guard guard(the_log().mutex);
  std::swap(the_log().sink, next);
}

void set_log_level(LogLevel level) {
  the_log().level.store(level, std::memory_order_relaxed);
}
LogLevel log_level() {
  return the_log().level.load(std::memory_order_relaxed);
}

void log(LogLevel level, const std::string& message) {
  if (!log_enabled(level)) return;
  std::shared_ptr<const LogSink> sink;
  {
    const std::lock_guard guard(the_log().mutex);
    sink = the_log().sink;
  }
  (*sink)(level, message);
}

}  // namespace headrace
