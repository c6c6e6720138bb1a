#include <headrace/tools.h>

#include <algorithm>
#include <memory>

#include "exit_status.h"
#include "loader_options.h"
#include "terminal.h"
#include "verbs.h"

namespace headrace::cli {

Verb add_verify(CLI::App& program) {
  struct Options {
    std::vector<std::string> files;
    std::uint32_t threads = 0;
    bool json = false, quiet = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* app = program.add_subcommand("verify", "Decode and check every chunk; list what is bad");
  app->add_option("FILE", options->files, "Files or globs, or one run file (.yaml), whose files are checked")
      ->required();
  app->add_option("--threads", options->threads, "Decode threads; 0: as many as this process may use")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  app->add_flag("--json", options->json, "Print JSON");
  app->add_flag("--quiet", options->quiet, "Show no progress line");
  app->footer(
      "Examples:\n  headrace verify 'train_*.h5'\n  headrace verify jets_07.h5 --threads 8 || echo \"status $?\"");
  return {
      app, &options->json, [options] {
        if (options->files.size() == 1 && is_run_file(options->files[0]))
          options->files = files_of_run(load_run(options->files[0]));
        else if (const auto run = std::ranges::find_if(options->files, &is_run_file); run != options->files.end())
          throw Error(ErrorCode::kInvalidArgument, "give one run file, or data files, but not both").with_file(*run);
        ProgressLine line("verifying", ProgressLine::Unit::kBytes, !options->quiet);
        return show_result(verify(options->files, options->threads, line.callback()), options->json);
      }};
}

}  // namespace headrace::cli
