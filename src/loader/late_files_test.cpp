// Files that answer late: reads go ahead of decoding, for every kind of samples, and change no batch.
#include <gtest/gtest.h>
#include <headrace/batches.h>
#include <headrace/loader.h>
#include <headrace/mix.h>
#include <headrace/spans.h>
#include <headrace/tokens.h>
#include <headrace/volumes.h>
#include <headrace/windows.h>
#include <pthread.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/memory/memory_budget.h"
#include "base/testing/temporary_folder.h"
#include "format/testing/hdf5_files.h"
#include "format/testing/npy_files.h"
#include "storage/fingerprint.h"
#include "storage/page_cache.h"
#include "storage/testing/late_calls.h"

namespace headrace {
namespace {

using testing::LateCalls;

/// A Zarr array of int32, big-endian, so that chunks are decoded, each in a file of its own. Every seventh was never
/// written.
void write_zarr(const std::string& path, const std::vector<std::uint64_t>& shape,
                const std::vector<std::uint64_t>& chunk) {
  std::filesystem::create_directories(path);
  std::string shape_text, chunk_text;
  std::uint64_t chunks = 1, elements = 1;
  std::vector<std::uint64_t> along;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    shape_text += (a == 0 ? "" : ",") + std::to_string(shape[a]);
    chunk_text += (a == 0 ? "" : ",") + std::to_string(chunk[a]);
    along.push_back(shape[a] / chunk[a]);
    chunks *= along.back();
    elements *= chunk[a];
  }
  std::ofstream(path + "/.zarray") << R"({"zarr_format":2,"order":"C","compressor":null,"filters":null,"fill_value":7,)"
                                   << R"("dtype":">i4","shape":[)" << shape_text << R"(],"chunks":[)" << chunk_text
                                   << "]}";
  for (std::uint64_t c = 0; c < chunks; ++c) {
    if (c % 7 == 6) continue;
    std::string name;
    std::uint64_t rest = c;
    for (std::size_t a = shape.size(); a-- > 0; rest /= along[a])
      name = std::to_string(rest % along[a]) + (name.empty() ? "" : ".") + name;
    std::ofstream file(path + "/" + name, std::ios::binary);
    for (std::uint64_t e = 0; e < elements; ++e) {
      const auto value = static_cast<std::uint32_t>(c * elements + e);
      for (int shift = 24; shift >= 0; shift -= 8) file.put(static_cast<char>(value >> shift));
    }
  }
}

/// Everything that a batch holds.
std::string content_of(const Batch& batch) {
  std::string all = std::to_string(batch.epoch()) + "/" + std::to_string(batch.index()) + ":";
  for (std::size_t f = 0; f < batch.fields().size(); ++f) {
    const Tensor array = batch.array(f);
    all.append(reinterpret_cast<const char*>(array.data()), array.size_bytes());
    for (const std::int64_t offset : batch.offsets(f)) all += std::to_string(offset) + ",";
  }
  return all;
}

struct Kind {
  std::string name;
  std::function<Dataset()> open;
  LoaderOptions options = {};
};

class LateFiles : public ::testing::Test {
 protected:
  LateFiles() {
    for (const int f : {0, 1, 2}) {
      const std::string n = std::to_string(f);
      testing::Hdf5Writer writer(folder_.path("rows_" + n + ".h5"));
      writer.write("x", {.shape = {400, 1000}, .chunk = {20, 1000}, .gzip = 1});
      writer.write("y", {.shape = {400, 2}, .chunk = {50, 2}});
      testing::Hdf5Writer plain(folder_.path("plain_" + n + ".h5"));
      plain.write("x", {.shape = {400, 1000}});
      plain.write("z", {.shape = {400, 8}, .chunk = {4, 8}, .unwritten = true});
      testing::write_npy<std::int32_t>(folder_.path("value_" + n + ".npy"), 200000, 200000 * f);
      std::vector<std::int64_t> offsets{0};
      while (offsets.back() < 200000)
        offsets.push_back(
            std::min<std::int64_t>(offsets.back() + 5 + static_cast<std::int64_t>(offsets.size()) % 600, 200000));
      testing::write_npy(folder_.path("offsets_" + n + ".npy"), offsets);
    }
    testing::write_npy<std::int32_t>(folder_.path("tokens.npy"), 600000, 0);
    write_zarr(folder_.path("volume.zarr"), {64, 64, 64}, {16, 16, 16});
    write_zarr(folder_.path("rows.zarr"), {320, 4096}, {8, 4096});
  }

