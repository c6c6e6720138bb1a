// What the engine has to say besides errors and reports. Never to stdout: that belongs to results.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace headrace {

enum class LogLevel : unsigned char { kDebug, kInfo, kWarning, kError, kOff };
/// "debug", "info", "warning", "error", "off".
std::string_view to_string(LogLevel level);

/// Receives every message of the current level or above. Called on whatever thread logs: it must not take a lock (such
/// as Python's) that a caller of the engine may hold while waiting for the engine.
using LogSink = std::function<void(LogLevel, const std::string&)>;

/// Send messages to `sink`; an empty one restores the default, a line on stderr. Threads: any.
void set_log_sink(LogSink sink);
/// By default the environment's HEADRACE_LOG (a name of to_string), else kWarning.
void set_log_level(LogLevel level);
[[nodiscard]] LogLevel log_level();
/// Ask before building a costly message.
[[nodiscard]] inline bool log_enabled(LogLevel level) {
  return level >= log_level() && level != LogLevel::kOff;
}

/// Log `message`, a whole sentence without a line end. Threads: any.
void log(LogLevel level, const std::string& message);

}  // namespace headrace
