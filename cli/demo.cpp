#include <fmt/format.h>
#include <headrace/bytes.h>

#include <memory>

#include "demo/demo_command.h"
#include "exit_status.h"
#include "terminal.h"
#include "verbs.h"

namespace headrace::cli {

Verb add_demo(CLI::App& program) {
  const auto args = std::make_shared<demo::DemoArgs>();
  CLI::App* app =
      program.add_subcommand("demo", "Write an example data set: HDF5 files of jets like those of JetClass");
  demo::add_demo_options(*app, *args);
  app->footer(
      "Examples:\n  headrace demo --out demo_data --jets 16384\n"
      "  headrace demo --out packed --jets 4096 --adjacency-layout triu_n --storage blosc-zstd");
  return {app, &args->json, [args] {
            const int status = demo::run_demo(*args);
            if (status == kGood && !args->json) {
              const std::string glob = fmt::format("'{}/train_*.h5'", args->jets.out_dir);
              say(fmt::format("\nNext:\n  headrace inspect {0}\n  headrace bench {0}\n", glob));
            }
            return finish_stdout(status);
          }};
}

}  // namespace headrace::cli
