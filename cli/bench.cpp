#include <fmt/format.h>
#include <headrace/tools.h>

#include <memory>

#include "bench_options.h"
#include "exit_status.h"
#include "terminal.h"
#include "verbs.h"

namespace headrace::cli {
namespace {

ToolResult measure(const BenchArguments& arguments) {
  const RunConfig run = arguments.loader.config();
  const BenchOptions options{arguments.epochs, arguments.seconds, arguments.num_batches};
  const BenchJudgement judgement{arguments.baseline, arguments.max_slowdown};
  if (arguments.is_series()) {
    ProgressLine line("measuring", ProgressLine::Unit::kRounds, !arguments.quiet);
    const BenchSeries series{arguments.batch_sizes, arguments.val_files, arguments.rounds};
    return bench(run, options, series, line.callback(), judgement);
  }
  Loader loader(open_run(run), run.loader);
  if (arguments.explain) tell(loader.explain() + "\n");
  ProgressLine line("delivering", ProgressLine::Unit::kSamples, !arguments.quiet);
  return bench(loader, options, line.callback(), judgement);
}

int run_bench(BenchArguments arguments) {
  arguments.settle();
  if (arguments.describe) {
    say(arguments.description() + "\n");
    return finish_stdout(kGood);
  }
  if (arguments.needs_python())
    throw Error(ErrorCode::kInvalidArgument, "--compare and --against run h5py and torch, which this program cannot")
        .with_hint("They come with the Python package: python -m headrace bench … with the same options.");
  const ToolResult result = measure(arguments);
  if (!arguments.save.empty()) save_bench(result, arguments.save);
  return show_result(result, arguments.json);
}

}  // namespace

Verb add_bench(CLI::App& program) {
  const auto arguments = std::make_shared<BenchArguments>();
  CLI::App* app = program.add_subcommand("bench", "Iterate without a consumer and report the throughput");
  arguments->add_to(*app);
  app->footer(
      "Examples:\n  headrace bench 'train_*.h5' --fields x=feature_matrix,y=labels --batch-size 512\n"
      "  headrace bench 'train_*.h5' --quick --batch-sizes 256,512,1024\n"
      "  headrace bench --train-files 'train_*.h5' --val-files 'val_*.h5' --compare --num-batches 200\n"
      "  headrace bench run.yaml --threads 4 --seconds 30 --baseline old.json --max-slowdown 10");
  return {app, &arguments->json, [arguments] { return run_bench(*arguments); }};
}

}  // namespace headrace::cli
