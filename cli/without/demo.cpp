// In place of cli/demo.cpp in a build without HDF5 or blosc: the verb is known, and says what is missing.
#include <headrace/error.h>

#include <memory>

#include "verbs.h"

namespace headrace::cli {

Verb add_demo(CLI::App& program) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* app = program.add_subcommand("demo", "Write a data set to try things on (not in this build)");
  app->allow_extras();
  return {app, json.get(), [json]() -> int {
            throw Error(ErrorCode::kUnsupported, "this build cannot write HDF5 files")
                .with_hint(
                    "Install libhdf5-dev and libblosc-dev, and build with -DHEADRACE_WITH_HDF5=ON "
                    "-DHEADRACE_WITH_BLOSC=ON.");
          }};
}

}  // namespace headrace::cli