  [[nodiscard]] std::vector<Kind> kinds() const {
    const auto rows = [this] { return headrace::open(folder_.path("rows_*.h5")); };
    const auto value = [this] { return headrace::open(folder_.path("value_*.npy")); };
    LoaderOptions plain{.batch = Samples{16}, .order = BlockShuffle{}, .threads = 2};
    plain.cache.mode = CacheChoice::kNone;
    LoaderOptions by_file = plain;
    by_file.batch = Groups{.by = "file", .max_items = 1000};
    LoaderOptions kept = plain;
    kept.cache.mode = CacheChoice::kAuto;
    LoaderOptions preloaded = plain;
    preloaded.cache.mode = CacheChoice::kRam;
    LoaderOptions padded = plain;
    padded.layout = BatchLayout::kPadded;
    const auto plain_rows = [this] { return headrace::open(folder_.path("plain_*.h5")); };
    const auto selected = [=] {
      std::vector<std::uint64_t> every;
      for (std::uint64_t row = 0; row < 1200; row += 1 + row % 5) every.push_back(row);
      return plain_rows().select(every);
    };
    LoaderOptions short_window = plain;
    short_window.memory = 5 << 20;
    const auto patches_of = [this](PatchOptions options) {
      return [this, options] { return patches(open_volumes({folder_.path("volume.zarr")}), options); };
    };
    return {
        {"rows", rows, plain},
        {"rows kept", rows, kept},
        {"rows preloaded", rows, preloaded},
        {"rows of chunk files", [this] { return headrace::open(folder_.path("rows.zarr")); }, plain},
        {"events", [=, this] { return spans(value(), {.offsets = headrace::open(folder_.path("offsets_*.npy"))}); },
         padded},
        {"windows", [=] { return windows(value(), {.length = 1000, .stride = 500}); }, plain},
        {"drawn patches", patches_of({.shape = {20}, .samples_per_epoch = 200}), plain},
        {"grid of patches", patches_of({.shape = {16}, .stride = {12}}), plain},
        {"patches kept", patches_of({.shape = {20}, .samples_per_epoch = 200}), kept},
        {"tokens", [this] { return windows(open_tokens({folder_.path("tokens.npy")}).rows(), {.length = 256}); },
         plain},
        {"mixture",
         [=, this] {
           return mix({{"a", rows(), 2}, {"b", headrace::open(folder_.path("rows_1.h5")), 1}});
         },
         plain},
        {"groups", rows, by_file},
        {"selected rows", selected, plain},
        {"a short window", plain_rows, short_window},
    };
  }

  /// All batches of two epochs, or those before an error, and the error.
  struct Run {
    std::vector<std::string> batches;
    std::string error;
    Report report;
  };
  static Run run(const Kind& kind, const std::function<void()>& opened = {}) {
    Run done;
    Loader loader(kind.open(), kind.options);
    if (opened) opened();
    try {
      for (int epoch = 0; epoch < 2; ++epoch)
        for (const Batch& batch : loader) done.batches.push_back(content_of(batch));
    } catch (const Error& error) {
      done.error = error.what();
    }
    done.report = loader.report();
    return done;
  }

  const TemporaryFolder folder_;
};

TEST_F(LateFiles, AreReadAheadForEveryKind) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    const Run expected = run(kind);
    ASSERT_GT(expected.batches.size(), 3U);
    std::atomic<int> late_us{0};
    const LateCalls calls(
        [&](std::uint64_t, std::string_view) { return LateCalls::Answer{std::chrono::microseconds(late_us)}; });
    const Run late = run(kind, [&] { late_us = 3000; });
    EXPECT_EQ(late.batches, expected.batches);
    EXPECT_EQ(late.error, "");
    EXPECT_GE(calls.most_at_once(), 3);  // there are two decode threads
    ASSERT_TRUE(late.report.reading);
    EXPECT_GE(late.report.reading->most_in_flight, 2U);
    EXPECT_NE(late.report.text().find("READING"), std::string::npos);
  }
}

/// File systems without a page cache: what is read ahead is held.
TEST_F(LateFiles, AreHeldWherePagesAreNotKept) {
  struct stat status {};
  ASSERT_EQ(::stat(folder_.path("rows_0.h5").c_str(), &status), 0);
  const std::uint64_t device = fingerprint_of(status).device;
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    const auto bytes_of = [&](Run& done, int us) {
      std::atomic<int> late_us{0};
      const LateCalls calls(
          [&](std::uint64_t, std::string_view) { return LateCalls::Answer{std::chrono::microseconds(late_us)}; });
      done = run(kind, [&] { late_us = us; });
      return calls.num_bytes_read();
    };
    Run expected, late;
    const std::uint64_t once = bytes_of(expected, 0);
    note_whether_pages_are_kept(device, false);
    const std::uint64_t with_readers = bytes_of(late, 1000);
    note_whether_pages_are_kept(device, true);
    if (kind.name == "rows") {
      EXPECT_GE(late.report.reading->reads, 10U);
      EXPECT_LE(with_readers, once + once / 4);  // decode threads do not read the same bytes again
    }
    EXPECT_EQ(late.batches, expected.batches);
    EXPECT_EQ(late.error, "");
    const std::uint64_t held = late.report.memory.read_buffer_bytes, before = expected.report.memory.read_buffer_bytes;
    EXPECT_TRUE(held > before || before >= 64 << 20) << held;  // chunk files are held in any case
  }
}

