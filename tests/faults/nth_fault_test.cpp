// The n-th allocation, thread start, read, open or mapping fails, over whole uses of a loader: each ends with the right
// data or with errors of ours, and leaves nothing behind.
//
// Every run is a process of its own, which may crash or hang without ending the test. HEADRACE_EVERY_FAULT=1 tries
// every n (an hour); otherwise some of them, among them the first and the last.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <string>
#include <tuple>

#include "base/testing/temporary_folder.h"
#include "faulty_run.h"

namespace headrace::faults {
namespace {

constexpr int kWatchdogMs = 40'000;

const Data& data() {
  static const TemporaryFolder folder;
  static const Data written = Data::write(folder.path());
  return written;
}

[[noreturn]] void run_in_child(Keeping keeping, const Fault& fault, const std::string& scratch, int out) {
  std::set_terminate([] {
    const std::string text = "terminated; the fault was at\n" + (disarm(), stack_of_fault());
    (void)!::write(STDERR_FILENO, text.data(), text.size());
    std::abort();
  });
  const Ending ending = run(data(), keeping, fault, scratch);
  std::string text = std::to_string(ending.counted.events) + " " + std::to_string(ending.counted.failed) + " ";
  text += std::to_string(ending.right) + " " + ending.text;
  if (!ending.right) text += "\n  the fault was at\n" + stack_of_fault();
  (void)!::write(out, text.data(), std::min<std::size_t>(text.size(), 60'000));
  ::_exit(0);
}

/// A run in a process of its own.
Ending run_apart(Keeping keeping, const Fault& fault) {
  const TemporaryFolder scratch;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) run_in_child(keeping, fault, scratch.path(), ends[1]);
  ::close(ends[1]);
  std::string text(1 << 16, '\0');
  std::size_t size = 0;
  pollfd said{ends[0], POLLIN, 0};
  const bool hangs = ::poll(&said, 1, kWatchdogMs) == 0;
  if (hangs) ::kill(child, SIGKILL);
  for (ssize_t got = 0; (got = ::read(ends[0], text.data() + size, text.size() - size)) > 0;)
    size += static_cast<std::size_t>(got);
  text.resize(size);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  Ending ending;
  if (WIFSIGNALED(status) || size == 0) {
    ending.counted.failed = 1;
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    ending.text = hangs ? "it hangs" : "it died of signal " + std::to_string(signal);
    return ending;
  }
  char* at = text.data();
  ending.counted.events = std::strtoull(at, &at, 10);
  ending.counted.failed = std::strtoull(at, &at, 10);
  ending.right = std::strtoull(at, &at, 10) != 0;
  ending.text = *at != '\0' ? at + 1 : "";
  return ending;
}

class NthFault : public ::testing::TestWithParam<std::tuple<Keeping, Kind, bool>> {};

/// Which events to let fail, of `events`: all, or about as many as there is time for.
std::uint64_t step_of(std::uint64_t events, Kind kind) {
  if (std::getenv("HEADRACE_EVERY_FAULT") != nullptr) return 1;
  const std::uint64_t most = kind == Kind::kAllocation ? 40 : 12;
  return std::max<std::uint64_t>(1, events / most);
}

TEST_P(NthFault, EndsWithTheDataOrWithAnErrorOfOurs) {
  const auto [keeping, kind, lasting] = GetParam();
  (void)data();
  const Ending plain = run_apart(keeping, {kind, kNever, lasting});
  ASSERT_TRUE(plain.right) << plain.text;
  const std::uint64_t events = plain.counted.events, step = step_of(events, kind);
  std::uint64_t runs = 0, wrong = 0, with_errors = 0;
  for (std::uint64_t n = 0; n <= events; n += n + step > events && n < events ? events - n : step) {
    const Ending ending = run_apart(keeping, {kind, n, lasting});
    ++runs;
    with_errors += ending.right && !ending.text.empty() ? 1 : 0;
    if (ending.right) continue;
    if (++wrong <= 20) ADD_FAILURE() << "event " << n << " of " << events << ": " << ending.text;
  }
  std::printf("%llu events: %llu runs, %llu with errors of ours, %llu wrong\n", static_cast<unsigned long long>(events),
              static_cast<unsigned long long>(runs), static_cast<unsigned long long>(with_errors),
              static_cast<unsigned long long>(wrong));
}

std::string name_of(const ::testing::TestParamInfo<NthFault::ParamType>& info) {
  const char* const keepings[] = {"Nothing", "Ram", "Encoded", "Directory", "Host", "Preload"};
  const char* const kinds[] = {"Allocation", "ThreadStart", "Read", "Open", "Mapping"};
  const auto [keeping, kind, lasting] = info.param;
  return std::string(keepings[static_cast<int>(keeping)]) + kinds[static_cast<int>(kind)] +
         (lasting ? "Lasting" : "Once");
}

INSTANTIATE_TEST_SUITE_P(Faults, NthFault,
                         ::testing::Combine(::testing::Values(Keeping::kNothing, Keeping::kRam, Keeping::kEncoded,
                                                              Keeping::kDirectory, Keeping::kHost, Keeping::kPreload),
                                            ::testing::Values(Kind::kAllocation, Kind::kThreadStart, Kind::kRead,
                                                              Kind::kOpen, Kind::kMapping),
                                            ::testing::Bool()),
                         name_of);

}  // namespace
}  // namespace headrace::faults
