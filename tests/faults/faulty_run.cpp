#include "faulty_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <optional>
#include <set>
#include <sstream>

#include "base/memory_budget.h"
#include "format/testing/hdf5_files.h"

namespace headrace::faults {
namespace {

struct StoredArray {
  const char* name;
  std::uint64_t width;
};
constexpr std::array<StoredArray, 4> kArrays{{{"packed", 40}, {"plain", 3}, {"label", 1}, {"scaled", 4}}};
constexpr std::uint64_t kBatch = 32;

std::size_t count_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// True if a thread is ending and touches nothing any more: join() has returned, or is about to, but the kernel, which
/// wakes it first, still lists the thread (2 times in 10,000 on a busy machine).
bool is_ending(const std::filesystem::path& task) {
  std::string stat;
  std::getline(std::ifstream(task / "stat"), stat);
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return true;  // gone by now
  std::istringstream fields(stat.substr(name_end + 1));
  std::string state;
  std::int64_t parent = 0, group = 0, session = 0, terminal = 0, owner = 0;
  std::uint64_t flags = 0;
  fields >> state >> parent >> group >> session >> terminal >> owner >> flags;  // proc_pid_stat(5)
  constexpr std::uint64_t kExiting = 4;                                         // PF_EXITING
  return (flags & kExiting) != 0;
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
    if (!seen.insert(file * Data::kRowsOfFile + row).second || file >= data.paths.size())
      use.blame(fmt::format("row {} of file {} came twice", row, file));
    for (const StoredArray& array : kArrays) {
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

LoaderOptions options_of(Keeping keeping, const std::string& scratch) {
  LoaderOptions options{.batch_size = kBatch, .shuffle = true, .provenance = true, .memory = 64 << 20, .threads = 2};
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
  for (const StoredArray& array : kArrays) fields.fields.push_back({array.name, array.name});
  const LoaderOptions options = options_of(keeping, scratch);
  std::optional<Dataset> dataset;
  std::optional<Loader> loader;
  attempt(use, "open", [&] { dataset = open(data.paths, fields); });
  if (!dataset) return use;
  attempt(use, "slice", [&] { (void)dataset->slice(140, 20); });
  if (attempt(use, "loader", [&] { loader.emplace(*dataset, options); })) {
    if (keeping == Keeping::kPreload) attempt(use, "preload", [&] { loader->preload(); });
    for (int number = 0; number < 2; ++number) deliver(*loader, data, use);
    attempt(use, "report", [&] { (void)loader->report().text(); });
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

Data Data::write(const std::string& folder) {
  Data data;
  for (const char* name : {"first.h5", "second.h5"}) {
    data.paths.push_back(fmt::format("{}/{}", folder, name));
    const testing::Hdf5Writer writer(data.paths.back());
    writer.write("packed", {{kRowsOfFile, 40}, {16, 40}, 4});
    writer.write("plain", {{kRowsOfFile, 3}});
    writer.write("label", {{kRowsOfFile}, {37}, 1});
    testing::Hdf5Writer::Array scaled{{kRowsOfFile, 4}, {32, 4}};
    scaled.converted = true;
    writer.write("scaled", scaled);
  }
  return data;
}

Ending FaultyRuns::run(const Fault& fault) {
  Ending ending;
  const auto folder = [&](int number) { return fmt::format("{}/{}", scratch_, number); };
  if (runs_++ == 0) {  // what is made once for the process is made here
    const Use first = use_once(data_, keeping_, folder(0));
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
            after.threads == before.threads,
        fmt::format("held: {}, before {}", after.text(), before.text()));
  check(last.wrong.empty() && last.errors.empty(), "afterwards: " + last.wrong + joined(last.errors));
  return ending;
}

}  // namespace headrace::faults
