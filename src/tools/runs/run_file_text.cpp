#include "tools/runs/run_file_text.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

#include "dataset/recipe/data_tree.h"
#include "loader/options/loader_settings.h"
#include "tools/runs/yaml.h"

namespace headrace {

std::string data_section_text(const RunConfig& run, const std::set<std::string>* companions) {
  return yaml_text("data", data_value(*with_companions(*run.data, companions)), 0).value();
}

LoaderSettings loader_settings(const RunConfig& run) {
  LoaderSettings settings = settings_of(run.loader);
  settings.framework = run.framework;
  settings.device = run.device;
  settings.batch_format = run.batch_format;
  return settings;
}

void set_loader(RunConfig& run, const LoaderSettings& settings) {
  run.loader = settings.options;
  run.framework = settings.framework;
  run.device = settings.device;
  run.batch_format = settings.batch_format;
}

std::string run_file_text(const RunConfig& run, const std::set<std::string>* companions) {
  std::string out = data_section_text(run, companions);
  const LoaderSettings settings = loader_settings(run);
  out += yaml_text("loader", {spec<LoaderSettings>().write_map(&settings)}, 0).value();
  if (out.size() > kMaxYamlBytes)
    throw Error(ErrorCode::kInvalidArgument, fmt::format("the run file would have {}, and {} are read of one",
                                                         format_bytes(out.size()), format_bytes(kMaxYamlBytes)))
        .with_hint("Say selected samples by split(), which takes one line; join large tables after load_run().");
  return out;
}

}  // namespace headrace
