// The commands of the command line as functions. Each returns data (JSON text) and a screen for people.
#pragma once

#include <headrace/loader.h>
#include <headrace/tokenize.h>
#include <headrace/tokens.h>
#include <headrace/volumes.h>
#include <headrace/windows.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headrace {

struct RunConfig;

/// What a tool found.
struct ToolResult {
  std::string text;       ///< One screen, no colour.
  std::string json;       ///< The same as data.
  std::string plot;       ///< A picture as SVG, from tools that draw one.
  std::string png;        ///< A picture as PNG, from tools that draw one.
  std::string markdown;   ///< The table as Markdown, from tools that compare.
  bool findings = false;  ///< True gives exit status 1: something deserves attention.
  bool bad_data = false;  ///< True gives exit status 3: damaged, truncated or unreadable bytes.
  std::string run_file;   ///< Settings as a run file, from tools that make one.
  int exit_status = 0;    ///< Exit status of tools that have their own (check_memory); 0: see above.
};

/// What inspect() looks into beside metadata.
struct InspectOptions {
  /// Say how long the samples are that it makes. Reads its key or offsets. A "*" in the key stands for files with
  /// arrays for each sample, as in FieldChoice.
  std::optional<SampleBy> sample_by = {};
  std::vector<std::string> values = {};  ///< Arrays whose values are counted, in all files. Reads all of them.
  std::string picture = {};              ///< An array whose middle slice, in the first file, is drawn; empty: none.
};
/// Describe every array of some files (layout, chunks, filters, bytes of a sample, read path), and what will be fast.
ToolResult inspect(const std::vector<std::string>& paths, const InspectOptions& options = {});

/// Decode and check every chunk of every readable array, and list those that are damaged. `progress(done_bytes,
/// total_bytes)` may be empty; return false to stop.
ToolResult verify(const std::vector<std::string>& paths, std::uint32_t threads,
                  const std::function<bool(std::uint64_t, std::uint64_t)>& progress);

/// Options of bench().
struct BenchOptions {
  std::uint64_t epochs = 1;       ///< Number of epochs.
  double max_seconds = 0;         ///< Stop after this long; 0: no limit.
  std::uint64_t max_batches = 0;  ///< Batches after which an epoch is cut short; 0: no limit.
};
/// What to compare a measurement with.
struct BenchJudgement {
  std::string baseline;             ///< JSON file of an earlier bench; empty: none.
  double max_slowdown_percent = 0;  ///< Findings if a rate is lower by more than this; 0: it is only told.
};
/// Iterate without a consumer and report the throughput. Findings: arrays that only libhdf5 reads; rates below those of
/// the baseline. Errors: errors of the data; kCancelled; kNotFound and kInvalidArgument: a baseline that is none.
ToolResult bench(Loader& loader, const BenchOptions& options,
                 const std::function<bool(std::uint64_t, std::uint64_t)>& progress,
                 const BenchJudgement& judgement = {});
/// Several measurements in one run.
struct BenchSeries {
  std::vector<std::uint64_t> batch_sizes;     ///< Empty: that of the run.
  std::vector<std::string> validation_files;  ///< Paths and globs that are read in file order besides; may be empty.
  std::uint64_t rounds = 3;                   ///< How often each is measured, in turns.
};
/// Measure a loader with several batch sizes, or with validation files besides, in alternating rounds, each with a
/// loader of its own. `options.max_seconds` is for all of them together; 0: 60 s. `progress` is given (rounds done,
/// rounds in all). Errors: as bench().
ToolResult bench(const RunConfig& run, const BenchOptions& options, const BenchSeries& series,
                 const std::function<bool(std::uint64_t, std::uint64_t)>& progress,
                 const BenchJudgement& judgement = {});
/// Return what stands around the contestants in that schema as JSON: schema, version, machine, data, page cache, and no
/// contestants. Reads nothing, and says how much of the files was in the page cache now.
std::string bench_frame(const Dataset& dataset);
/// Make table, Markdown, picture and JSON of measurements in the schema "headrace-bench/1"
/// (docs/is-my-loading-slow.md), which `measured` has up to the rounds of each contestant. Errors: kInvalidArgument: it
/// is not in that schema; errors of the baseline as bench().
ToolResult bench_report(const std::string& measured, const BenchJudgement& judgement);

