// The terminal: a progress line and colour, both on stderr and only where a person reads it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace headrace::cli {

/// Write text to stderr. That it cannot be written is no reason to end.
void tell(const std::string& text);
/// Write text to stdout; finish_stdout() says what became of it.
void say(const std::string& text);
/// Let 0, 1 and 2 be taken, so that no file that is opened becomes what results are written to.
void keep_standard_descriptors();

/// Return true if stderr is a terminal.
bool stderr_is_terminal();
/// Return true if colour is wanted on stderr: a terminal, NO_COLOR unset or empty, TERM not "dumb".
bool stderr_has_colour();

/// Let Ctrl-C (and SIGTERM) set a flag instead of ending the process; a second one ends it.
void catch_interrupts();
bool interrupted();

/// One line that is renewed: share, rate, time left. Erased when it goes.
class ProgressLine {
 public:
  enum class Unit : std::uint8_t { kBytes, kSamples, kBlocks, kRounds };
  /// \param shown  False: never draws (it still tells of interrupts).
  ProgressLine(std::string what, Unit unit, bool shown);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// \return False once the user has interrupted: stop.
  bool update(std::uint64_t done, std::uint64_t total);
  /// update() as the tools take it; valid as long as this lives.
  std::function<bool(std::uint64_t, std::uint64_t)> callback();

 private:
  std::string what_;
  Unit unit_;
  bool shown_, drawn_ = false;
  std::uint64_t started_ns_, last_ns_ = 0;
};

}  // namespace headrace::cli
