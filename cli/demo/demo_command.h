// The verb `headrace demo`, writing half: options in, files and a short summary out.
#pragma once

#include <string>

#include "base/result.h"
#include "demo/jet_options.h"

namespace CLI {
class App;
}

namespace headrace::demo {

struct DemoArgs {
  std::string kind = "jets";
  std::string storage = "gzip-4";
  std::string adjacency_layout = "triu_max";
  JetOptions jets;
  bool json = false;   ///< the summary as one JSON object
  bool quiet = false;  ///< no progress line
};

/// Declare --out, --kind, --jets, --files, --chunk-rows, --seed, --classes, --adjacency-layout, --storage, --threads,
/// --json and --quiet on a (sub)command; the parsed values land in `args`, which must outlive the parsing.
void add_demo_options(CLI::App& app, DemoArgs& args);

/// Write the files with a progress line on stderr (terminals only), without printing the summary.
Result<WriteSummary> write_demo(const DemoArgs& args);

/// Run write_demo(), then print the summary on stdout or the error on stderr. Return the exit status of the command
/// line: 0 good, 2 usage, 4 out of resources (disk, permission, memory), 130 interrupted.
int run_demo(const DemoArgs& args);

}  // namespace headrace::demo
