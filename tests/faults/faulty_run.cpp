#include "faulty_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <new>
#include <optional>
#include <set>

#include "base/memory/memory_budget.h"
#include "format/testing/hdf5_files.h"
#include "thread_stat.h"

namespace headrace::faults {
namespace {

struct StoredArray {
  const char* name;
  std::uint64_t width;
};
std::array<StoredArray, 4> arrays_of(const Data& data) {
  return {{{"packed", data.packed_width}, {"plain", 3}, {"label", 1}, {"scaled", 4}}};
}
constexpr std::uint64_t kBatch = 32;
constexpr std::size_t kSpareBlocks = 32;  // beside the texts of errors: 7 were seen, of lists that grow with use

std::size_t count_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// True if a thread is ending and touches nothing any more: join() has returned, or is about to, but the kernel, which
/// wakes it first, still lists the thread (2 times in 10,000 on a busy machine).
bool is_ending(const std::filesystem::path& task) {
  constexpr unsigned long kExiting = 4;  // PF_EXITING
  const std::string flags = stat_field(task, 9);
  return flags.empty() || (std::stoul(flags) & kExiting) != 0;
}

std::size_t count_threads() {
  const std::filesystem::directory_iterator all("/proc/self/task");
  return static_cast<std::size_t>(
      std::count_if(begin(all), end(all), [](const auto& task) { return !is_ending(task.path()); }));
}

/// What the process holds.
struct Holdings {
  std::int64_t blocks = 0;
  std::uint64_t budget_bytes = 0;
  std::size_t descriptors = 0, threads = 0;
  static Holdings now() {
    return {live_blocks(), MemoryBudget::process()->snapshot().used_bytes, count_descriptors(), count_threads()};
  }
  [[nodiscard]] std::string text() const {
    return fmt::format("{} blocks of memory, {} bytes of the budget, {} descriptors, {} threads", blocks, budget_bytes,
                       descriptors, threads);
  }
};

/// What one use gave.
struct Use {
  std::vector<std::string> errors;  ///< Of ours, in order.
  std::string wrong;                ///< The first thing that may not be.
  Report::Cache cache;              ///< What was kept in the end.
  void blame(const std::string& text) {
    if (wrong.empty()) wrong = text;
  }
};

/// True if an error says where it came from. What is about memory has no place but the program.
bool has_place(const Error& error) {
  return error.code() == ErrorCode::kOutOfBudget || !error.file().empty() || !error.stage().empty();
}

/// Do one step of a use, which may fail as it should.
template <class Work>
bool attempt(Use& use, const char* step, const Work& work) {
  try {
    const Disturbed tested;
    work();
    return true;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInternal) use.blame(fmt::format("{}: an internal error: {}", step, error.what()));
    if (!has_place(error)) use.blame(fmt::format("{}: an error without a place: {}", step, error.what()));
    use.errors.push_back(fmt::format("{}: {}", step, error.what()));
  } catch (const std::bad_alloc&) {
    use.errors.push_back(fmt::format("{}: bad_alloc", step));
  } catch (const std::exception& error) {
    use.blame(fmt::format("{}: an exception of another kind: {}", step, error.what()));
  }
  return false;
}

/// Compare a batch with the formula of the files; returns its rows.
void check(const Batch& batch, const Data& data, std::set<std::uint64_t>& seen, Use& use) {
  const auto labels = batch["label"].as<std::int32_t>();
  const auto places = batch["_rows"].as<std::int64_t>();
  for (std::uint64_t i = 0; i < batch.rows(); ++i) {
    const auto file = static_cast<std::uint64_t>(places[2 * i]), row = static_cast<std::uint64_t>(places[2 * i + 1]);
    if (static_cast<std::uint64_t>(labels[i]) != row) use.blame(fmt::format("label {} in row {}", labels[i], row));
    if (!seen.insert(file * data.rows_of_file + row).second || file >= data.paths.size())
      use.blame(fmt::format("row {} of file {} came twice", row, file));
    for (const StoredArray& array : arrays_of(data)) {
      const auto values = batch[array.name].as<std::int32_t>();
      for (std::uint64_t j = 0; j < array.width; ++j)
        if (values[i * array.width + j] != static_cast<std::int32_t>(row * array.width + j))
          return use.blame(fmt::format("{}: row {} of file {} has other values", array.name, row, file));
    }
  }
}

void deliver(Loader& loader, const Data& data, Use& use) {
  std::optional<Loader::Epoch> epoch;
  if (!attempt(use, "epoch", [&] { epoch = loader.epoch(); })) return;
  std::set<std::uint64_t> seen;
  std::uint64_t failed = 0, came = 0;
  bool ended = false;
  std::optional<Batch> batch;
  while (!ended && failed + came <= loader.num_batches()) {
    const bool fine = attempt(use, "next", [&] {
      batch.reset();
      batch = epoch->next();
    });
    failed += fine ? 0 : 1;
    came += batch ? 1 : 0;
    ended = fine && !batch;
    if (batch) check(*batch, data, seen, use);
  }
  attempt(use, "release", [&] { batch.reset(), epoch.reset(); });
  if (failed == 0 && seen.size() != data.rows())
    use.blame(fmt::format("{} of {} rows came, and no error", seen.size(), data.rows()));
}

/// What a loader keeps that nothing happens to, as its report says it.
bool keeps_as_asked(Keeping keeping, const Report::Cache& cache) {
  constexpr std::array kinds{"nothing", "all rows", "blocks", "directory", "shared rows", "all rows"};
  return cache.kind == kinds[static_cast<std::size_t>(keeping)] &&
         (keeping != Keeping::kEncoded || cache.coding != "decoded");
}

LoaderOptions options_of(const Data& data, Keeping keeping, const std::string& scratch) {
  LoaderOptions options{
      .batch = Samples{kBatch}, .order = BlockShuffle{}, .provenance = true, .memory = data.memory_bytes, .threads = 2};
  options.timeout = std::chrono::seconds(60);
  constexpr std::array modes{CacheChoice::kNone,      CacheChoice::kRam, CacheChoice::kAuto,
                             CacheChoice::kDirectory, CacheChoice::kRam, CacheChoice::kRam};
  options.cache.mode = modes[static_cast<std::size_t>(keeping)];
  options.cache.directory = keeping == Keeping::kDirectory ? scratch : "";
  if (keeping == Keeping::kHost) options.share = Share::kHost;
  return options;
}

/// From open() to close().
Use use_once(const Data& data, Keeping keeping, const std::string& scratch) {
  Use use;
  OpenOptions fields;
  for (const StoredArray& array : arrays_of(data)) fields.fields.push_back({array.name, array.name});
  const LoaderOptions options = options_of(data, keeping, scratch);
  std::optional<Dataset> dataset;
  std::optional<Loader> loader;
  attempt(use, "open", [&] { dataset = open(data.paths, fields); });
  if (!dataset) return use;
  attempt(use, "slice", [&] { (void)dataset->slice(140, 20); });
  if (attempt(use, "loader", [&] { loader.emplace(*dataset, options); })) {
    if (keeping == Keeping::kPreload) attempt(use, "preload", [&] { loader->preload(); });
    for (int number = 0; number < 2; ++number) deliver(*loader, data, use);
    attempt(use, "report", [&] {
      const Report report = loader->report();
      (void)report.text();
      use.cache = report.cache;
    });
    attempt(use, "state", [&] { (void)loader->state(); });
    attempt(use, "close", [&] { loader->close(); });
  }
  attempt(use, "release", [&] { loader.reset(), dataset.reset(); });
  return use;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "; ") + line;
  return text;
}

}  // namespace

