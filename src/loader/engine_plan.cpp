#include "loader/engine_plan.h"

#include <fmt/format.h>
#include <headrace/base/bytes.h>

#include <algorithm>
#include <cmath>

#include "assembly/block_server.h"
#include "base/philox.h"
#include "delivery/slot_pool.h"
#include "loader/refuse.h"

namespace headrace {
namespace {

constexpr std::uint64_t kReadAheadBatches = 8;  // ready batches that smooth an uneven consumer
constexpr std::uint64_t kLeastSlots = 2;        // one being filled, one with the consumer
constexpr std::uint64_t kRequestBytes = 16;     // the window's books for a row, vectors' slack included
constexpr std::uint64_t kBlockIndexBytes = 24;  // two tables of an index a block, places, and when it is used next
constexpr std::uint32_t kMostStreams = 1 << 16;
constexpr std::uint64_t kLeastKeptBlocks = 4;  // a smaller cache is not worth its scratch
constexpr double kCodedSlack = 1.12;           // blocks do not all encode like the one that was tried
constexpr std::uint64_t kHugePageBytes = 2 << 20;
constexpr std::uint64_t kResidentShare = 8;  // side fields may take an eighth of the budget

Result<Batching> resolve_batching(const LoaderOptions& options, RankShare share, std::uint64_t rows) {
  if (options.batch_size != 0 && options.global_batch_size != 0)
    return refuse("batch_size and global_batch_size are two spellings of one number", "Give one of them.");
  if (options.batch_size == 0 && options.global_batch_size == 0) return refuse("batch_size must be at least 1");
  if (options.global_batch_size % share.world_size != 0)
    return refuse(
        fmt::format("global_batch_size {} is no multiple of the {} ranks", options.global_batch_size, share.world_size),
        "Give a multiple, so that all ranks get as many samples.");
  Batching batching{options.global_batch_size, share, options.tail};
  if (options.batch_size > ~std::uint32_t{0} || options.global_batch_size / share.world_size > ~std::uint32_t{0})
    return refuse("batch_size must be below 2^32");
  if (options.batch_size != 0) batching.global_batch = options.batch_size * share.world_size;
  if (options.tail == Tail::kDrop && batching.global_batch > rows)
    return refuse(fmt::format("a batch of {}{} is larger than the data set ({} samples), and drop_last drops what does "
                              "not fill a batch: no batch would be left",
                              batching.global_batch, share.world_size > 1 ? " over all ranks" : "", rows),
                  "Lower batch_size, or do without drop_last.");
  if (share.world_size > rows)
    return refuse(fmt::format("{} samples are too few for {} ranks: some would get none", rows, share.world_size),
                  "Use fewer ranks.");
  if (options.timeout.count() < 0) return refuse("timeout must not be negative");
  return batching;
}

Status check_weights(const Weighted& choice, std::uint64_t rows, std::uint64_t& positive) {
  if (choice.weights.size() != rows)
    return refuse(fmt::format("there are {} weights for {} rows", choice.weights.size(), rows),
                  "Give one for each row.");
  for (std::uint64_t i = 0; i < rows; ++i) {
    if (!std::isfinite(choice.weights[i]) || choice.weights[i] < 0)
      return refuse(fmt::format("the weight of row {} is {}", i, choice.weights[i]),
                    "Weights are finite and not negative.");
    positive += choice.weights[i] > 0;
  }
  if (positive == 0) return refuse("all weights are 0", "Give at least one row a weight.");
  return {};
}

/// A sampler as chosen by the caller.
Result<std::shared_ptr<const Sampler>> make_chosen(const SamplerChoice& choice,
                                                   const std::shared_ptr<const BlockTable>& blocks, const Label* label,
                                                   std::uint64_t seed) {
  using Made = std::shared_ptr<const Sampler>;
  const std::uint64_t rows = blocks->num_rows();
  if (const auto* weighted = std::get_if<Weighted>(&choice)) {
    std::uint64_t positive = 0;
    HEADRACE_TRY(check_weights(*weighted, rows, positive));
    const std::uint64_t most = weighted->replacement ? rows : positive;
    const std::uint64_t samples = weighted->num_samples ? weighted->num_samples : most;
    if (!weighted->replacement && samples > positive)
      return refuse(fmt::format("{} samples cannot be drawn without replacement from {} rows of positive weight",
                                samples, positive),
                    "Lower num_samples, or draw with replacement.");
    return Made(make_weighted(blocks, weighted->weights, weighted->replacement, samples, seed));
  }
  if (const auto* balanced = std::get_if<Balanced>(&choice)) {
    if (!label || label->classes.empty()) return without_classes(balanced->by, "balance");
    return Made(make_balanced(blocks, label->classes, label->num_classes,
                              balanced->num_samples ? balanced->num_samples : rows, seed));
  }
  const auto& listed = std::get<Listed>(choice);
  if (listed.rows.empty()) return refuse("the sampler lists no rows");
  for (const std::uint64_t row : listed.rows)
    if (row >= rows)
      return refuse(fmt::format("the sampler asks for row {}; there are rows 0 to {}", row, rows - 1),
                    "Row numbers are those of the data set, from 0.");
  return Made(make_listed(blocks, listed.rows));
}

Result<Mix> resolve_mix(const LoaderOptions& options, const BlockTable& blocks, std::uint64_t global_batch,
                        std::uint64_t row_bytes) {
  const BlockMix& asked = options.mix;
  if (asked == BlockMix{}) return default_mix(blocks, global_batch, row_bytes);
  if (options.shuffle.mode() != Shuffle::kBlock) return refuse("mix= shapes the block shuffle; this is another order");
  if (asked.bytes != 0 && (asked.streams != 0 || asked.pool_blocks != 0))
    return refuse("a mix is given as bytes, or as streams and pool, not both");
  if (asked.bytes != 0) return mix_of_bytes(blocks, asked.bytes, row_bytes);
  if (asked.streams == 0 || asked.pool_blocks == 0)
    return refuse("a mix needs at least one stream and one block in each pool");
  if (asked.streams > kMostStreams) return refuse(fmt::format("at most {} streams can be mixed", kMostStreams));
  return Mix{asked.streams, asked.pool_blocks};
}

/// The parts of a mixture, each in the order that `shuffle` says.
Result<std::shared_ptr<const Sampler>> make_mixed(const SourceMixture& mixture, const BlockTable& blocks,
                                                  const LoaderOptions& options, std::uint64_t global_batch,
                                                  std::uint64_t row_bytes) {
  std::vector<MixturePart> parts;
  for (std::size_t i = 0; i < mixture.parts.size(); ++i) {
    const SourceMixture::Part& part = mixture.parts[i];
    const auto table = std::make_shared<const BlockTable>(blocks.of_files(part.first_file, part.num_files));
    const std::uint64_t seed = RandomKey::of({options.seed, i}).low;
    MixturePart& made = parts.emplace_back();
    made = {part.name, nullptr, blocks.first_block_of(part.first_file), part.weight};
    switch (options.shuffle.mode()) {
      case Shuffle::kNone:
        made.sampler = make_sequential(table);
        break;
      case Shuffle::kBlock: {
        LoaderOptions own = options;
        if (own.mix.bytes > 0)
          own.mix.bytes =
              std::max<std::uint64_t>(static_cast<std::uint64_t>(static_cast<double>(own.mix.bytes) * part.weight), 1);
        const auto batch = static_cast<std::uint64_t>(static_cast<double>(global_batch) * part.weight);
        HEADRACE_ASSIGN(const Mix mix, resolve_mix(own, *table, std::max<std::uint64_t>(batch, 1), row_bytes));
        made.sampler = make_block_shuffle(table, mix, seed);
        break;
      }
      case Shuffle::kExact:
        made.sampler = make_global_shuffle(table, seed);
        break;
    }
  }
  return std::shared_ptr<const Sampler>(make_mixture(std::move(parts), mixture.num_samples, options.seed));
}

/// Rows of the files that lie in the table's blocks.
std::uint64_t stored_rows(const BlockTable& blocks) {
  if (!blocks.is_chosen()) return blocks.num_rows();
  std::uint64_t rows = 0;
  for (std::uint64_t b = 0; b < blocks.num_blocks(); ++b) rows += blocks.place(b).rows.count;
  return rows;
}

/// Does everything fit in memory, and is it wanted there? \param fixed_bytes  Of the plan, without slots.
Status plan_keeping(const Source& source, const LoaderOptions& options, MemoryRoom room, std::uint64_t fixed_bytes,
                    std::uint64_t slot_bytes, EnginePlan& plan) {
  const bool host = options.share_on_host;
  if (host && options.cache.mode == CacheChoice::kNone)
    return refuse("shared_memory= shares a cache, and cache='none' wants none", "Use cache='ram', or a directory.");
  if (plan.keep == Keep::kDirectory || options.cache.mode == CacheChoice::kNone) return {};
  const bool asked = options.cache.mode == CacheChoice::kRam;
  const std::uint64_t rows_bytes = plan.data_bytes + source.fields->size() * kHugePageBytes;
  const std::uint64_t least = fixed_bytes + (asked ? kLeastSlots : plan.few_slots()) * slot_bytes;
  const std::uint64_t limit = asked ? plan.budget_bytes : std::min(plan.budget_bytes, room.free_bytes);
  if (least + rows_bytes <= limit) {
    plan.keep = host ? Keep::kHostRows : Keep::kAllRows;
    plan.cache_bytes = rows_bytes;
    plan.wanted_slots = plan.few_slots();
    plan.preloads = asked;
    plan.keep_reason = asked ? "cache='ram'" : "all of it fits the budget";
    return {};
  }
  if (host && limit > least) {  // as much of it as there is room for
    plan.keep = Keep::kHostRows;
    plan.cache_bytes = limit - least;
    plan.wanted_slots = std::max(plan.wanted_slots, plan.few_slots());
    plan.keep_reason = "what the budget leaves, for all processes of this host";
    return {};
  }
  if (!asked) return {};
  return std::move(Error(ErrorCode::kOutOfBudget,
                         fmt::format("cache='ram' needs {} for the decoded data and {} to work with; the budget is {}",
                                     format_bytes(rows_bytes), format_bytes(least), format_bytes(plan.budget_bytes)))
                       .with_file(source.files[0].path)
                       .with_hint(fmt::format("Give memory={} ({}), or use cache='auto', which keeps what fits, "
                                              "re-encoded if that pays, or cache='DIRECTORY' on a local disk.",
                                              least + rows_bytes, format_bytes(least + rows_bytes))));
}

}  // namespace

std::uint64_t EnginePlan::few_slots() const {
  return std::min(SlotPool::kHeldSlots + kReadAheadBatches + threads, std::max(wanted_slots, kLeastSlots));
}

double EnginePlan::expected_decodes() const {
  if (keeps_all()) return 1;
  const std::uint64_t span = sampler->span_steps(batching.global_batch, batching.share);
  if (slots >= wanted_slots || window_slots() >= span) return 1;
  return std::max(1.0, std::ceil(static_cast<double>(span) / static_cast<double>(window_slots())));
}

double EnginePlan::decodes_over_ranks() const {
  constexpr std::uint64_t kMostLooks = 1 << 20;  // 50 ns each
  const std::uint64_t blocks = layout.table->num_blocks(), world = batching.share.world_size;
  if (world == 1 || !sampler->has_locality() || blocks == 0) return world == 1 ? 1 : 0;
  const std::uint64_t stride = blocks * world / kMostLooks + 1;
  std::uint64_t decodes = 0, looks = 0;
  for (std::uint32_t r = 0; r < world; ++r) {
    const auto cursor = sampler->cursor({0, 0, batching.global_batch, {r, static_cast<std::uint32_t>(world)}});
    for (std::uint64_t b = 0; b < blocks; b += stride) {
      decodes += cursor->rows_of(static_cast<std::uint32_t>(b)) > 0;
      ++looks;
    }
  }
  return static_cast<double>(decodes) * static_cast<double>(world) / static_cast<double>(looks);
}

Result<EnginePlan> resolve_plan(const Source& source, const LoaderOptions& options, const RankChoice& rank,
                                const Label* label, MemoryRoom room, const CodingProbe* probe, std::uint32_t cpus) {
  EnginePlan plan;
  const std::uint64_t most = room.free_bytes + room.reclaimable_bytes;
  plan.budget_bytes = options.memory ? std::min(options.memory, most) : most;
  plan.budget_reason = !options.memory          ? "what the process may use and nobody holds"
                       : options.memory <= most ? "memory="
                                                : "memory= asks for more than the process may use";
  plan.layout = plan_layout(source, plan.budget_bytes / kResidentShare);
  const std::shared_ptr<const BlockTable> blocks = plan.layout.table;
  const std::uint64_t rows = blocks->num_rows(), row_bytes = source.row_bytes();
  if (options.sampler) {
    if (options.shuffle.mode() != Shuffle::kNone)
      return refuse("shuffle and a sampler exclude each other: both decide the order", "Give one of them.");
    if (source.mixture)
      return refuse("the data set is a mixture, which decides what is drawn; so does a sampler",
                    "Leave the sampler out, or use the parts of the mixture.");
    if (const auto* choice = std::get_if<Fed>(options.sampler.get())) {
      if (choice->num_samples == 0) return refuse("an epoch of 0 samples", "Say how many there will be.");
      plan.fed = std::make_shared<FedRows>();
      plan.sampler = make_fed(blocks, plan.fed, choice->num_samples);
    } else {
      HEADRACE_ASSIGN(plan.sampler, make_chosen(*options.sampler, blocks, label, options.seed));
    }
  }
  const std::uint64_t samples = source.mixture ? source.mixture->num_samples
                                : plan.sampler ? plan.sampler->num_samples()
                                               : rows;
  HEADRACE_ASSIGN(plan.batching, resolve_batching(options, rank.share, samples));
  const std::uint64_t global_batch = plan.batching.global_batch;
  plan.rank_reason = rank.reason;
  plan.tells_rows = options.provenance;
  for (const Field& field : *source.fields)
    if ((plan.tells_rows && field.name == "_rows") || (options.tail == Tail::kPad && field.name == "_weight"))
      return std::move(
          refuse(fmt::format("the data has a field named {}, which is the name of a derived one", field.name),
                 "Give that field another name.")
              .with_field(field.name));
  plan.batch_rows = plan.batching.most_rows();
  plan.num_batches = plan.batching.steps(samples);
  HEADRACE_ASSIGN(plan.mix, resolve_mix(options, *blocks, global_batch, row_bytes));
  if (source.mixture) {
    HEADRACE_ASSIGN(plan.sampler, make_mixed(*source.mixture, *blocks, options, global_batch, row_bytes));
  } else if (!plan.sampler) {
    const Shuffle::Mode mode = options.shuffle.mode();
    plan.sampler = mode == Shuffle::kBlock   ? make_block_shuffle(blocks, plan.mix, options.seed)
                   : mode == Shuffle::kExact ? make_global_shuffle(blocks, options.seed)
                                             : make_sequential(blocks);
  }

  const std::uint64_t stream_rows = samples / std::max<std::uint64_t>(plan.mix.streams, 1);
  if (options.shuffle.mode() == Shuffle::kBlock && !source.mixture && plan.mix.streams > 1 &&
      blocks->max_block_rows() > stream_rows)
    plan.warnings.push_back(
        fmt::format("the largest block has {} rows and a stream only {}: such a block is spread over several streams "
                    "and read for each; smaller chunks, or mix= with fewer than {} streams, would mend it",
                    blocks->max_block_rows(), stream_rows, plan.mix.streams));

  const std::uint64_t slot_rows = plan.slot_rows();
  plan.slot_bytes = SlotPool::slot_bytes(*source.fields, slot_rows);
  const std::uint64_t block_bytes = std::max<std::uint64_t>(blocks->max_block_rows() * row_bytes, 1);
  const std::uint64_t books = slot_rows * kRequestBytes;
  ServerNeed need = BlockServer::need(source, plan.layout);
  const auto fixed = [&](std::uint64_t threads) {
    const std::uint64_t keeping = plan.keep == Keep::kDirectory ? need.keeping_bytes : 0;
    return threads * (need.scratch_bytes + need.read_buffer_bytes + keeping) + plan.layout.resident_bytes +
           blocks->num_blocks() * kBlockIndexBytes;
  };
  if (options.cache.mode == CacheChoice::kDirectory) plan.keep = Keep::kDirectory;
  const std::uint64_t least = kLeastSlots * (plan.slot_bytes + books);
  if (plan.layout.resident_bytes > 0 && fixed(1) + least > plan.budget_bytes) {  // fields in memory are a luxury
    plan.layout = plan_layout(source, 0);
    need = BlockServer::need(source, plan.layout);
  }
  plan.threads = options.threads ? options.threads : cpus;
  plan.threads_reason = options.threads ? "threads=" : "the processors this process may use";
  while (plan.threads > 1 && fixed(plan.threads) + least > plan.budget_bytes) {
    --plan.threads;
    plan.threads_reason = "fewer than asked for: each needs scratch memory";
  }
  if (fixed(plan.threads) + least > plan.budget_bytes)
    return std::move(
        Error(ErrorCode::kOutOfBudget,
              fmt::format("a budget of {} cannot hold two batches ({} each) and the largest block of one thread ({})",
                          format_bytes(plan.budget_bytes), format_bytes(plan.slot_bytes),
                          format_bytes(need.scratch_bytes + need.read_buffer_bytes)))
            .with_file(source.files[0].path)
            .with_hint(fmt::format("The smallest budget is memory={} ({}); a smaller batch_size needs less.",
                                   fixed(1) + least, format_bytes(fixed(1) + least))));
  // What straddles is worth keeping where a chunk for each thread, and another, fit beside the slots.
  const StraddlingNeed straddling = straddling_need(source, plan.layout);
  const std::uint64_t in_use = plan.threads * straddling.largest_chunk_bytes;
  const std::uint64_t side_limit = std::min(plan.budget_bytes / kResidentShare - plan.layout.resident_bytes,
                                            plan.budget_bytes - fixed(plan.threads) - least);
  if (straddling.largest_chunk_bytes > 0 && in_use + straddling.largest_chunk_bytes <= side_limit) {
    plan.side_chunks_in_use_bytes = in_use;
    plan.side_chunks_bytes = std::min(side_limit - in_use, straddling.bytes);
  }
  // With this many slots every block is decoded once: the order's span, what the consumer holds, and some ahead.
  const std::uint64_t block_batches = blocks->max_block_rows() / global_batch + 1;
  plan.wanted_slots = plan.sampler->span_steps(global_batch, rank.share) + SlotPool::kHeldSlots + kReadAheadBatches;
  if (options.shuffle.mode() == Shuffle::kNone && !options.sampler)
    plan.wanted_slots += 2 * plan.threads * block_batches;
  plan.wanted_slots =
      std::min(plan.wanted_slots, 2 * std::max<std::uint64_t>(plan.num_batches, 1) + SlotPool::kHeldSlots);
  plan.data_bytes = stored_rows(*blocks) * row_bytes;
  const std::uint64_t side = plan.side_chunks_bytes + plan.side_chunks_in_use_bytes;
  const auto slots_in = [&](std::uint64_t bytes) {
    return std::min(std::max(plan.wanted_slots, kLeastSlots), bytes / (plan.slot_bytes + books));
  };
  HEADRACE_TRY(plan_keeping(source, options, room, fixed(plan.threads) + side, plan.slot_bytes + books, plan));
  const std::uint64_t around = fixed(plan.threads) + side;
  plan.slots = slots_in(plan.budget_bytes - around -
                        (plan.keep == Keep::kAllRows || plan.keep == Keep::kHostRows ? plan.cache_bytes : 0));
  if (plan.keep == Keep::kNothing && options.cache.mode == CacheChoice::kAuto) {
    // Blocks that are read while they are evicted stay a little longer. Caches of others are not asked for memory.
    const std::uint64_t limit = std::min(plan.budget_bytes, room.free_bytes);
    const std::uint64_t apart = around + plan.threads * need.keeping_bytes + (plan.threads + 1) * block_bytes;
    const std::uint64_t used = apart + plan.slots * (plan.slot_bytes + books);
    const std::uint64_t rest = limit - std::min(limit, used);
    const auto coding_for = [&](std::uint64_t encoded_bytes) {
      const auto data = static_cast<double>(std::max(plan.data_bytes, block_bytes));
      return probe ? choose_coding(probe->trials,
                                   {probe->miss_ns, plan.expected_decodes(), static_cast<double>(rest) / data,
                                    static_cast<double>(encoded_bytes) / data})
                   : nullptr;
    };
    const std::uint64_t direct = plan.few_slots() * (plan.slot_bytes + books);
    const CodingTrial* coded = coding_for(limit - std::min(limit, apart + direct));
    const auto all_coded = static_cast<std::uint64_t>(static_cast<double>(plan.data_bytes) *
                                                      (coded ? coded->coded_share * kCodedSlack : 1));
    if (coded && apart + direct + all_coded <= limit) {
      // All of it, encoded: rows are decoded one by one from there, so that a long window would save nothing.
      plan.keep = Keep::kSomeBlocks;
      plan.keeps_all_coded = true;
      plan.wanted_slots = plan.few_slots();
      plan.slots = slots_in(limit - apart - all_coded);
      plan.cache_bytes = all_coded;
    } else if (rest >= kLeastKeptBlocks * block_bytes) {  // the window comes first; what it cannot use keeps blocks
      plan.keep = Keep::kSomeBlocks;
      plan.cache_bytes = std::min(rest, plan.data_bytes + plan.data_bytes / 64);
    }
    if (!plan.keeps_all_coded) coded = coding_for(rest);
    if (coded && plan.keep == Keep::kSomeBlocks) plan.coding = coded->coding, plan.coded_share = coded->coded_share;
  }
  if (plan.keep == Keep::kSomeBlocks || plan.keep == Keep::kDirectory)
    plan.keeping_bytes = plan.threads * need.keeping_bytes;
  plan.scratch_bytes = plan.threads * need.scratch_bytes;
  plan.read_buffer_bytes = plan.threads * need.read_buffer_bytes;
  plan.index_bytes = plan.slots * books + blocks->num_blocks() * kBlockIndexBytes;
  return plan;
}

}  // namespace headrace
