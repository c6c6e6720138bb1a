// Engine: what becomes of it where the system starts too few threads.
#include "loader/engine/engine.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "dataset/testing/fake_source.h"

namespace headrace {
namespace {

using testing::fake_dataset;

constexpr std::uint64_t kRoom = 256 << 20;

/// An engine of some rows with `threads` threads, of which `starter` may start fewer.
std::shared_ptr<Engine> make_engine(const Dataset& data, std::uint32_t threads, ThreadStarter starter) {
  const SampleSource source = impl_of(data)->source;
  LoaderOptions options{.batch = Samples{16}, .order = BlockShuffle{}, .threads = threads};
  options.cache.mode = CacheChoice::kNone;
  PlanContext context;
  context.room = {kRoom, 0};
  auto engine = Engine::make(source, resolve_plan(source, options, context).value(), std::move(starter));
  engine->provide_memory({MemoryBudget::process(), {}, {}, {}}, std::make_shared<DecodedCache>());
  return engine;
}

/// The rows of an epoch, sorted.
std::vector<std::uint64_t> rows_of_epoch(Engine& engine, std::uint64_t epoch) {
  engine.start_epoch(epoch, 0).value();
  std::vector<std::uint64_t> rows;
  while (auto delivery = engine.next().value())
    for (std::uint64_t i = 0; i < delivery->batch.rows(); ++i)
      rows.push_back(delivery->batch.array(0).as<std::uint32_t>()[i * 4] / 1009);
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<std::uint64_t> all_rows(const Dataset& data) {
  std::vector<std::uint64_t> rows(data.size());
  for (std::uint64_t i = 0; i < rows.size(); ++i) rows[i] = i;
  return rows;
}

/// Starts `left` threads and refuses the rest, as a pids limit does.
struct LimitedStarter {
  std::shared_ptr<std::atomic<int>> left;
  Result<std::jthread> operator()(std::string name, std::function<void(std::stop_token)> body) const {
    if ((*left)-- > 0) return start_thread(std::move(name), std::move(body));
    return Error(ErrorCode::kOutOfBudget, "no more threads").with_hint("Look at ulimit -u.");
  }
};

TEST(Engine, GoesOnWithTheThreadsThatWereStartedAndSaysSo) {
  const Dataset data = fake_dataset({500, 300}, {{4, 20}, {3, 400}});
  for (const int started : {1, 2, 3}) {
    const auto left = std::make_shared<std::atomic<int>>(started);
    const auto engine = make_engine(data, 4, LimitedStarter{left});
    EXPECT_EQ(rows_of_epoch(*engine, 0), all_rows(data));
    EXPECT_EQ(rows_of_epoch(*engine, 1), all_rows(data));
    EXPECT_GE(engine->num_threads(), 1u);
    EXPECT_LE(engine->num_threads(), static_cast<std::uint32_t>(started));
    // Threads that never ran hold nothing, whatever was planned for them.
    EXPECT_LE(engine->peak_memory().scratch_bytes * 4, engine->plan().scratch_bytes * engine->num_threads());
    const std::vector<std::string> notes = engine->decoded_cache()->notices->all();
    ASSERT_EQ(notes.size(), 1u);
    EXPECT_NE(notes[0].find("of 4 decode threads"), std::string::npos) << notes[0];
    EXPECT_NE(notes[0].find("ulimit -u"), std::string::npos) << notes[0];
  }
}

TEST(Engine, WithoutAnyThreadIsAnErrorAndTheNextEpochTriesAgain) {
  const Dataset data = fake_dataset({500, 300}, {{4, 20}, {3, 400}});
  const auto left = std::make_shared<std::atomic<int>>(0);
  const auto engine = make_engine(data, 3, LimitedStarter{left});
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Status started = engine->start_epoch(0, 0);
    ASSERT_FALSE(started.ok());
    EXPECT_EQ(started.error().code(), ErrorCode::kOutOfBudget);
    EXPECT_EQ(started.error().stage(), "start");
    EXPECT_FALSE(started.error().hint().empty());
    EXPECT_FALSE(engine->started());
  }
  *left = 100;
  EXPECT_EQ(rows_of_epoch(*engine, 0), all_rows(data));
  EXPECT_EQ(engine->num_threads(), 3u);
  EXPECT_TRUE(engine->decoded_cache()->notices->all().empty());
}

#if !defined(__SANITIZE_THREAD__)  // TSan does not support threads after a fork
constexpr uid_t kNobody = 65534;

/// In a process of its own: the system refuses every thread, then allows them. \return 0 if all is as it should be.
int run_without_threads(const Dataset& data) {
  if (::geteuid() == 0 && ::setuid(kNobody) != 0) return 1;  // root has no such limit
  rlimit limit{};
  ::getrlimit(RLIMIT_NPROC, &limit);
  const rlimit none{0, limit.rlim_max};
  if (::setrlimit(RLIMIT_NPROC, &none) != 0) return 2;
  try {
    Loader loader(data, {.batch = Samples{16}, .order = BlockShuffle{}, .threads = 2});
    for (int attempt = 0; attempt < 2; ++attempt) {
      try {
        (void)loader.epoch();
        return 3;
      } catch (const Error& e) {
        if (e.code() != ErrorCode::kOutOfBudget) return 4;
      }
    }
    const rlimit all{limit.rlim_max, limit.rlim_max};
    if (::setrlimit(RLIMIT_NPROC, &all) != 0) return 5;
    std::uint64_t rows = 0;
    for (const Batch& batch : loader) rows += batch.rows();
    return rows == data.size() && loader.report().threads == 2 ? 0 : 6;
  } catch (...) {
    return 7;
  }
}

TEST(Engine, ALimitOfTheSystemIsAnErrorOfItsOwnKind) {
  const Dataset data = fake_dataset({300}, {{4, 20}});
  const pid_t child = ::fork();
  if (child == 0) ::_exit(run_without_threads(data));
  int status = -1;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}
#endif

}  // namespace
}  // namespace headrace
