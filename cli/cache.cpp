#include <headrace/tools/tools.h>

#include <memory>

#include "exit_status.h"
#include "loader_options.h"
#include "terminal.h"
#include "verbs.h"

namespace headrace::cli {

Verb add_cache(CLI::App& program) {
  struct Options {
    LoaderArguments loader;
    std::string directory, name;
    bool json = false, quiet = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* app = program.add_subcommand("cache", "Look after directories of decoded rows");
  app->require_subcommand(1);
  app->footer(
      "Examples:\n  headrace cache build 'train_*.h5' --to /scratch/cache\n  headrace cache ls /scratch/cache\n  "
      "headrace cache verify /scratch/cache || echo \"status $?\"\n"
      "  headrace cache rm /scratch/cache train_000-5f0c9a1be2d34871\n\n"
      "Every verb takes --json.");
  const auto add = [&](const char* name, const char* what) {
    CLI::App* verb = app->add_subcommand(name, what);
    verb->add_option("DIR", options->directory, "A directory of caches")->required();
    verb->add_flag("--json", options->json, "Print JSON");
    return verb;
  };
  const CLI::App* list = add("ls", "What is there, of which files, and is it of use still? Reads no rows");
  CLI::App* check = add("verify", "Compare every row with its checksum");
  check->add_option("NAME", options->name, "One cache, as ls names it. Default: all");
  check->add_flag("--quiet", options->quiet, "No progress line");
  CLI::App* remove = add("rm", "Delete a cache, or what a killed process left of one");
  remove->add_option("NAME", options->name, "As ls names it")->required();
  CLI::App* build = app->add_subcommand("build", "Decode everything once, into .npy files that later runs map");
  options->loader.add_to(*build);
  build->add_option("--to", options->directory, "The directory of caches; made if need be")->required();
  build->add_flag("--json", options->json, "Print JSON");
  build->add_flag("--quiet", options->quiet, "No progress line");
  return {app, &options->json, [options, list, check, build] {
            if (build->parsed()) {
              RunConfig run = options->loader.config();
              run.loader.cache = {CacheChoice::kDirectory, options->directory};
              Loader loader(open(run.files, run.open), run.loader);
              ProgressLine line("decoding", ProgressLine::Unit::kBlocks, !options->quiet);
              return show_result(cache_build(loader, line.callback()), options->json);
            }
            if (list->parsed()) return show_result(cache_list(options->directory), options->json);
            if (!check->parsed()) return show_result(cache_remove(options->directory, options->name), options->json);
            ProgressLine line("verifying", ProgressLine::Unit::kBytes, !options->quiet);
            return show_result(cache_verify(options->directory, options->name, line.callback()), options->json);
          }};
}

}  // namespace headrace::cli
