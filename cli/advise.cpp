#include <fmt/format.h>

#include <memory>

#include "exit_status.h"
#include "loader_options.h"
#include "verbs.h"
#include "written_file.h"

namespace headrace::cli {
namespace {

struct AdviseArguments {
  LoaderArguments loader;
  std::string target, write;
  std::uint64_t epochs = 0;
  bool json = false;
};

int run_advise(const AdviseArguments& options) {
  AdviseOptions advise_options;
  if (!options.target.empty()) advise_options.target_per_second = parse_rate(options.target);
  advise_options.epochs = options.epochs;
  const ToolResult result = advise(options.loader.config(), advise_options);
  if (!options.write.empty()) write_file(options.write, result.run_file, "the run file");
  return show_result(result, options.json);
}

}  // namespace

Verb add_advise(CLI::App& program) {
  const auto options = std::make_shared<AdviseArguments>();
  CLI::App* app = program.add_subcommand("advise", "Say which settings suit this machine and these files, and why");
  options->loader.add_to(*app);
  app->add_option("--target", options->target, "Samples per second that the training needs, for example 20000/s");
  app->add_option("--epochs", options->epochs, "Epochs of the training: a cache must pay in these (assumed: 10)")
      ->check(above_zero());
  app->add_option("--write", options->write, "Write the settings as a run file (.yaml), with the reasons");
  app->add_flag("--json", options->json, "Print JSON");
  app->footer(
      "Measures for 2 s at most, for more where files answer late.\n\nExamples:\n  headrace advise 'train_*.h5' "
      "--batch-size 512\n"
      "  headrace advise 'train_*.h5' --target 20000/s --memory 8GiB --write run.yaml");
  return {app, &options->json, [options] { return run_advise(*options); }};
}

}  // namespace headrace::cli
