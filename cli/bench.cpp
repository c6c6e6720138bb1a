#include <fmt/format.h>
#include <headrace/base/bytes.h>
#include <headrace/loader/tools.h>

#include <memory>
#include <optional>

#include "exit_status.h"
#include "terminal.h"
#include "verbs.h"

namespace headrace::cli {
namespace {

/// What was given; what was not stays as the run file or the default has it.
struct Options {
  std::vector<std::string> files, fields;
  std::optional<std::uint64_t> batch_size, seed;
  std::optional<std::uint32_t> threads;
  std::optional<std::string> memory;
  std::optional<bool> shuffle;
  std::uint64_t epochs = 1;
  double seconds = 0;
  bool explain = false, json = false, quiet = false;
};

constexpr std::uint64_t kBatchSize = 512;  // where neither the command line nor a run file says

bool is_run_file(const std::string& path) {
  return path.ends_with(".yaml") || path.ends_with(".yml");
}

FieldChoice field_choice(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return {text, text};
  if (equals == 0 || equals + 1 == text.size())
    throw Error(ErrorCode::kInvalidArgument, fmt::format("--fields {}: NAME=PATH or PATH is expected", text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

RunConfig config(const Options& options) {
  RunConfig run;
  if (is_run_file(options.files.front())) {
    if (options.files.size() > 1)
      throw Error(ErrorCode::kInvalidArgument, "give one run file, or data files, but not both")
          .with_file(options.files.front());
    run = load_run(options.files.front());
  } else {
    run.files = options.files;
    run.loader.batch_size = kBatchSize;
    run.loader.shuffle = true;
  }
  if (!options.fields.empty()) {
    run.open.fields.clear();
    for (const std::string& field : options.fields) run.open.fields.push_back(field_choice(field));
  }
  if (options.batch_size) run.loader.batch_size = *options.batch_size;
  if (options.seed) run.loader.seed = *options.seed;
  if (options.threads) run.loader.threads = *options.threads;
  if (options.memory) run.loader.memory = parse_bytes(*options.memory);
  if (options.shuffle) run.loader.shuffle = *options.shuffle;
  return run;
}

int run_bench(const Options& options) {
  const RunConfig run = config(options);
  Loader loader(open(run.files, run.open), run.loader);
  if (options.explain) fmt::print(stderr, "{}\n", loader.explain());
  ProgressLine line("delivering", ProgressLine::Unit::kSamples, !options.quiet);
  BenchOptions bench_options;
  bench_options.epochs = options.epochs;
  bench_options.max_seconds = options.seconds;
  return show_result(bench(loader, bench_options, line.callback()), options.json);
}

}  // namespace

Verb add_bench(CLI::App& program) {
  const auto options = std::make_shared<Options>();
  CLI::App* app = program.add_subcommand("bench", "Deliver batches to nobody and report the rate");
  app->add_option("FILE", options->files, "Files or globs, or one run file (.yaml)")->required();
  app->add_option("--fields", options->fields, "NAME=PATH or PATH, comma separated; default: all that fit together")
      ->delimiter(',')
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->add_option("--batch-size", options->batch_size, fmt::format("Samples a batch (default {})", kBatchSize))
      ->check(CLI::PositiveNumber);
  app->add_option("--threads", options->threads, "Decode threads (default: as many as this process may use)")
      ->check(CLI::Range(0, 4096));
  app->add_option("--memory", options->memory, "Most bytes to hold, for example 2GiB (default: 60 % of what is free)");
  app->add_flag_function(
      "--shuffle,!--no-shuffle", [options](std::int64_t times) { options->shuffle = times > 0; },
      "Shuffle (default), or go through the files in order");
  app->add_option("--seed", options->seed, "Seed of the order (default 0)");
  app->add_option("--epochs", options->epochs, "Passes over the data")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_option("--seconds", options->seconds, "Stop after this long; 0: no limit")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app->add_flag("--explain", options->explain, "First print every automatic setting and its reason, on stderr");
  app->add_flag("--json", options->json, "Print JSON");
  app->add_flag("--quiet", options->quiet, "No progress line");
  app->footer(
      "Examples:\n  headrace bench 'train_*.h5' --fields x=feature_matrix,y=labels --batch-size 512\n"
      "  headrace bench run.yaml --threads 4 --seconds 30");
  return {app, &options->json, [options] { return run_bench(*options); }};
}

}  // namespace headrace::cli
