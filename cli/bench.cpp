#include <fmt/format.h>
#include <headrace/tools/tools.h>

#include <memory>

#include "exit_status.h"
#include "loader_options.h"
#include "terminal.h"
#include "verbs.h"

namespace headrace::cli {
namespace {

struct Options {
  LoaderArguments loader;
  std::uint64_t epochs = 1;
  double seconds = 0;
  bool explain = false, json = false, quiet = false;
};

int run_bench(const Options& options) {
  const RunConfig run = options.loader.config();
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
  CLI::App* app = program.add_subcommand("bench", "Iterate without a consumer and report the throughput");
  options->loader.add_to(*app);
  app->add_option("--epochs", options->epochs, "Number of epochs")->check(CLI::PositiveNumber)->capture_default_str();
  app->add_option("--seconds", options->seconds, "Stop after so many seconds; 0: no limit")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app->add_flag("--explain", options->explain, "First print every automatic setting and its reason, on stderr");
  app->add_flag("--json", options->json, "Print JSON");
  app->add_flag("--quiet", options->quiet, "Show no progress line");
  app->footer(
      "Examples:\n  headrace bench 'train_*.h5' --fields x=feature_matrix,y=labels --batch-size 512\n"
      "  headrace bench run.yaml --threads 4 --seconds 30");
  return {app, &options->json, [options] { return run_bench(*options); }};
}

}  // namespace headrace::cli
