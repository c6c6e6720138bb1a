#include "tools/advise/probe.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>

#include "assembly/copying/row_copy.h"
#include "assembly/servers/block_server.h"
#include "base/clock.h"
#include "base/threads/parallel.h"
#include "delivery/slot_pool.h"

namespace headrace {
namespace {

constexpr std::uint64_t kMostBlocks = 512, kMostStoredBytes = 192 << 20;
constexpr std::uint64_t kSlotsEach = 4;           // a block's rows go to several batches
constexpr std::uint64_t kGatherBytes = 48 << 20;  // more than most caches hold
constexpr double kOneSeconds = 0.25, kManySeconds = 0.4, kGatherSeconds = 0.05, kSlotSeconds = 0.25;

/// Memory of one batch.
struct ProbeSlot {
  std::vector<PageBuffer> buffers;
  std::vector<std::byte*> fields;
};

/// At most `count` of them, and fewer where fresh memory is slow to come (virtual machines), one at least.
Result<std::vector<ProbeSlot>> make_slots(const std::vector<Field>& fields, std::uint64_t rows, std::uint64_t count) {
  std::vector<ProbeSlot> slots;
  const std::uint64_t limit = now_ns() + static_cast<std::uint64_t>(kSlotSeconds * 1e9);
  while (slots.size() < count && (slots.empty() || now_ns() < limit)) {
    ProbeSlot& slot = slots.emplace_back();
    for (const Field& field : fields) {
      HEADRACE_ASSIGN(PageBuffer buffer, PageBuffer::allocate(std::max<std::uint64_t>(rows * field.row_bytes(), 1)));
      std::fill(buffer.bytes().begin(), buffer.bytes().end(), std::byte{1});  // its pages are there from now on
      slot.fields.push_back(buffer.data());
      slot.buffers.push_back(std::move(buffer));
    }
  }
  return slots;
}

/// Return the processor time of the calling thread.
double processor_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// One thread of the probe: all rows of a block, in random order, to some slots. Not a loader, as for other samples
/// (loader_probe.h): a block of rows may be so large that a loader delivers nothing in the time there is, and a mixed
/// order needs many of them for its first batch, while here each block that is decoded counts.
class Server {
 public:
  Server(const Source& source, const BlockLayout& layout, const ResidentArrays& resident, SideChunks& side_chunks,
         std::span<const ProbeSlot> slots, std::uint64_t slot_rows, std::uint32_t number, std::uint32_t of)
      : layout_(layout),
        slots_(slots),
        number_(number),
        step_(of),
        own_rows_(slot_rows / step_),
        counters_(clock_),
        server_(source, layout, resident, side_chunks, counters_) {}
  Status prepare() { return server_.prepare(); }

  /// \return Rows in place. The first failure is kept.
  std::uint64_t serve(const SampledBlock& block, const std::atomic<bool>& cancelled) {
    const std::uint64_t rows = layout_.table->block_rows(block.block);
    requests_.resize(rows);
    for (std::uint32_t i = 0; i < rows; ++i)
      requests_[i] = {layout_.table->stored_row(block.block, i),
                      static_cast<std::uint32_t>((i * 7919 + random_()) % own_rows_ * step_ + number_)};
    std::shuffle(requests_.begin(), requests_.end(), random_);
    runs_.clear();
    digests_.assign(slots_.size(), {});
    for (std::uint32_t s = 0; s < slots_.size(); ++s) {
      const auto begin = static_cast<std::uint32_t>(rows * s / slots_.size());
      const auto end = static_cast<std::uint32_t>(rows * (s + 1) / slots_.size());
      if (begin < end) runs_.push_back({slots_[s].fields.data(), begin, end, 0, &digests_[s]});
    }
    const auto failures =
        server_.serve({block.block, block.place.file, block.place.rows, true, 0}, {requests_, {}, runs_}, cancelled);
    std::uint64_t failed = 0;
    for (const RowFailure& f : failures) {
      failed += f.rows.count;
      if (!failure_) failure_ = f.error;
    }
    return rows - std::min(rows, failed);
  }
  void load(const ResidentArrays::ArrayPart& part, ResidentArrays& to) {
    server_.load(part, to, [] { return true; });
  }
  [[nodiscard]] StageTable stages() const { return clock_.totals(); }
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

