#include "terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <headrace/bytes.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/clock.h"

namespace headrace::cli {
namespace {

constexpr std::uint64_t kRedrawNs = 200'000'000;
volatile std::sig_atomic_t interrupts = 0;

void on_interrupt(int signal) {
  interrupts = interrupts + 1;
  if (interrupts > 1) {  // the first one was not enough
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

std::string amount(double value, ProgressLine::Unit unit) {
  if (unit == ProgressLine::Unit::kBytes) return format_bytes(static_cast<std::uint64_t>(value));
  return fmt::format("{:.0f}", value);
}

}  // namespace

void tell(const std::string& text) {
  std::fputs(text.c_str(), stderr);
}

void say(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void keep_standard_descriptors() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (::fcntl(descriptor, F_GETFD) < 0) ::open("/dev/null", O_RDONLY);  // writing there fails, as it would have
}

bool stderr_is_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

bool stderr_has_colour() {
  const char* refused = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return stderr_is_terminal() && (refused == nullptr || *refused == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

void catch_interrupts() {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

bool interrupted() {
  return interrupts != 0;
}

ProgressLine::ProgressLine(std::string what, Unit unit, bool shown)
    : what_(std::move(what)), unit_(unit), shown_(shown && stderr_is_terminal()), started_ns_(now_ns()) {}

ProgressLine::~ProgressLine() {
  if (drawn_) tell("\r\x1b[K");
}

bool ProgressLine::update(std::uint64_t done, std::uint64_t total) {
  const std::uint64_t now = now_ns();
  if (shown_ && now - last_ns_ >= kRedrawNs && total > 0) {
    last_ns_ = now;
    drawn_ = true;
    const double seconds = static_cast<double>(now - started_ns_) * 1e-9;
    const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
    const std::string left =
        rate > 0 ? fmt::format("{:.0f} s left", static_cast<double>(total - std::min(done, total)) / rate) : "";
    const char* unit = unit_ == Unit::kSamples  ? " samples"
                       : unit_ == Unit::kBlocks ? " blocks"
                       : unit_ == Unit::kRounds ? " rounds"
                                                : "";
    tell(fmt::format("\r\x1b[K{}: {:3.0f} %  {} of {}{}  {}/s  {}", what_,
                     100.0 * static_cast<double>(done) / static_cast<double>(total),
                     amount(static_cast<double>(done), unit_), amount(static_cast<double>(total), unit_), unit,
                     amount(rate, unit_), left));
    std::fflush(stderr);
  }
  return !interrupted();
}

std::function<bool(std::uint64_t, std::uint64_t)> ProgressLine::callback() {
  return [this](std::uint64_t done, std::uint64_t total) { return update(done, total); };
}

}  // namespace headrace::cli
