#include "cache/filler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "cache/name_hash.h"

namespace headrace {
namespace {

constexpr std::uint32_t kPidBits = 22, kPidMask = (1u << kPidBits) - 1;

std::string read_small_file(const char* path) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::array<char, 1024> text{};
  const ssize_t got = ::read(fd, text.data(), text.size());
  ::close(fd);
  return got > 0 ? std::string(text.data(), static_cast<std::size_t>(got)) : std::string();
}

struct Life {
  char state = 0;
  std::uint64_t threads = 0, start = 0;
};

/// From /proc/PID/stat (man 5 proc); nullopt if it cannot be read. The first thread's says the same, and to all
/// processes: qemu (a container for another processor) makes up what a process reads in its own /proc/PID/stat.
std::optional<Life> life_of(std::uint32_t pid) {
  const std::string text = read_small_file(fmt::format("/proc/{}/task/{}/stat", pid, pid).c_str());
  const std::size_t name_end = text.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return std::nullopt;
  Life life;
  std::size_t at = name_end + 1;
  for (int field = 3; field <= 22; ++field) {
    at = text.find_first_not_of(' ', at);
    if (at == std::string::npos) return std::nullopt;
    if (field == 3) life.state = text[at];
    if (field == 20) life.threads = std::strtoull(text.c_str() + at, nullptr, 10);
    if (field == 22) life.start = std::strtoull(text.c_str() + at, nullptr, 10);
    at = text.find(' ', at);
  }
  return life;
}

std::uint32_t word_of(std::uint32_t pid, std::uint64_t start) {
  return (pid & kPidMask) | static_cast<std::uint32_t>((start * 0x9E3779B97F4A7C15u) >> 56) << kPidBits;
}

}  // namespace

std::uint32_t filler_of_this_process() {
  static std::atomic<std::uint64_t> known{0};  // pid and word
  const auto pid = static_cast<std::uint32_t>(::getpid());
  const std::uint64_t last = known.load(std::memory_order_relaxed);
  if (last >> 32 == pid) return static_cast<std::uint32_t>(last);
  const std::optional<Life> life = life_of(pid);
  const std::uint32_t word = word_of(pid, life ? life->start : 0);
  known.store(std::uint64_t{pid} << 32 | word, std::memory_order_relaxed);
  return word;
}

bool filler_is_alive(std::uint32_t filler) {
  const std::uint32_t pid = filler & kPidMask, own = filler_of_this_process();
  if (pid == (own & kPidMask)) return filler == own;
  if (::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) return false;
  const std::optional<Life> life = life_of(pid);
  if (!life) return true;                                      // hidden, or no /proc: kill() has the last word
  if (life->state == 'Z' && life->threads <= 1) return false;  // killed, and its parent has not looked yet
  return life->state != 'X' && word_of(pid, life->start) == filler;
}

std::uint64_t pid_namespace_id() {
  static const std::uint64_t id = [] {
    struct stat status {};
    if (::stat("/proc/self/ns/pid", &status) != 0) status = {};
    return name_hash(fmt::format("{}|{}", read_small_file("/proc/sys/kernel/random/boot_id"), status.st_ino)) | 1;
  }();
  return id;
}

}  // namespace headrace
