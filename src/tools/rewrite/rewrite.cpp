// rewrite: files again in better chunks and a faster codec, every row compared with its source.
#include <fmt/format.h>
#include <headrace/bytes.h>
#include <headrace/tools.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>

#include "base/machine/cpu_count.h"
#include "tools/rewrite/rewrite_probe.h"
#include "tools/rewrite/rewrite_words.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

/// Bytes free for this user where `path`, or what there is of it, lies.
std::uint64_t free_bytes_at(const std::string& path) {
  std::error_code ignored;
  fs::path existing = fs::absolute(path, ignored);
  while (!fs::exists(existing, ignored) && existing.has_relative_path()) existing = existing.parent_path();
  struct statvfs status {};
  if (::statvfs(existing.c_str(), &status) != 0) return ~std::uint64_t{0};
  return std::uint64_t{status.f_bavail} * status.f_frsize;
}

/// The codec that an earlier call with the same options chose, for files that it began or finished; empty if none.
std::string chosen_before(const RewritePlan& plan) {
  for (const RewriteFile& file : plan.files)
    for (const std::string& path : {file.record, file.journal})
      if (const auto record = read_record(path); record.ok() && record->asked == plan.asked) return record->codec;
  return {};
}

/// Bytes of the outputs that lie on the disk already.
std::uint64_t bytes_there(const RewritePlan& plan) {
  std::uint64_t bytes = 0;
  for (const RewriteFile& file : plan.files)
    for (const std::string& path : {file.output, file.partial}) {
      std::error_code absent;
      const std::uintmax_t size = fs::file_size(path, absent);
      if (!absent) bytes += size;
    }
  return bytes;
}

Status check_room(const RewriteSummary& summary) {
  const std::uint64_t wanted = summary.forecast->output_bytes + summary.forecast->output_bytes / 20;
  const std::uint64_t there = bytes_there(summary.plan), missing = wanted - std::min(there, wanted);
  if (missing <= summary.free_bytes) return {};
  return Error(ErrorCode::kWriteFailed, fmt::format("about {} are to be written, and {} are free",
                                                    format_bytes(missing), format_bytes(summary.free_bytes)))
      .with_file(summary.plan.options.to)
      .with_stage("write")
      .with_hint(
          "Free some space, name a directory on another disk with --to, or take a codec that stores less "
          "(--codec zstd).");
}

Status check_options(const RewriteOptions& options) {
  if (options.codec != "auto") HEADRACE_TRY(coding_named(options.codec));
  if (options.chunk_rows > (std::uint64_t{1} << 32))
    return Error(ErrorCode::kInvalidArgument, fmt::format("chunks of {} rows are too large", options.chunk_rows));
  return {};
}

Result<ToolResult> rewrite_files(const std::vector<std::string>& paths, const RewriteOptions& options,
                                 const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  HEADRACE_TRY(check_options(options));
  HEADRACE_ASSIGN(RewritePlan plan, make_rewrite_plan(paths, options));
  plan.asked = fmt::format("--codec {} --chunk-rows {}{}", options.codec,
                           options.chunk_rows == 0 ? "auto" : fmt::format("{}", options.chunk_rows),
                           options.shuffle ? fmt::format(" --shuffle --seed {}", options.seed) : "");
  if (const std::string before = chosen_before(plan); !before.empty()) plan.options.codec = before;
  std::uint32_t threads = options.threads;
  if (threads == 0) threads = static_cast<std::uint32_t>(usable_cpu_count());
  if (plan.options.codec != "auto") {  // before anything is measured
    HEADRACE_ASSIGN(const ChunkCoding coding, coding_named(plan.options.codec));
    settle_storage(plan, coding);
  }
  const auto all_done = [&]() -> Result<bool> {
    bool done = true;
    for (const RewriteFile& file : plan.files) {
      HEADRACE_ASSIGN(const FileState state, state_of(plan, file));
      done = done && state == FileState::kDone;
    }
    return done;
  };
  HEADRACE_ASSIGN(bool done, all_done());
  RewriteForecast forecast;
  RewriteSummary summary{plan, nullptr, {}, free_bytes_at(options.to), {}};
  ToolResult result;
  if (!done) {
    HEADRACE_ASSIGN(forecast, probe_rewrite(plan, threads));
    HEADRACE_ASSIGN(done, all_done());  // the codec is settled now
    HEADRACE_ASSIGN(summary.memory, divide_memory(plan, threads));
    forecast_cost(plan, summary.memory, forecast);
    summary.forecast = &forecast;
    HEADRACE_TRY(check_room(summary));
    result.text = forecast_text(summary);
    if (options.announce) options.announce(result.text);
    result.text += '\n';
  } else {
    HEADRACE_ASSIGN(summary.memory, divide_memory(plan, threads));
  }
  if (!options.dry_run) {
    HEADRACE_ASSIGN(summary.done, run_rewrite(plan, summary.memory, progress));
    result.text += done_text(summary);
  } else if (done) {
    result.text = nothing_to_do_text(plan);
  }
  result.json = dump(rewrite_json(summary));
  return result;
}

}  // namespace

ToolResult rewrite(const std::vector<std::string>& paths, const RewriteOptions& options,
                   const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  return rewrite_files(paths, options, progress).value();
}

}  // namespace headrace
