#include <headrace/bytes.h>

#include <memory>

#include "exit_status.h"
#include "loader_options.h"
#include "verbs.h"

namespace headrace::cli {
namespace {

struct CheckMemoryArguments {
  LoaderArguments loader;
  std::string machine_memory;
  bool json = false;
};

int run_check_memory(const CheckMemoryArguments& arguments) {
  CheckMemoryOptions options;
  if (!arguments.machine_memory.empty()) options.machine_memory_bytes = parse_bytes(arguments.machine_memory);
  return show_result(check_memory(arguments.loader.config(), options), arguments.json);
}

}  // namespace

Verb add_check_memory(CLI::App& program) {
  const auto options = std::make_shared<CheckMemoryArguments>();
  CLI::App* app =
      program.add_subcommand("check-memory", "Say whether a loader fits into memory here, and which limit decides");
  options->loader.add_to(*app);
  app->add_option("--machine-memory", options->machine_memory,
                  "Judge by a machine with so much memory (\"64GiB\"), not by this one");
  app->add_flag("--json", options->json, "Print JSON");
  app->footer(
      "Reads metadata only. Exit status: 0 fits, 10 tight, 11 would be killed.\n\n"
      "Examples:\n  headrace check-memory 'train_*.h5' --batch-size 512 --memory 8GiB\n"
      "  headrace check-memory run.yaml --machine-memory 64GiB\n"
      "  headrace check-memory run.yaml || exit 1   # before a long job");
  return {app, &options->json, [options] { return run_check_memory(*options); }};
}

}  // namespace headrace::cli
