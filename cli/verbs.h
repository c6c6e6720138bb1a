// One verb, one file: each declares its options and says what to do with them.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace headrace::cli {

/// A declared verb. `run` is called after parsing and returns the exit status; it may throw headrace::Error.
struct Verb {
  CLI::App* app = nullptr;
  bool* json = nullptr;
  std::function<int()> run;
};

Verb add_inspect(CLI::App& program);
Verb add_verify(CLI::App& program);
Verb add_bench(CLI::App& program);
Verb add_order(CLI::App& program);
Verb add_replay(CLI::App& program);
Verb add_advise(CLI::App& program);
Verb add_check_memory(CLI::App& program);
Verb add_demo(CLI::App& program);
Verb add_cache(CLI::App& program);
Verb add_rewrite(CLI::App& program);
Verb add_tokenize(CLI::App& program);

}  // namespace headrace::cli
