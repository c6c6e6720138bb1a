#include <headrace/tools.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "exit_status.h"
#include "loader_options.h"
#include "verbs.h"
#include "written_file.h"

namespace headrace::cli {

Verb add_inspect(CLI::App& program) {
  struct Options {
    std::vector<std::string> files;
    bool json = false;
    std::string sample_by, offsets, png, array;
    std::vector<std::string> values;
    std::optional<std::uint64_t> column;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* app = program.add_subcommand(
      "inspect", "Describe files: what is in them, which arrays load fast, which do not, and why");
  app->add_option("FILE", options->files,
                  "Files or globs, or one run file (.yaml); quote globs to get them in natural order")
      ->required();
  auto* const key =
      app->add_option("--sample-by", options->sample_by,
                      "Say how long samples are, by this key: equal values that stand together, or arrays "
                      "such as 'data/demo_*/actions'");
  app->add_option("--column", options->column, "Which column of the key it is, from 0")->needs(key);
  app->add_option("--offsets", options->offsets,
                  "The same by an array of where each sample begins, and the end at last")
      ->excludes(key);
  app->add_option("--values", options->values,
                  "Count the values of these arrays, such as the voxels of each class in labels. Reads them whole")
      ->delimiter(',');
  auto* const array = app->add_option("--array", options->array, "Array that --png draws");
  app->add_option("--png", options->png, "Write a picture of the slice in the middle of --array, in the first file")
      ->needs(array);
  app->add_flag("--json", options->json, "Print JSON");
  app->footer(
      "Examples:\n  headrace inspect train_00.h5\n  headrace inspect 'train_*.h5' --json | jq .files[0].arrays\n"
      "  headrace inspect 'crop_*.zarr' --values labels/mito --array em/s0 --png em.png");
  return {app, &options->json, [options] {
            InspectOptions wanted{.values = options->values};
            if (!options->png.empty()) wanted.picture = options->array;
            if (!options->sample_by.empty() || !options->offsets.empty())
              wanted.sample_by = SampleBy{options->sample_by, options->column, options->offsets, {}};
            if (options->files.size() == 1 && is_run_file(options->files[0])) {
              const RunConfig run = load_run(options->files[0]);
              options->files = files_of_run(run);
              if (!wanted.sample_by) wanted.sample_by = sample_by_of_run(run);
            }
            const ToolResult result = inspect(options->files, wanted);
            if (!options->png.empty()) write_file(options->png, result.png, "the picture");
            return show_result(result, options->json);
          }};
}

}  // namespace headrace::cli
