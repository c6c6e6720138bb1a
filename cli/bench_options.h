// The options of `headrace bench`, and what they come to.
#pragma once

#include <headrace/tools.h>

#include <cstdint>
#include <string>
#include <vector>

#include "loader_options.h"

namespace headrace::cli {

struct BenchArguments {
  LoaderArguments loader;
  std::vector<std::string> train_files, val_files, against;
  std::vector<std::uint64_t> batch_sizes;
  std::vector<std::uint32_t> workers;
  std::uint64_t epochs = 0, num_batches = 0, rounds = 0;  // 0: not given
  double seconds = 0, max_slowdown = 0;
  std::string baseline, save;
  bool quick = false, compare = false, describe = false;
  bool explain = false, json = false, quiet = false;

  void add_to(CLI::App& app);
  /// Check what contradicts itself, and fill in what --quick, --compare and --train-files stand for.
  /// Throws Error(kInvalidArgument).
  void settle();
  /// Return true if contestants are asked for that run in Python.
  [[nodiscard]] bool needs_python() const { return compare || !against.empty(); }
  /// Return true if more than one thing is measured.
  [[nodiscard]] bool is_series() const { return !batch_sizes.empty() || !val_files.empty() || rounds > 1; }
  /// Return all of it as JSON, for the Python package: the run as the text of a run file, the rest under the options'
  /// names.
  [[nodiscard]] std::string description() const;
};

/// Write NAME.md, NAME.json and NAME.svg. Throws Error(kWriteFailed).
void save_bench(const ToolResult& result, const std::string& name);

}  // namespace headrace::cli