Data Data::write(const std::string& folder, Keeping keeping) {
  const bool fits = keeping != Keeping::kEncoded;
  Data data{.paths = {},
            .rows_of_file = fits ? 150ULL : 250ULL,
            .packed_width = fits ? 40ULL : 2100ULL,
            .memory_bytes = fits ? 64ULL << 20 : 8ULL << 20};
  for (const char* name : {"first.h5", "second.h5"}) {
    data.paths.push_back(fmt::format("{}/{}", folder, name));
    const testing::Hdf5Writer writer(data.paths.back());
    writer.write("packed", {{data.rows_of_file, data.packed_width}, {16, data.packed_width}, 4});
    writer.write("plain", {{data.rows_of_file, 3}});
    writer.write("label", {{data.rows_of_file}, {fits ? 37ULL : 32ULL}, 1});
    testing::Hdf5Writer::Array scaled{{data.rows_of_file, 4}, {32, 4}};
    scaled.converted = true;
    writer.write("scaled", scaled);
  }
  return data;
}

Ending FaultyRuns::run(const Fault& fault) {
  Ending ending;
  const auto folder = [&](int number) { return fmt::format("{}/{}", scratch_, number); };
  if (runs_++ == 0) {  // what is made once for the process is made here
    Use first = use_once(data_, keeping_, folder(0));
    if (!keeps_as_asked(keeping_, first.cache))
      first.blame(fmt::format("kept: {} {}", first.cache.kind, first.cache.coding));
    if (!first.wrong.empty() || !first.errors.empty()) {
      ending.text = "without a fault: " + first.wrong + joined(first.errors);
      return ending;
    }
  }
  const Holdings before = Holdings::now();
  arm(fault);
  const Use faulty = use_once(data_, keeping_, folder(runs_));
  ending.counted = disarm();
  const Holdings after = Holdings::now();
  const Use last = use_once(data_, keeping_, folder(runs_));
  const auto most_blocks = static_cast<std::int64_t>(faulty.errors.size() + kSpareBlocks);
  ending.text = joined(faulty.errors);
  ending.right = true;
  const auto check = [&](bool holds, const std::string& text) {
    if (holds) return;
    ending.right = false;
    ending.text = fmt::format("{}\n  {}", text, ending.text);
  };
  check(faulty.wrong.empty(), faulty.wrong);
  check(ending.counted.failed > 0 || faulty.errors.empty(), "an error without a fault");
  check(after.budget_bytes == before.budget_bytes && after.descriptors == before.descriptors &&
            after.threads == before.threads && after.blocks <= before.blocks + most_blocks,
        fmt::format("held: {}, before {}", after.text(), before.text()));
  check(last.wrong.empty() && last.errors.empty(), "afterwards: " + last.wrong + joined(last.errors));
  return ending;
}

}  // namespace headrace::faults
