#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "exit_status.h"
#include "loader_options.h"
#include "verbs.h"
#include "written_file.h"

namespace headrace::cli {
namespace {

struct OrderArguments {
  LoaderArguments loader;
  OrderOptions order;
  std::string plot;
  bool json = false;
};

int run_order(const OrderArguments& options) {
  if (!options.plot.empty() && !options.plot.ends_with(".svg"))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("--plot writes an SVG picture: the name {} does not end in .svg", options.plot))
        .with_hint(fmt::format("Write --plot {}.svg; any browser shows it.",
                               std::filesystem::path(options.plot).replace_extension().string()));
  const RunConfig run = options.loader.config();
  const Loader loader(open_run(run), run.loader);
  const ToolResult result = order(loader, options.order);
  if (!options.plot.empty()) write_file(options.plot, result.plot, "the picture");
  return show_result(result, options.json);
}

}  // namespace

Verb add_order(CLI::App& program) {
  const auto options = std::make_shared<OrderArguments>();
  CLI::App* app = program.add_subcommand(
      "order", "Say how well the order mixes, how much memory it needs, and what would mix better");
  options->loader.add_to(*app);
  app->add_option("--by", options->order.by,
                  "Report Deff for this label: a field with one number per sample, or one-hot");
  app->add_option("--epoch", options->order.epoch, "Epoch to analyse")->capture_default_str();
  app->add_option("--plot", options->plot, "Write a picture of where batches come from (.svg)");
  app->add_flag("--json", options->json, "Print JSON");
  app->footer(
      "Examples:\n  headrace order 'train_*.h5' --batch-size 512 --by labels\n"
      "  headrace order 'train_*.h5' --world-size 8 --shuffle-buffer 2GiB --plot order.svg");
  return {app, &options->json, [options] { return run_order(*options); }};
}

}  // namespace headrace::cli
