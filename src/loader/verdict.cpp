#include "loader/verdict.h"

#include <fmt/format.h>
#include <headrace/base/bytes.h>

#include <algorithm>

#include "base/cpu_count.h"
#include "base/memory_budget.h"

namespace headrace {
namespace {

// Shares of the step that the consumer waits: the thresholds of TensorFlow's input-pipeline analyser.
constexpr double kFine = 0.05, kModerate = 0.20;

const Report::Stage& stage(const Report& r, std::string_view name) {
  return *std::find_if(r.stages.begin(), r.stages.end(), [&](const Report::Stage& s) { return s.name == name; });
}

std::string busiest_stage(const Report& r) {
  const Report::Stage* best = &stage(r, "decode");
  for (const char* name : {"read", "scatter", "cache"})
    if (stage(r, name).seconds > best->seconds) best = &stage(r, name);
  return best->name;
}

}  // namespace

void diagnose(Report& r, const Loader::Impl& loader) {
  const double wait = r.consumer_wait_seconds, step = wait + r.consumer_work_seconds;
  if (r.batches == 0 || step <= 0) {
    r.verdict = "nothing was delivered yet";
    return;
  }
  const double share = wait / step;
  double busy = 0, total = 0;
  for (const Report::Stage& s : r.stages) {
    total += s.seconds;
    if (s.name != "idle") busy += s.seconds;
  }
  const std::string limit = busiest_stage(r);
  if (share < kFine)
    r.verdict = fmt::format("loading is not your limit: the consumer waited {:.1f} % of the time", 100 * share);
  else
    r.verdict = fmt::format(
        "loading is {}your limit: the consumer waited {:.0f} % of the time; the threads were busy {:.0f} %, mostly in "
        "{}",
        share < kModerate ? "partly " : "", 100 * share, total > 0 ? 100 * busy / total : 0, limit);
  if (share < kFine) return;

  const std::uint32_t cpus = static_cast<std::uint32_t>(usable_cpu_count());
  if (r.read_amplification > 1.2) {
    const std::shared_ptr<const Engine> engine = loader.engine();
    const EnginePlan& p = engine->plan();
    const std::uint64_t once = p.planned_bytes() + (p.wanted_slots - std::min(p.wanted_slots, p.slots)) * p.slot_bytes;
    if (p.slots < p.wanted_slots && once > process_memory_wanted())
      r.advice.push_back(fmt::format(
          "every block is decoded {:.1f} times: to decode it once takes {}, more than this process may have ({})",
          r.read_amplification, format_bytes(once), format_bytes(process_memory_wanted())));
    else if (p.slots < p.wanted_slots)
      r.advice.push_back(fmt::format("memory={}: every block would be decoded once instead of {:.1f} times",
                                     format_bytes(once), r.read_amplification));
    else
      r.advice.push_back(
          fmt::format("chunks are decoded {:.1f} times each because fields are chunked differently: give them "
                      "chunks of like rows when you write the files",
                      r.read_amplification));
  }
  if (!r.slow_fields.empty())
    r.advice.push_back(
        "rewrite the fields that are read one chunk at a time, with gzip, LZ4, zstd or Blosc: READS names them");
  if (limit == "decode" && r.threads < cpus)
    r.advice.push_back(fmt::format("threads={}: {} processors are there, {} decode", cpus, cpus, r.threads));
  else if (limit == "decode" && r.slow_fields.empty())
    r.advice.push_back(
        "decoding is the limit on all processors: a faster codec (zstd or Blosc instead of gzip) costs less a byte");
  if (limit == "cache")
    r.advice.push_back(r.cache.kind == "directory"
                           ? "writing the cache directory takes most of the time now; later epochs and runs gain by it"
                       : r.cache.complete
                           ? "decoding what is kept re-encoded is the limit: more memory= would keep rows decoded"
                           : "keeping blocks for later epochs takes most of the time now; later epochs gain by it");
  if (limit == "read")
    r.advice.push_back("reading is the limit: files on a local disk, or more threads for more reads in flight");
}

}  // namespace headrace