/// Options of order().
struct OrderOptions {
  std::string by;           ///< Field with a label: one number per sample, or one-hot. Empty: none.
  std::uint64_t epoch = 0;  ///< Number of the epoch to look at.
};
/// Compute how well the order of a loader mixes, how much memory it needs, and the same for other orders; with a
/// picture. Reads nothing but the label. Errors: kFieldMissing, kInvalidArgument: no such label.
ToolResult order(const Loader& loader, const OrderOptions& options);

/// Options of replay().
struct ReplayOptions {
  std::uint64_t epoch = 0;                        ///< Number of the epoch.
  std::uint64_t step = 0;                         ///< Number of the batch, from the start of the epoch.
  std::vector<std::uint64_t> rows_of_epoch = {};  ///< See Loader::batch(); usually empty.
  std::vector<std::uint64_t> batch_rows = {};     ///< See Loader::batch(); usually empty.
};
/// Make a batch of any epoch again (Loader::batch), and list its rows by file and describe its values. Findings: values
/// that are not finite. Errors: as Loader::batch().
ToolResult replay(const Loader& loader, const ReplayOptions& options);

/// Fill the cache directory of a loader (LoaderOptions::cache) with every block, and close the loader. Errors: errors
/// of the data; kWriteFailed if the directory cannot be written or has no room; kCancelled.
ToolResult cache_build(Loader& loader, const std::function<bool(std::uint64_t, std::uint64_t)>& progress);
/// List the caches in a directory of decoded rows: what they hold, and whether they can still be used. Reads no rows.
/// Findings: stale caches and abandoned builds; damaged ones are bad data. Errors: kNotFound: no such directory.
/// If `directory` is empty: list the indexes of data sets that this user opened (HEADRACE_CACHE), as "indexes" in the
/// JSON. Findings: files that changed, damaged indexes.
ToolResult cache_list(const std::string& directory);
/// Compare every row of a cache (of all caches if `name` is empty) with its checksums. Errors: kNotFound; kCancelled.
ToolResult cache_verify(const std::string& directory, const std::string& name,
                        const std::function<bool(std::uint64_t, std::uint64_t)>& progress);
/// Delete a cache, or, if `directory` is empty, the index of a data set. Errors: kNotFound; kInvalidArgument: a process
/// is filling the cache.
ToolResult cache_remove(const std::string& directory, const std::string& name);

/// Options of rewrite().
struct RewriteOptions {
  std::string to;                ///< Directory of the new files, which get the names of the old ones; made if need be.
  std::string codec = "auto";    ///< "lz4", "zstd", "blosc", "gzip", "none", or "auto": chosen from a measurement.
  std::uint64_t chunk_rows = 0;  ///< Rows of a chunk, in every array; 0: for about 2 MiB in the largest array.
  bool shuffle = false;          ///< Write the rows of all files in a random order, the same for all arrays.
  std::uint64_t seed = 0;        ///< Seed of that order. Equal seeds and files give equal orders.
  std::uint32_t threads = 0;     ///< Number of threads; 0: as many as this process may use.
  std::uint64_t memory_bytes = 0;  ///< Most memory to hold; 0: what the process's budget has free.
  bool dry_run = false;            ///< Say what it would cost and gain, and write nothing.
  std::function<void(const std::string&)> announce = {};  ///< Called with cost and gain before anything is written.
};
/// Write HDF5 and .npy files anew, in chunks and with a codec that load faster: the same objects, attributes, types,
/// shapes and values. Every row is compared with its source before a file gets its name. A call that was killed leaves
/// no half-written file under such a name, and the same call goes on where it stopped.
/// `progress(done_bytes, total_bytes)` may be empty; return false to stop.
/// Errors: kInvalidArgument: an output exists and is another file, or is a source; kWriteFailed: no room, or the disk
/// fails; kCorruptData: a source is damaged, or what was written is not what was read; kOutOfBudget; kCancelled.
ToolResult rewrite(const std::vector<std::string>& paths, const RewriteOptions& options,
                   const std::function<bool(std::uint64_t, std::uint64_t)>& progress);

