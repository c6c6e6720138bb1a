#include "demo/demo_command.h"

#include <fmt/format.h>
#include <headrace/bytes.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "demo/write_jets.h"

namespace headrace::demo {
namespace {

volatile std::sig_atomic_t interrupted = 0;

/// Write text. A stream that does not take it is told by the status at the end, if at all.
void put(const std::string& text, std::FILE* to) {
  std::fputs(text.c_str(), to);
}

/// Ctrl-C stops between two blocks, so that what was begun is removed. The former handler comes back.
class InterruptGuard {
 public:
  InterruptGuard() {
    interrupted = 0;
    former_ = std::signal(SIGINT, [](int) { interrupted = 1; });
  }
  ~InterruptGuard() { std::signal(SIGINT, former_); }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  void (*former_)(int);
};

/// One line on a terminal's stderr, renewed five times a second: share, rate, time left.
class ProgressLine {
 public:
  explicit ProgressLine(bool shown) : shown_(shown && isatty(STDERR_FILENO) == 1), started_ns_(now_ns()) {}
  ~ProgressLine() {
    if (drawn_) put("\r\x1b[K", stderr);
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const WriteProgress& progress) {
    const std::uint64_t now = now_ns();
    if (!shown_ || now - last_ns_ < 200'000'000) return;
    last_ns_ = now;
    const double seconds = static_cast<double>(now - started_ns_) * 1e-9;
    const double rate = static_cast<double>(progress.done_jets) / seconds;
    const double left = static_cast<double>(progress.total_jets - progress.done_jets) / rate;
    put(fmt::format("\r\x1b[Kwriting jets: {:3.0f} %  {} of {}  {}  {:.0f} jets/s  {:.0f} s left",
                    100.0 * static_cast<double>(progress.done_jets) / static_cast<double>(progress.total_jets),
                    progress.done_jets, progress.total_jets, format_bytes(progress.stored_bytes), rate, left),
        stderr);
    std::fflush(stderr);
    drawn_ = true;
  }

 private:
  const bool shown_;
  const std::uint64_t started_ns_;
  std::uint64_t last_ns_ = 0;
  bool drawn_ = false;
};

int exit_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return 2;
    case ErrorCode::kCancelled:
      return 130;
    default:
      return 4;
  }
}

void print_summary(const DemoArgs& args, const WriteSummary& summary) {
  const double ratio = static_cast<double>(summary.decoded_bytes) / static_cast<double>(summary.stored_bytes);
  if (args.json) {
    const nlohmann::json json = {{"paths", summary.paths},
                                 {"jets", summary.num_jets},
                                 {"stored_bytes", summary.stored_bytes},
                                 {"decoded_bytes", summary.decoded_bytes},
                                 {"seconds", summary.seconds},
                                 {"reused", summary.reused}};
    put(json.dump(2) + "\n", stdout);
    return;
  }
  std::string text = fmt::format("{} {} jets in {} file{} of {}: {} stored, {} decoded (ratio {:.1f})",
                                 summary.reused ? "found" : "wrote", summary.num_jets, summary.paths.size(),
                                 summary.paths.size() == 1 ? "" : "s", args.jets.out_dir,
                                 format_bytes(summary.stored_bytes), format_bytes(summary.decoded_bytes), ratio);
  if (!summary.reused) text += fmt::format(", {:.1f} s", summary.seconds);
  put(text + "\n", stdout);
}

}  // namespace

void add_demo_options(CLI::App& app, DemoArgs& args) {
  app.add_option("--out", args.jets.out_dir, "Directory to write train_00.h5 … into")->required();
  app.add_option("--kind", args.kind, "What to make")->capture_default_str();
  app.add_option("--jets", args.jets.num_jets, "Jets in all files together")->capture_default_str();
  app.add_option("--files", args.jets.files, "Number of files")->capture_default_str();
  app.add_option("--chunk-rows", args.jets.chunk_rows, "Jets in a chunk")->capture_default_str();
  app.add_option("--seed", args.jets.seed, "Equal seeds give equal bytes")->capture_default_str();
  app.add_option("--classes", args.jets.classes, "Classes, in equal runs over all files")->capture_default_str();
  app.add_option("--adjacency-layout", args.adjacency_layout, "triu_max or triu_n")->capture_default_str();
  app.add_option("--storage", args.storage,
                 "gzip-0 … gzip-9, gzip-4+shuffle, lzf, lzf+shuffle, blosc-zstd, none, contiguous")
      ->capture_default_str();
  app.add_option("--threads", args.jets.threads, "Threads that make and compress; 0: all cores")->capture_default_str();
  app.add_flag("--json", args.json, "Print the summary as JSON");
  app.add_flag("--quiet", args.quiet, "Show no progress line");
}

Result<WriteSummary> write_demo(const DemoArgs& args) {
  if (args.kind != "jets") {
    return Error(ErrorCode::kInvalidArgument, fmt::format("no kind of data is called '{}'; there is: jets", args.kind));
  }
  JetOptions options = args.jets;
  HEADRACE_ASSIGN(options.storage, parse_storage(args.storage));
  HEADRACE_ASSIGN(options.pair_layout, parse_pair_layout(args.adjacency_layout));
  const InterruptGuard guard;
  ProgressLine line(!args.quiet);
  options.progress = [&](const WriteProgress& progress) {
    line.show(progress);
    return interrupted == 0 && (!args.jets.progress || args.jets.progress(progress));
  };
  return write_jets(options);
}

int run_demo(const DemoArgs& args) {
  const Result<WriteSummary> summary = write_demo(args);
  if (!summary.ok()) {
    put(fmt::format("error: {}\n", summary.error().what()), stderr);
    return exit_status(summary.error().code());
  }
  print_summary(args, *summary);
  return 0;
}

}  // namespace headrace::demo
