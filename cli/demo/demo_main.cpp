// The writing half of `headrace demo` as a program of its own: benchmarks need the files, not the whole engine.
#include <CLI/CLI.hpp>

#include "demo/demo_command.h"

int main(int argc, char** argv) {
  CLI::App app("Writes JetClass-like HDF5 files");
  headrace::demo::DemoArgs args;
  headrace::demo::add_demo_options(app, args);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return headrace::demo::run_demo(args);
}
