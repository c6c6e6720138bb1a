#include <headrace/tools.h>

#include <memory>
#include <string>
#include <vector>

#include "exit_status.h"
#include "loader_options.h"
#include "terminal.h"
#include "verbs.h"

namespace headrace::cli {

Verb add_cache(CLI::App& program) {
  struct Options {
    LoaderArguments loader;
    std::string directory, name;
    std::vector<std::string> names;
    bool json = false, quiet = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* app = program.add_subcommand("cache", "Build, list, check and delete caches of decoded rows");
  app->require_subcommand(1);
  app->footer(
      "Examples:\n  headrace cache build 'train_*.h5' --to /scratch/cache\n  headrace cache ls /scratch/cache\n  "
      "headrace cache verify /scratch/cache || echo \"status $?\"\n"
      "  headrace cache rm /scratch/cache train_000-5f0c9a1be2d34871\n  headrace cache ls\n\n"
      "Without DIR, ls and rm are for the remembered indexes of data sets that were opened (in HEADRACE_CACHE, or\n"
      "~/.cache/headrace; \"off\" remembers nothing).\n"
      "Every command takes --json.");
  const auto add = [&](const char* name, const char* what) {
    CLI::App* verb = app->add_subcommand(name, what);
    verb->add_option("DIR", options->directory, "Directory of caches");
    verb->add_flag("--json", options->json, "Print JSON");
    return verb;
  };
  const CLI::App* list = add("ls", "List caches: what they hold, of which files, and whether they can still be used");
  CLI::App* check = add("verify", "Compare every row with its checksum");
  check->get_option("DIR")->required();
  check->add_option("NAME", options->name, "Name of one cache, as ls gives it; default: all");
  check->add_flag("--quiet", options->quiet, "Show no progress line");
  CLI::App* remove = app->add_subcommand("rm", "Delete a cache, or what a killed process left of one");
  remove->add_option("NAME", options->names, "Directory of caches (or none), and a name as ls gives it")
      ->required()
      ->expected(1, 2);
  remove->add_flag("--json", options->json, "Print JSON");
  CLI::App* build =
      app->add_subcommand("build", "Decode everything once into .npy files, which later runs read by memory mapping");
  options->loader.add_to(*build);
  build->add_option("--to", options->directory, "Directory of caches; created if absent")->required();
  build->add_flag("--json", options->json, "Print JSON");
  build->add_flag("--quiet", options->quiet, "Show no progress line");
  return {app, &options->json, [options, list, check, build] {
            if (build->parsed()) {
              RunConfig run = options->loader.config();
              run.loader.cache = {CacheChoice::kDirectory, options->directory};
              Loader loader(open_run(run), run.loader);
              ProgressLine line("decoding", ProgressLine::Unit::kBlocks, !options->quiet);
              return show_result(cache_build(loader, line.callback()), options->json);
            }
            if (list->parsed()) return show_result(cache_list(options->directory), options->json);
            if (!check->parsed()) {
              const std::string directory = options->names.size() == 2 ? options->names[0] : "";
              return show_result(cache_remove(directory, options->names.back()), options->json);
            }
            ProgressLine line("verifying", ProgressLine::Unit::kBytes, !options->quiet);
            return show_result(cache_verify(options->directory, options->name, line.callback()), options->json);
          }};
}

}  // namespace headrace::cli
