#include <headrace/tools/tools.h>

#include <memory>

#include "exit_status.h"
#include "verbs.h"

namespace headrace::cli {

Verb add_inspect(CLI::App& program) {
  struct Options {
    std::vector<std::string> files;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* app = program.add_subcommand(
      "inspect", "Describe files: what is in them, which arrays load fast, which do not, and why");
  app->add_option("FILE", options->files, "Files or globs; quote globs to get them in natural order")->required();
  app->add_flag("--json", options->json, "Print JSON");
  app->footer(
      "Examples:\n  headrace inspect train_00.h5\n  headrace inspect 'train_*.h5' --json | jq .files[0].arrays");
  return {app, &options->json, [options] { return show_result(inspect(options->files), options->json); }};
}

}  // namespace headrace::cli
