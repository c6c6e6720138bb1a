#include "bench_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/text/nearest_name.h"
#include "tools/json.h"
#include "tools/runs/run_file_text.h"
#include "written_file.h"

namespace headrace::cli {
namespace {

constexpr double kQuickSeconds = 10, kSeriesSeconds = 60, kCompareSeconds = 120;
const std::vector<std::string>& rivals() {
  static const std::vector<std::string> names = {"h5py", "torch", "torch-slices", "torch-lru", "torch-rows"};
  return names;
}

Error wrong(const std::string& message, const std::string& hint) {
  return Error(ErrorCode::kInvalidArgument, message).with_hint(hint);
}

/// What is measured for minutes should not be lost for want of a directory.
void check_place(const std::string& save) {
  if (save.empty()) return;
  const std::filesystem::path directory = std::filesystem::path(save).parent_path();
  if (::access(directory.empty() ? "." : directory.c_str(), W_OK) != 0)
    throw Error(ErrorCode::kWriteFailed, fmt::format("--save {}: {}", save, std::strerror(errno)))
        .with_hint("Give --save a name in a directory that exists and may be written.");
}

}  // namespace

void BenchArguments::add_to(CLI::App& app) {
  loader.add_to(app);
  app.get_option("FILE")->required(false);
  const auto listed = [](CLI::Option* option) {
    option->delimiter(',')->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  app.add_option("--train-files", train_files, "The same as FILE")->expected(1, -1);
  app.add_option("--val-files", val_files, "Files or globs to measure in file order besides, as a validation does")
      ->expected(1, -1);
  app.add_flag("--quick", quick, "Take 10 s in all (20 s with rivals), one round");
  app.add_flag("--compare", compare, "Compare with h5py and torch, and save table and picture (needs Python)");
  listed(app.add_option("--against", against, "Compare with: h5py, torch, torch-slices, torch-lru, torch-rows"));
  listed(app.add_option("--workers", workers, "Worker processes that torch is tried with (default 0,1,2)"));
  listed(
      app.add_option("--batch-sizes", batch_sizes, "Measure each of these batch sizes, in turns")->check(above_zero()));
  app.add_option("--num-batches", num_batches, "Batches after which an epoch is cut short")->check(above_zero());
  app.add_option("--epochs", epochs, "Number of epochs (default 1; 3 where several things are measured)")
      ->check(above_zero());
  app.add_option("--rounds", rounds, "How often each is measured, in turns (default 3 where there are several)")
      ->check(above_zero());
  app.add_option("--seconds", seconds, "Stop after so many seconds; default: no limit, 60 for several, 120 for rivals")
      ->check(above_zero(true));
  app.add_option("--baseline", baseline, "Compare with this earlier result (.json), and name what is slower");
  app.add_option("--max-slowdown", max_slowdown, "Exit status 1 if slower than the baseline by more percent than this")
      ->check(above_zero());
  app.add_option("--save", save, "Write NAME.md, NAME.json and NAME.svg (a picture); --compare saves headrace-bench");
  app.add_flag("--explain", explain, "First print every automatic setting and its reason, on stderr");
  app.add_flag("--json", json, "Print JSON");
  app.add_flag("--quiet", quiet, "Show no progress line");
  app.add_flag("--describe", describe, "Print what would be measured, as JSON, for the Python package")->group("");
}

void BenchArguments::settle() {
  if (!train_files.empty() && !loader.files.empty())
    throw wrong("--train-files and FILE are the same: give one", "headrace bench --help shows how.");
  if (!train_files.empty()) loader.files = train_files;
  if (loader.files.empty()) throw wrong("FILE is missing", "Name files, a glob or a run file; or --train-files.");
  for (const std::string& name : against)
    if (std::ranges::find(rivals(), name) == rivals().end()) {
      const std::optional<std::string> meant = did_you_mean(name, rivals());
      throw wrong(fmt::format("--against {}: there is no such rival", name),
                  fmt::format("{}There are: {}.", meant ? fmt::format("Did you mean {}? ", *meant) : "",
                              fmt::join(rivals(), ", ")));
    }
  if (max_slowdown > 0 && baseline.empty())
    throw wrong("--max-slowdown is for --baseline, and there is none", "Give --baseline old.json too.");
  if (!workers.empty() && !needs_python())
    throw wrong("--workers is for torch, and no rival is asked for", "Give --compare or --against torch too.");
  if (!batch_sizes.empty() && (loader.given.contains("batch_size") || loader.given.contains("global_batch_size")))
    throw wrong("--batch-sizes and --batch-size contradict each other", "Give one of them.");
  if (!baseline.empty())  // a wrong one is said now, not after minutes
    bench_report(R"({"schema": "headrace-bench/1", "contestants": []})", {baseline, 0});
  if (compare && against.empty()) against = {"h5py", "torch"};
  if (compare && save.empty()) save = "headrace-bench";
  if (workers.empty()) workers = {0, 1, 2};
  check_place(save);
  const bool several = needs_python() || is_series();
  if (epochs == 0) epochs = several || quick ? 3 : 1;
  if (rounds == 0) rounds = quick || !several ? 1 : 3;
  if (seconds == 0) {
    if (quick)
      seconds = needs_python() ? 2 * kQuickSeconds : kQuickSeconds;
    else if (several)
      seconds = needs_python() ? kCompareSeconds : kSeriesSeconds;
  }
}

std::string BenchArguments::description() const {
  const RunConfig run = loader.config();
  return dump({{"run_file", run_file_text(run)},
               {"val_files", val_files},
               {"against", against},
               {"workers", workers},
               {"batch_sizes", batch_sizes},
               {"num_batches", num_batches},
               {"epochs", epochs},
               {"rounds", rounds},
               {"seconds", seconds},
               {"baseline", baseline},
               {"max_slowdown", max_slowdown},
               {"save", save},
               {"explain", explain},
               {"json", json},
               {"quiet", quiet}});
}

void save_bench(const ToolResult& result, const std::string& name) {
  for (const auto& [ending, text] :
       {std::pair{".md", &result.markdown}, std::pair{".json", &result.json}, std::pair{".svg", &result.plot}})
    write_file(name + ending, *text, "the result");
}

}  // namespace headrace::cli