 private:
  const BlockLayout& layout_;
  const std::span<const ProbeSlot> slots_;
  const std::uint64_t number_, step_, own_rows_;  // as in an epoch, no two threads write to the same row
  StageClock clock_;
  DecodeCounters counters_;
  BlockServer server_;
  std::mt19937 random_{1};
  std::vector<Request> requests_;
  std::vector<RowRun> runs_;
  std::vector<RowDigest> digests_;
  std::optional<Error> failure_;
};

/// Parts of the resident arrays that the sampled blocks need. Loading all of them takes an epoch's first moments, not
/// its rate.
Status load_residents(const Source& source, const BlockLayout& layout, std::span<const SampledBlock> blocks,
                      Server& server, ResidentArrays& resident) {
  HEADRACE_TRY(resident.allocate(source, layout));
  for (const SampledBlock& b : blocks)
    for (std::uint32_t a = 0; a < source.num_arrays(); ++a)
      if (layout.files[b.place.file].roles[a] == ArrayRole::kResident)
        server.load({b.place.file, a, b.place.rows}, resident);
  resident.seal();
  return {};
}

double share_of_stage(const StageTable& now, const StageTable& before, Stage stage, double total_ns) {
  const auto s = static_cast<std::size_t>(stage);
  return total_ns > 0 ? static_cast<double>(now[s].ns - before[s].ns) / total_ns : 0;
}

Result<ServingRate> serve_for(std::vector<std::unique_ptr<Server>>& servers, std::uint32_t threads,
                              std::span<const SampledBlock> blocks, double seconds) {
  struct alignas(64) Tally {
    std::uint64_t rows = 0;
    double seconds = 0, read = 0, decode = 0, scatter = 0, processor = 0;
  };
  std::vector<Tally> tallies(threads);
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> cancelled{false};
  HEADRACE_TRY(run_parallel(static_cast<int>(threads), "hr-probe", [&](int t, const std::stop_token&) -> Status {
    Server& server = *servers[static_cast<std::size_t>(t)];
    Tally& tally = tallies[static_cast<std::size_t>(t)];
    server.serve(blocks[next.fetch_add(1) % blocks.size()], cancelled);  // memory is touched, tables are made
    const StageTable before = server.stages();
    const double worked = processor_seconds();
    const std::uint64_t start = now_ns(), limit = start + static_cast<std::uint64_t>(seconds * 1e9);
    do tally.rows += server.serve(blocks[next.fetch_add(1) % blocks.size()], cancelled);
    while (now_ns() < limit);
    const double ns = static_cast<double>(now_ns() - start);
    const StageTable after = server.stages();
    tally.seconds = ns * 1e-9;
    tally.processor = (processor_seconds() - worked) / tally.seconds;
    tally.read = share_of_stage(after, before, Stage::kRead, ns);
    tally.decode = share_of_stage(after, before, Stage::kDecode, ns);
    tally.scatter = share_of_stage(after, before, Stage::kScatter, ns);
    return {};
  }));
  ServingRate rate;
  rate.threads = threads;
  double processor = 0;
  for (const Tally& t : tallies) {
    rate.rows += t.rows;
    rate.rows_per_s += static_cast<double>(t.rows) / t.seconds;
    rate.read_share += t.read / threads;
    rate.decode_share += t.decode / threads;
    rate.scatter_share += t.scatter / threads;
    processor += t.processor / threads;
  }
  rate.processor_share = processor;
  return rate;
}

/// Random rows of `from` to batches: what a later epoch does when all data is kept.
Result<double> gather_rate(const std::vector<Field>& fields, const ProbeSlot& from, std::uint64_t rows,
                           std::span<const ProbeSlot> slots, std::uint64_t slot_rows, std::uint32_t threads,
                           double seconds) {
  std::vector<double> rates(threads);
  HEADRACE_TRY(run_parallel(static_cast<int>(threads), "hr-probe", [&](int t, const std::stop_token&) -> Status {
    std::minstd_rand random(static_cast<unsigned>(t) + 1);
    const ProbeSlot& to = slots[static_cast<std::size_t>(t) % slots.size()];
    std::uint64_t copied = 0;
    const std::uint64_t start = now_ns(), limit = start + static_cast<std::uint64_t>(seconds * 1e9);
    while (now_ns() < limit) {
      for (int i = 0; i < 64; ++i, ++copied) {
        const std::uint64_t source = random() % rows, target = copied % slot_rows;
        for (std::size_t f = 0; f < fields.size(); ++f) {
          const std::size_t bytes = fields[f].row_bytes();
          copy_run(to.fields[f] + target * bytes, from.fields[f] + source * bytes, bytes);
        }
      }
    }
    finish_streaming();
    rates[static_cast<std::size_t>(t)] = static_cast<double>(copied) * 1e9 / static_cast<double>(now_ns() - start);
    return {};
  }));
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

}  // namespace

namespace {
/// On the line through what 1 and `most` threads do; more threads than processors add nothing.
double between(double one, double many, std::uint32_t most, std::uint32_t threads) {
  if (most <= 1 || threads <= 1) return one;
  return one + (many - one) / (most - 1) * (std::min(threads, most) - 1);
}
}  // namespace

double Probe::rows_per_s(std::uint32_t threads) const {
  return between(one.rows_per_s, many.rows_per_s, many.threads, threads);
}
double Probe::gather_of(std::uint32_t threads) const {
  return between(gather_one_rows_per_s, gather_rows_per_s, many.threads, threads);
}

Result<double> touch_rate() {
  const std::uint64_t start = now_ns();
  HEADRACE_ASSIGN(PageBuffer buffer, PageBuffer::allocate(kGatherBytes));
  std::fill(buffer.bytes().begin(), buffer.bytes().end(), std::byte{1});
  return static_cast<double>(kGatherBytes) * 1e9 / static_cast<double>(now_ns() - start + 1);
}

Result<double> copy_rate() {
  HEADRACE_ASSIGN(PageBuffer buffer, PageBuffer::allocate(kGatherBytes));
  std::fill(buffer.bytes().begin(), buffer.bytes().end(), std::byte{1});
  const std::span<std::byte> from = buffer.bytes().first(kGatherBytes / 2), to = buffer.bytes().subspan(from.size());
  const std::uint64_t start = now_ns();
  copy_run(to.data(), from.data(), from.size());
  finish_streaming();
  return static_cast<double>(from.size()) * 1e9 / static_cast<double>(now_ns() - start + 1);
}

Result<Probe> probe_serving(const Source& source, const EnginePlan& plan, std::uint32_t threads, double effort) {
  const std::uint64_t start = now_ns();
  Probe probe;
  const BlockLayout& layout = plan.layout;
  HEADRACE_ASSIGN(const std::vector<SampledBlock> sample, sample_blocks(source, layout, kMostBlocks, kMostStoredBytes));
  const SplitSample split = split_sample(sample);
  HEADRACE_ASSIGN(probe.reads, probe_reads(split, threads, plan.reads_in_flight, effort));
  const std::span<const SampledBlock> blocks =
      std::span(split.warm).first(std::max<std::uint64_t>(probe.reads.blocks, 1));
  std::uint64_t stored = 0, rows = 0;
  for (const SampledBlock& b : blocks) stored += b.stored_bytes, rows += layout.table->block_rows(b.block);
  probe.stored_bytes_a_row = static_cast<double>(stored) / static_cast<double>(std::max<std::uint64_t>(rows, 1));

  const std::uint64_t slot_rows = std::max<std::uint64_t>(plan.slot_rows(), threads);  // one for each of them
  const std::uint64_t wanted = std::min({std::max<std::uint64_t>(plan.window_slots(), 1), kSlotsEach * threads,
                                         std::max<std::uint64_t>(plan.budget_bytes / 8 / plan.slot_bytes, 1)});
  HEADRACE_ASSIGN(const std::vector<ProbeSlot> slots, make_slots(*source.fields, slot_rows, wanted));
  ResidentArrays resident;
  // Chunks that serve many blocks: with room for all they are decoded once, with less a shuffled order misses mostly.
  const bool all_kept = plan.side_chunks_bytes >= straddling_need(source, layout).bytes;
  SideChunks side_chunks(all_kept ? plan.side_chunks_bytes : 0);
  std::vector<std::unique_ptr<Server>> servers;
  for (std::uint32_t t = 0; t < threads; ++t) {
    servers.push_back(std::make_unique<Server>(source, layout, resident, side_chunks, slots, slot_rows, t, threads));
    HEADRACE_TRY(servers.back()->prepare());
  }
  HEADRACE_TRY(load_residents(source, layout, blocks, *servers[0], resident));
  HEADRACE_ASSIGN(probe.one, serve_for(servers, 1, blocks, effort * kOneSeconds));
  probe.many = probe.one;
  if (threads > 1) {
    HEADRACE_ASSIGN(probe.many, serve_for(servers, threads, blocks, effort * kManySeconds));
  }
  for (const auto& server : servers)
    if (server->failure() && !probe.damage) probe.damage = server->failure();
  if (probe.many.rows == 0 && probe.damage) return *probe.damage;
  const std::uint64_t kept_rows = std::clamp<std::uint64_t>(
      kGatherBytes / std::max<std::uint64_t>(source.row_bytes(), 1), 1, layout.table->num_rows());
  HEADRACE_ASSIGN(probe.touch_bytes_per_s, touch_rate());
  HEADRACE_ASSIGN(const std::vector<ProbeSlot> kept, make_slots(*source.fields, kept_rows, 1));
  HEADRACE_ASSIGN(probe.gather_one_rows_per_s,
                  gather_rate(*source.fields, kept[0], kept_rows, slots, slot_rows, 1, effort * kGatherSeconds));
  HEADRACE_ASSIGN(probe.gather_rows_per_s,
                  gather_rate(*source.fields, kept[0], kept_rows, slots, slot_rows, threads, effort * kGatherSeconds));
  probe.seconds = static_cast<double>(now_ns() - start) * 1e-9;
  return probe;
}

}  // namespace headrace