/// An index of chunks is a tree: the nodes below a node are on their way before the first of them is read.
TEST_F(LateFiles, NodesOfAnIndexAreExpected) {
  {
    testing::Hdf5Writer writer(folder_.path("many.h5"));
    writer.write("x", {.shape = {1000, 4}, .chunk = {1, 4}});
  }
  const auto expected_of = [&](int late_us) {
    const LateCalls calls(
        [&](std::uint64_t, std::string_view) { return LateCalls::Answer{std::chrono::microseconds(late_us)}; });
    const Dataset data = headrace::open(folder_.path("many.h5"));
    Loader loader(data, {.batch = Samples{16}});
    std::uint64_t rows = 0;
    for (const Batch& batch : loader) rows += batch.rows();
    EXPECT_EQ(rows, 1000U);
    return calls.num_expected();
  };
  EXPECT_GE(expected_of(2000), 10U);
}

TEST_F(LateFiles, AsManyReadsAsTheUserSays) {
  Kind kind = kinds()[0];
  kind.options.reads_in_flight = 3;
  std::atomic<int> late_us{0};
  const LateCalls calls(
      [&](std::uint64_t, std::string_view) { return LateCalls::Answer{std::chrono::microseconds(late_us)}; });
  const Run late = run(kind, [&] { late_us = 3000; });
  ASSERT_TRUE(late.report.reading);
  EXPECT_GE(late.report.reading->most_in_flight, 3U);
  EXPECT_LE(calls.most_at_once(), 3 + 2);  // decode threads read too
}

/// A chunk that cannot be read is an error of the batch that needs it, whichever thread met it first.
TEST_F(LateFiles, ErrorsBelongToTheBatchThatNeedsTheBytes) {
  for (const std::size_t k : {3U, 6U, 7U}) {
    const Kind kind = kinds()[k];
    SCOPED_TRACE(kind.name);
    const std::string bad = k == 3 ? "/31.0" : "/2.1.3";
    std::atomic<int> late_us{0};
    std::atomic<bool> fails{false};
    const LateCalls calls([&](std::uint64_t, std::string_view path) {
      return LateCalls::Answer{std::chrono::microseconds(late_us), fails && path.ends_with(bad) ? EIO : 0};
    });
    const Run whole = run(kind);
    const Run early = run(kind, [&] { fails = true; });
    ASSERT_LT(early.batches.size(), whole.batches.size());
    EXPECT_NE(early.error.find(bad.substr(1)), std::string::npos) << early.error;
    fails = false;
    const Run late = run(kind, [&] { late_us = 3000, fails = true; });
    EXPECT_EQ(late.batches, early.batches);
    EXPECT_EQ(late.error, early.error);
    EXPECT_TRUE(std::equal(late.batches.begin(), late.batches.end(), whole.batches.begin()));
  }
}

/// Where rows can be read one by one and not all are asked for, no others are read ahead.
TEST_F(LateFiles, ReadRowsThatAreAskedForAlone) {
  const std::vector<Kind> all = kinds();
  const auto kind = std::ranges::find(all, std::string("selected rows"), &Kind::name);
  Dataset data = kind->open();
  std::vector<std::uint64_t> few;
  for (std::uint64_t row = 7; row < data.size(); row += 101) few.push_back(row);
  const LateCalls calls(
      [&](std::uint64_t, std::string_view) { return LateCalls::Answer{std::chrono::milliseconds(3)}; });
  const Run late = run({"few", [&] { return kind->open().select(few); }, kind->options});
  ASSERT_TRUE(late.report.reading);
  const std::uint64_t needed = 2 * few.size() * 4000;  // two epochs
  EXPECT_GE(late.report.reading->reads, 2U);
  EXPECT_LE(late.report.reading->bytes, needed * 3 / 2);
}

