#include <memory>

#include "exit_status.h"
#include "loader_options.h"
#include "verbs.h"

namespace headrace::cli {
namespace {

struct ReplayArguments {
  LoaderArguments loader;
  ReplayOptions replay;
  bool json = false;
};

int run_replay(const ReplayArguments& options) {
  const RunConfig run = options.loader.config();
  const Loader loader(open_run(run), run.loader);
  return show_result(replay(loader, options.replay), options.json);
}

}  // namespace

Verb add_replay(CLI::App& program) {
  const auto options = std::make_shared<ReplayArguments>();
  CLI::App* app =
      program.add_subcommand("replay", "Make a batch of any epoch again and list its rows, files and values");
  options->loader.add_to(*app);
  app->add_option("--epoch", options->replay.epoch, "Epoch, counted from 0")->required();
  app->add_option("--step", options->replay.step, "Batch of the epoch, counted from 0")->required();
  app->add_flag("--json", options->json, "Print JSON, with every row");
  app->footer(
      "Settings must be those of the training: best its run file. Exit status 1: values that are not finite.\n"
      "Examples:\n  headrace replay run.yaml --epoch 3 --step 1207\n"
      "  headrace replay 'train_*.h5' --batch-size 512 --seed 7 --world-size 8 --rank 5 --epoch 3 --step 1207 --json");
  return {app, &options->json, [options] { return run_replay(*options); }};
}

}  // namespace headrace::cli
