// Options of the verbs that make a loader: bench, order, replay, advise and check-memory.
#pragma once

#include <headrace/tools.h>

#include <CLI/CLI.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headrace::cli {

/// Check that a number is above 0 (or 0), and say so in words: CLI11's own check prints the largest double.
CLI::Validator above_zero(bool or_zero = false);

/// Return true for the name of a run file.
bool is_run_file(const std::string& path);

/// What was given; what was not stays as the run file or the default has it.
struct LoaderArguments {
  std::vector<std::string> files, fields, broadcast;
  std::uint32_t sample_axes = 0;             ///< 0: not given.
  std::map<std::string, std::string> given;  ///< Options of the table: name → text.
  std::optional<bool> shuffle;
  bool exact = false;

  void add_to(CLI::App& app);
  /// Throws what the run file's reading throws, and contradictions.
  [[nodiscard]] RunConfig config() const;

 private:
  /// Return the tree with the arrays that were named here.
  [[nodiscard]] DataTree with_choices(const DataNode& data) const;
};

}  // namespace headrace::cli