/// A mount that hangs: next() need not be waited for, close() returns, and what is stuck gives all back when it can.
TEST_F(LateFiles, HungReadsAreLeftBehind) {
  using Clock = std::chrono::steady_clock;
  const std::vector<Kind> all = kinds();
  const std::uint64_t before = MemoryBudget::process()->snapshot().used_bytes;
  static std::atomic<int> late_us{0};
  static std::atomic<bool> hangs{false};
  static std::atomic<int> stuck_readers{0};
  stuck_readers = 0;
  late_us = 1000, hangs = false;                                     // so that there are readers from the start
  static auto& used = *new std::vector<std::unique_ptr<LateCalls>>;  // threads that were stuck use them to the end
  LateCalls& calls = *used.emplace_back(std::make_unique<LateCalls>([](std::uint64_t, std::string_view) {
    char name[16] = {};
    pthread_getname_np(pthread_self(), name, sizeof name);
    const bool is_reader = std::string_view(name) == "hr-read";
    const bool is_stuck = hangs && (is_reader || std::string_view(name).starts_with("hr-decode"));
    if (is_stuck && is_reader) ++stuck_readers;
    return LateCalls::Answer{std::chrono::microseconds(late_us), 0, is_stuck};
  }));
  std::vector<std::unique_ptr<Loader>> loaders;
  std::vector<Loader::Epoch> epochs;
  for (const std::size_t k : {0U, 1U, 3U, 4U, 6U})
    loaders.push_back(std::make_unique<Loader>(all[k].open(), all[k].options));
  hangs = true;
  for (auto& loader : loaders) epochs.push_back(loader->epoch());
  for (std::size_t l = 0; l < loaders.size(); ++l) {
    EXPECT_FALSE(epochs[l].wait(std::chrono::milliseconds(100)));
    bool cancelled = l % 2 == 0;
    for (int tries = 0; tries < 1000 && !cancelled; ++tries) try {  // until a thread is at work for the epoch before
        int asked = 0;
        (void)loaders[l]->epoch([&] { return ++asked < 3; });
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      } catch (const Error& error) {
        cancelled = error.code() == ErrorCode::kCancelled;
      }
    EXPECT_TRUE(cancelled);
  }
  EXPECT_GT(stuck_readers, 0);  // they did not wait for a unit to be served: files answered late when they were opened
  const Clock::time_point start = Clock::now();
  {
    std::vector<std::jthread> closing;
    for (auto& loader : loaders) closing.emplace_back([&] { loader->close(); });
  }
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(9));  // under load; it says 4.5
  for (auto& loader : loaders) {
    const std::vector<std::string> notices = loader->notices();
    EXPECT_TRUE(std::ranges::any_of(
        notices, [](const auto& n) { return n.find("did not end within 5 s") != std::string::npos; }));
    EXPECT_TRUE(loader->closed());
    EXPECT_THROW((void)loader->epoch(), Error);
  }
  EXPECT_GT(MemoryBudget::process()->snapshot().used_bytes, before);
  epochs.clear();
  loaders.resize(2);  // what is stuck outlives the other loaders; of these two memory comes back while they are closed
  calls.let_go();
  for (int i = 0; i < 1000 && MemoryBudget::process()->snapshot().used_bytes > before; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(MemoryBudget::process()->snapshot().used_bytes, before);
  FileCalls::replace_system(nullptr);
}

/// Random waits and errors: the same batches, or a typed error after some of them, and no hang.
TEST_F(LateFiles, RandomSchedules) {
  const char* const asked = std::getenv("HEADRACE_SCHEDULES");  // NOLINT(concurrency-mt-unsafe)
  const long schedules = asked ? std::strtol(asked, nullptr, 10) : 48;
  const std::vector<Kind> all = kinds();
  std::vector<std::vector<std::string>> expected;
  for (const Kind& kind : all) expected.push_back(run(kind).batches);
  int failed = 0;
  for (long s = 0; s < schedules; ++s) {
    const std::size_t k = static_cast<std::size_t>(s) % all.size();
    SCOPED_TRACE(all[k].name + ", schedule " + std::to_string(s));
    std::atomic<bool> begun{false};
    const LateCalls calls([&](std::uint64_t n, std::string_view) {
      if (!begun) return LateCalls::Answer{};
      const std::uint64_t drawn = (n + 1) * 0x9e3779b97f4a7c15U * static_cast<std::uint64_t>(2 * s + 1) >> 20;
      const int errors[]{EIO, ESTALE, EAGAIN, EINTR};
      const bool fails = s % 3 != 0 && drawn % 97 == 0;
      return LateCalls::Answer{std::chrono::microseconds(drawn / 97 % 5 == 0 ? drawn / 500 % 3000 : 0),
                               fails ? errors[drawn / 1000 % 4] : 0};
    });
    const Run late = run(all[k], [&] { begun = true; });
    if (late.error.empty()) {
      EXPECT_EQ(late.batches, expected[k]);
      continue;
    }
    ++failed;
    ASSERT_LE(late.batches.size(), expected[k].size());
    EXPECT_TRUE(std::equal(late.batches.begin(), late.batches.end(), expected[k].begin()));
  }
  EXPECT_LT(failed, schedules);
}

}  // namespace
}  // namespace headrace
