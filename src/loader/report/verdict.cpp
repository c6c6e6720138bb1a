#include "loader/report/verdict.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>

#include "base/machine/own_cpus.h"
#include "base/memory/memory_budget.h"
#include "loader/engine/access.h"

namespace headrace {
namespace {

const Report::Stage& stage(const Report& r, std::string_view name) {
  return *std::find_if(r.stages.begin(), r.stages.end(), [&](const Report::Stage& s) { return s.name == name; });
}

std::string busiest_stage(const Report& r) {
  const Report::Stage* best = &stage(r, "decode");
  for (const char* name : {"read", "scatter", "cache"})
    if (stage(r, name).seconds > best->seconds) best = &stage(r, name);
  return best->name;
}

/// How much faster the threads would be through if they read and decoded every block once.
double speedup_by_decoding_once(const Report& r) {
  const double again = stage(r, "read").seconds + stage(r, "decode").seconds;
  const double busy = again + stage(r, "scatter").seconds + stage(r, "cache").seconds;
  const double then = busy - again * (1 - 1 / std::max(r.read_amplification, 1.0));
  return then > 0 ? busy / then : 1;
}

/// Name what decodes every block once: another shape of the shuffle in this budget, or more memory.
void advise_once(Report& r, const SmallBudget& small) {
  const std::string before = fmt::format("instead of {:.1f} times", r.read_amplification);
  if (small.fitting)
    r.advice.push_back(
        fmt::format("{}: every block would be decoded once {}, in this budget; about {:.1f} times as "
                    "fast. {}",
                    small.fitting->setting, before, r.decode_once->speedup, mixing_text(small)));
  else if (small.is_shuffle)
    r.advice.push_back(
        fmt::format("blocks are decoded {:.1f} times each, and {}", r.read_amplification, no_shuffle_text(small)));
  if (small.memory_bytes == 0) return;
  const std::uint64_t may = process_memory_wanted();
  r.advice.push_back(fmt::format("memory=\"{}\": every block would be decoded once {}, in the same batches{}",
                                 size_setting(small.memory_bytes), before,
                                 small.memory_bytes > may
                                     ? fmt::format("; that is more than this process may have ({})", format_bytes(may))
                                     : ""));
}

void describe_small_budget(Report& r, const SmallBudget& small) {
  Report::DecodeOnce& once = r.decode_once.emplace(Report::DecodeOnce{});
  once.memory_bytes = small.memory_bytes;
  once.deff_now = small.block_effect;
  if (!small.fitting) return;
  once.shuffle_buffer_bytes = small.fitting->shape.bytes;
  once.deff = small.fitting->block_effect;
  once.speedup = speedup_by_decoding_once(r);
}

}  // namespace

std::string advice_for_cache(const Report::Cache& cache) {
  if (!cache.complete)
    return cache.kind == "directory"
               ? "writing the cache directory takes most of the time now; later epochs and runs gain by it"
               : "keeping blocks for later epochs takes most of the time now; later epochs gain by it";
  if (cache.kind == "blocks" && cache.coding != "decoded")
    return "decoding re-encoded blocks of the cache is the limit: with more memory= the cache keeps rows decoded";
  return "copying rows from the cache into batches is the limit: memory bandwidth allows no more";
}

std::string advice_for_shared_cpus(double cpu_seconds, double wall_seconds, double busy_seconds, std::uint32_t cpus) {
  constexpr double kAllBusy = 0.9, kLeastDecoding = 0.05, kLeastSeconds = 0.5;
  const double there = wall_seconds * cpus, own = cpu_seconds - busy_seconds;
  if (wall_seconds < kLeastSeconds || cpu_seconds < kAllBusy * there) return {};
  if (busy_seconds < kLeastDecoding * there || own < wall_seconds) return {};  // one thread of the program is no rival
  return fmt::format(
      "all {} processors are busy, {:.0f} % of their time with loading and {:.0f} % with your program's own computing: "
      "where a training step computes on these processors as well, the two slow each other. Try "
      "torch.set_num_threads({}), or fewer threads= here",
      cpus, 100 * busy_seconds / there, 100 * own / there, std::max(cpus / 2, 1U));
}

void diagnose(Report& r, const Loader::Impl& loader) {
  const std::optional<SmallBudget> small = loader.small_budget(loader.engine());
  if (small) describe_small_budget(r, *small);
  if (const std::optional<Mixing> mixing = loader.mixing(loader.engine()))
    r.mixing = Report::Mixing{mixing->block_effect, mixing->file_effect, mixing->mixed_bytes};
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
  if (share < kFineShare)
    r.verdict = fmt::format("loading is not your limit: the consumer waited {:.1f} % of the time", 100 * share);
  else
    r.verdict = fmt::format(
        "loading is {}your limit: the consumer waited {:.0f} % of the time; the threads were busy {:.0f} %, mostly in "
        "{}",
        share < kModerateShare ? "partly " : "", 100 * share, total > 0 ? 100 * busy / total : 0, limit);
  const std::uint32_t cpus = own_cpus().count;
  if (const std::string shared = advice_for_shared_cpus(loader.consumer->cpu_seconds(), r.wall_seconds, busy, cpus);
      !shared.empty())
    r.advice.push_back(shared);
  if (share < kFineShare) return;

  if (r.read_amplification > 1.2) {
    if (source_of(loader.dataset()).mapped() && source_of(loader.dataset()).mapped()->boxes)
      r.advice.push_back(
          fmt::format("{:.1f} bytes are decoded for each that is delivered, since patches have parts of chunks: chunks "
                      "that are no larger than a patch along each axis waste least",
                      r.read_amplification));
    else if (small)
      advise_once(r, *small);
    else if (source_of(loader.dataset()).mapped())
      r.advice.push_back(fmt::format(
          "blocks are read {:.1f} times each, since samples that share them are not put together at the same "
          "time: cache='auto' and memory= for all of the rows read each once",
          r.read_amplification));
    else
      r.advice.push_back(
          fmt::format("chunks are decoded {:.1f} times each because fields are chunked differently: write the files "
                      "with the same number of rows per chunk in all fields",
                      r.read_amplification));
  }
  if (!r.slow_fields.empty())
    r.advice.push_back(
        "rewrite the fields that READS says are read or converted one at a time: with gzip, LZ4, zstd or Blosc, and as "
        "numbers that NumPy has");
  if (limit == "decode" && r.threads < cpus)
    r.advice.push_back(
        fmt::format("threads={}: this process may use {} processors, and {} threads decode", cpus, cpus, r.threads));
  else if (limit == "decode" && r.slow_fields.empty())
    r.advice.push_back(
        "decoding is the limit on all processors: a faster codec (zstd or Blosc instead of gzip) takes less time for "
        "each byte");
  if (limit == "cache") r.advice.push_back(advice_for_cache(r.cache));
  if (limit == "read")
    r.advice.push_back(
        r.reading
            ? fmt::format("reading is the limit, with {:.0f} reads of {:.1f} ms in flight: files on a local disk, or "
                          "fewer bytes to read; see docs/late-files.md",
                          r.reading->in_flight, 1e3 * r.reading->seconds_a_read)
            : "reading is the limit: files on a local disk, or fewer bytes to read");
}

}  // namespace headrace
