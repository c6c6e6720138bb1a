#include "run_apart.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "base/testing/temporary_folder.h"

namespace headrace::faults {
namespace {

constexpr int kWatchdogMs = 40'000;
constexpr std::size_t kRunsOfProcess = 50;  // a fork costs as much as a run

/// How a run is told to the parent, before its text.
struct Told {
  Counted counted;
  bool right = false;
  std::size_t text_bytes = 0;
};

void write_all(int out, const void* data, std::size_t size) {
  if (::write(out, data, size) != static_cast<ssize_t>(size)) ::_exit(1);  // the parent reads all the time
}

bool read_all(int in, void* data, std::size_t size) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t got = ::read(in, static_cast<char*>(data) + done, size - done);
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}

[[noreturn]] void run_in_child(const Data& data, Keeping keeping, Fault fault, std::span<const std::uint64_t> events,
                               const std::string& scratch, int out) {
  std::set_terminate([] {
    disarm();
    const std::string text = "terminated at\n" + stack_here() + "  the fault was at\n" + stack_of_fault();
    (void)!::write(STDERR_FILENO, text.data(), text.size());
    std::abort();
  });
  FaultyRuns runs(data, keeping, scratch);
  for (const std::uint64_t event : events) {
    fault.nth = event;
    Ending ending = runs.run(fault);
    if (!ending.right) ending.text += "\n  the fault was at\n" + stack_of_fault();
    const Told told{ending.counted, ending.right, ending.text.size()};
    write_all(out, &told, sizeof told);
    write_all(out, ending.text.data(), ending.text.size());
    if (!ending.right) break;
  }
  ::_exit(0);
}

/// Where a process that hangs is, on all of its threads, if gdb is there to say it. They block signals.
void tell_stacks(pid_t process) {
  const std::string command =
      "gdb -q -batch -p " + std::to_string(process) + " -ex 'thread apply all backtrace 30' >&2 </dev/null";
  if (std::system(command.c_str()) != 0) std::fputs("no stacks: gdb cannot be run\n", stderr);  // NOLINT(cert-env33-c)
}

/// One process; returns how many of the events it, or its end, has told of.
std::size_t run_process(const Data& data, Keeping keeping, const Fault& fault, std::span<const std::uint64_t> events,
                        const std::function<void(std::uint64_t, const Ending&)>& ended) {
  const TemporaryFolder scratch;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
  const pid_t child = ::fork();
  if (child == 0) run_in_child(data, keeping, fault, events, scratch.path(), ends[1]);
  ::close(ends[1]);
  std::size_t came = 0;
  bool hangs = false, right = true;
  while (came < events.size() && right) {
    pollfd said{ends[0], POLLIN, 0};
    hangs = ::poll(&said, 1, kWatchdogMs) == 0;
    Told told;
    if (hangs || !read_all(ends[0], &told, sizeof told)) break;
    Ending ending{told.right, std::string(told.text_bytes, '\0'), told.counted};
    if (!read_all(ends[0], ending.text.data(), ending.text.size())) break;
    right = ending.right;
    ended(events[came++], ending);
  }
  if (hangs) {
    tell_stacks(child);
    ::kill(child, SIGKILL);
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (came < events.size() && right) {
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    Ending ending{false, hangs ? "it hangs" : "it died of signal " + std::to_string(signal), {}};
    ending.counted.failed = 1;
    ended(events[came++], ending);
  } else if (right && status != 0) {  // a sanitizer's report at the end, or the like
    ended(events[came - 1], {false, "its process ended with status " + std::to_string(status), {}});
  }
  return came;
}

}  // namespace

void run_apart(const Data& data, Keeping keeping, Fault fault, std::span<const std::uint64_t> events,
               const std::function<void(std::uint64_t, const Ending&)>& ended) {
  while (!events.empty()) {
    const auto some = events.first(std::min(events.size(), kRunsOfProcess));
    events = events.subspan(run_process(data, keeping, fault, some, ended));
  }
}

}  // namespace headrace::faults
