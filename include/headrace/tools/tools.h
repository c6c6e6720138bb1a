// The command line's verbs as functions: each returns data (JSON text) and a screen for people.
#pragma once

#include <headrace/loader/loader.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace headrace {

struct ToolResult {
  std::string text;       ///< One screen, no colour.
  std::string json;       ///< The same as data.
  std::string plot;       ///< A picture as SVG, where a tool draws one.
  bool findings = false;  ///< Exit status 1: something is worth attention.
  bool bad_data = false;  ///< Exit status 3: damaged, truncated or unreadable bytes were found.
  std::string run_file;   ///< Settings as a run file, where a tool makes some.
  int exit_status = 0;    ///< Of a tool that has its own (check_memory); 0: as the two above say.
};

/// Layout, chunks, filters, bytes a sample and the read path of every array of some files, and what will be fast.
ToolResult inspect(const std::vector<std::string>& paths);

/// Decode and check every chunk of every readable array; list what is bad. `progress(done_bytes, total_bytes)` may be
/// empty; returning false stops.
ToolResult verify(const std::vector<std::string>& paths, std::uint32_t threads,
                  const std::function<bool(std::uint64_t, std::uint64_t)>& progress);

struct BenchOptions {
  std::uint64_t epochs = 1;
  double max_seconds = 0;  ///< Stop after this long; 0: no limit.
};
/// Deliver batches to nobody and report the rate.
ToolResult bench(Loader& loader, const BenchOptions& options,
                 const std::function<bool(std::uint64_t, std::uint64_t)>& progress);

struct OrderOptions {
  std::string by;  ///< Field with a label: a number a sample, or one-hot. Empty: none.
  std::uint64_t epoch = 0;
};
/// How well a loader's order mixes, what it needs in memory, and what others would; with a picture. Reads nothing but
/// the label. Errors: kFieldMissing, kInvalidArgument: no such label.
ToolResult order(const Loader& loader, const OrderOptions& options);

struct ReplayOptions {
  std::uint64_t epoch = 0, step = 0;
  std::vector<std::uint64_t> rows_of_epoch = {};  ///< As for Loader::batch(); usually none.
};
/// Make a batch of any epoch again (Loader::batch) and tell its rows, by file, and what its values are. Findings:
/// values that are not finite. Errors: as Loader::batch().
ToolResult replay(const Loader& loader, const ReplayOptions& options);

/// Fill the cache directory of a loader (LoaderOptions::cache) with every block, and close the loader. Errors: of the
/// data; kWriteFailed: the directory cannot be written or has no room; kCancelled.
ToolResult cache_build(Loader& loader, const std::function<bool(std::uint64_t, std::uint64_t)>& progress);
/// The caches in a directory of decoded rows: what they hold, and whether they are of use still. Reads no rows.
/// Findings: stale ones and abandoned builds; damaged ones are bad data. Errors: kNotFound: no such directory.
/// Where `directory` is empty: what this user's index store remembers of data sets that were opened (HEADRACE_CACHE),
/// as "indexes" in the JSON. Findings: files that changed, damaged indexes.
ToolResult cache_list(const std::string& directory);
/// Compare every row of a cache, or of all where `name` is empty, with its checksums. Errors: kNotFound; kCancelled.
ToolResult cache_verify(const std::string& directory, const std::string& name,
                        const std::function<bool(std::uint64_t, std::uint64_t)>& progress);
/// Delete a cache. Errors: kNotFound; kInvalidArgument: a process is filling it. Where `directory` is empty: forget
/// what is remembered of a data set.
ToolResult cache_remove(const std::string& directory, const std::string& name);

/// A run file: the words of the options in YAML (docs/run-files.md). Unknown keys name the nearest one.
struct RunConfig {
  std::vector<std::string> files;
  OpenOptions open;
  LoaderOptions loader;
  std::string framework = "numpy", batch_format = "dict";  ///< For the Python face.
};
RunConfig load_run(const std::string& path);

/// Does it fit? The limits that hold for this process, what a loader of these settings would take by component, and the
/// verdict: exit_status 0 fits, 10 tight (above 70 % of what is really available), 11 would be killed (above 90 %), or
/// cannot be made at all. Reads metadata only. `run.loader.memory` is taken as if the process were allowed so much.
ToolResult check_memory(const RunConfig& run);

struct AdviseOptions {
  double target_per_second = 0;  ///< Samples a second that a training takes; 0: as many as can be had.
  double effort = 1;             ///< Of the time it measures for, 1.5 s in all; less is less exact.
};
/// Which settings for this machine and these files, and why; measures for 2 s at most. `run_file` is the same as YAML
/// that load_run() takes. Errors: of the files; kOutOfBudget if one batch and one block cannot fit.
ToolResult advise(const RunConfig& run, const AdviseOptions& options);
/// "20000", "20000/s", "20k/s", "1.5M/s". Errors: kInvalidArgument.
double parse_rate(const std::string& text);

/// Name and version of Headrace and of every library it runs on.
std::vector<std::pair<std::string, std::string>> versions();

}  // namespace headrace
