#include <fmt/format.h>
#include <headrace/bytes.h>
#include <headrace/tools.h>

#include <csignal>
#include <cstdio>
#include <memory>

#include "exit_status.h"
#include "terminal.h"
#include "verbs.h"

namespace headrace::cli {
namespace {

struct RewriteArguments {
  std::vector<std::string> files;
  std::string chunk_rows = "auto", memory;
  RewriteOptions rewrite;
  bool json = false, quiet = false;
};

std::uint64_t rows_of(const std::string& text) {
  if (text == "auto") return 0;
  std::uint64_t rows = 0;
  if (!CLI::detail::lexical_cast(text, rows) || rows == 0 || text.starts_with('-'))
    throw Error(ErrorCode::kInvalidArgument, fmt::format("--chunk-rows {} is no number of rows", text))
        .with_hint("Give a whole number from 1 on, or auto.");
  return rows;
}

int run_rewrite(RewriteArguments options) {
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on the size of files is an error like a full disk, not the end
  options.rewrite.chunk_rows = rows_of(options.chunk_rows);
  if (!options.memory.empty()) options.rewrite.memory_bytes = parse_bytes(options.memory);
  bool announced = false;
  if (!options.quiet && !options.rewrite.dry_run)
    options.rewrite.announce = [&](const std::string& text) {
      announced = true;
      tell(text + "\n");
    };
  ProgressLine line("rewriting", ProgressLine::Unit::kBytes, !options.quiet);
  ToolResult result;
  try {
    result = rewrite(options.files, options.rewrite, line.callback());
  } catch (Error& error) {
    if (error.code() == ErrorCode::kCancelled && !options.rewrite.dry_run)
      throw error.with_hint("Run the same command again: it goes on with what is written already.");
    throw;
  }
  if (announced && stderr_is_terminal())  // cost and gain stand above already
    result.text.erase(0, result.text.find("DONE"));
  return show_result(result, options.json);
}

}  // namespace

Verb add_rewrite(CLI::App& program) {
  const auto options = std::make_shared<RewriteArguments>();
  CLI::App* app = program.add_subcommand(
      "rewrite", "Write HDF5 and .npy files anew, in chunks and with a codec that load faster; verified, resumable");
  RewriteOptions& rewrite = options->rewrite;
  app->add_option("FILE", options->files, "Files or globs")->required();
  app->add_option("--to", rewrite.to, "Directory of the new files; created if absent")->required();
  app->add_option("--codec", rewrite.codec, "lz4, zstd, blosc, gzip, none, or auto: chosen from a measurement")
      ->capture_default_str();
  app->add_option("--chunk-rows", options->chunk_rows, "Rows of a chunk; auto: about 2 MiB in the largest array")
      ->capture_default_str();
  app->add_flag("--shuffle", rewrite.shuffle, "Write the rows of all files in a random order, alike in all arrays");
  app->add_option("--seed", rewrite.seed, "Seed of the order")->capture_default_str();
  app->add_option("--memory", options->memory, "Most memory to hold, for example 8GiB");
  app->add_option("--threads", rewrite.threads, "Threads; 0: as many as this process may use")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  app->add_flag("--dry-run", rewrite.dry_run, "Say what it would cost and gain, and write nothing");
  app->add_flag("--json", options->json, "Print JSON");
  app->add_flag("--quiet", options->quiet, "Show neither cost and gain beforehand nor a progress line");
  app->footer(
      "Says beforehand what it costs and gains, and asks nothing. After a kill, the same command goes on.\n\n"
      "Examples:\n  headrace rewrite 'train_*.h5' --to fast/ --dry-run\n  headrace rewrite 'train_*.h5' --to fast/\n"
      "  headrace rewrite 'train_*.h5' --to shuffled/ --codec zstd --shuffle --seed 1");
  return {app, &options->json, [options] { return run_rewrite(*options); }};
}

}  // namespace headrace::cli