/// What tokenize_corpus() is told.
struct TokenizeArguments {
  std::string tokenizer;                                  ///< Path or name, as Tokenizer takes it.
  TokenizerOptions tokenizer_options = {};                ///< What is said of a .tiktoken file.
  std::string to;                                         ///< The output, as for TokenWriter.
  TokenizeOptions options = {};                           ///< All else; its `progress` is not used.
  bool dry_run = false;                                   ///< Say what it would take, and write nothing.
  std::function<void(const std::string&)> announce = {};  ///< Called with the estimate before anything is written.
};
/// Tokenise files of text (tokenize()), with an estimate before. `progress(done_bytes, total_bytes)` may be empty;
/// return false to stop. Findings: documents that were skipped. Errors: as tokenize() and Tokenizer.
ToolResult tokenize_corpus(const std::vector<std::string>& paths, const TokenizeArguments& arguments,
                           const std::function<bool(std::uint64_t, std::uint64_t)>& progress);

/// Contents of a run file: the options in YAML (docs/run-files.md).
struct RunConfig {
  DataTree data = {};                    ///< How the data set is made: tree_of(), Dataset::tree().
  LoaderOptions loader = {};             ///< Options of the loader.
  std::string framework = "numpy";       ///< What arrays are in Python: "numpy" or "torch".
  std::string device = "cpu";            ///< Where batches are delivered in Python. The C++ program leaves them here.
  std::string batch_format = "dict";     ///< What a batch is in Python: "dict" or "tuple".
  std::vector<std::string> became = {};  ///< What words of another program's file became, a sentence each.
  std::string path = {};                 ///< The run file that it was read from; empty: none.
};
/// Read a run file, or the configuration of a program that trained on text with Grain (see docs/start-jax.md). For an
/// unknown key the error names the most similar one.
RunConfig load_run(const std::string& path);
/// Open the data of a run. `progress` as open() of a tree. Errors: those of the verbs that make it.
Dataset open_run(const RunConfig& run, const std::function<bool(std::uint64_t, std::uint64_t)>& progress = {});
/// As open_run(), with these files in place of the run's, which are read as its own; what is selected of those (select,
/// split) is left out. Errors: kInvalidArgument: a run of several data sets.
Dataset open_run(const RunConfig& run, const std::vector<std::string>& files,
                 const std::function<bool(std::uint64_t, std::uint64_t)>& progress = {});

/// Return the paths and globs that a run opens, for tools that look at files.
std::vector<std::string> files_of_run(const RunConfig& run);
/// Return what makes a sample of its rows, where it says so.
std::optional<SampleBy> sample_by_of_run(const RunConfig& run);

/// Options of check_memory().
struct CheckMemoryOptions {
  std::uint64_t machine_memory_bytes = 0;  ///< Memory of another machine, taken as free, to judge by; 0: this machine.
};
/// Say whether a loader fits into memory: the limits that apply to this process, what a loader with these settings
/// would take by component, and the verdict: exit_status 0 fits, 10 tight (above 70 % of what is really available), 11
/// would be killed (above 90 %) or cannot be made at all. Reads metadata only. `loader.memory` is judged as if the
/// process were allowed that much. Transforms of the data set count: it is the samples that they make which are held.
ToolResult check_memory(const Dataset& dataset, const LoaderOptions& loader, const CheckMemoryOptions& options = {});
/// Check the same for the data of a run.
ToolResult check_memory(const RunConfig& run, const CheckMemoryOptions& options = {});

/// Options of advise().
struct AdviseOptions {
  double target_per_second = 0;  ///< Samples a second that the training needs; 0: as many as possible.
  double effort = 1;             ///< Factor on the time of measuring, 1.5 s in all; less is less exact.
  std::uint64_t epochs = 0;      ///< Number of epochs of the training; 0: ten are assumed, and the advice says so.
};
/// Recommend settings for this machine and these files, with reasons. Measures for at most 2 s. `run_file` has them as
/// YAML for load_run(). Errors: errors of the files; kOutOfBudget if one batch and one block cannot fit.
ToolResult advise(const RunConfig& run, const AdviseOptions& options);
/// Parse "20000", "20000/s", "20k/s" or "1.5M/s" (samples a second). Errors: kInvalidArgument.
double parse_rate(const std::string& text);

/// Return name and version of Headrace and of every library it runs on.
std::vector<std::pair<std::string, std::string>> versions();

}  // namespace headrace
