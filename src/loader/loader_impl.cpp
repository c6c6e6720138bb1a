#include "loader/loader_impl.h"

#include <fmt/format.h>
#include <headrace/base/bytes.h>

#include "base/available_memory.h"
#include "base/cpu_count.h"
#include "base/philox.h"
#include "loader/dataset_impl.h"
#include "loader/keeping.h"

namespace headrace {

namespace {

/// Which limit rules the process's budget.
std::string what_limits_memory() {
  const std::uint64_t limit = MemoryBudget::process()->limit_bytes();
  const AvailableMemory available = detect_available_memory();
  if (limit <= available.bytes)
    return fmt::format("the process may hold {}, see set_memory(); {} leaves {}", format_bytes(limit),
                       available.limited_by, format_bytes(available.bytes));
  return fmt::format("{} leaves {}", available.limited_by, format_bytes(available.bytes));
}

/// What rows there are and in which blocks: equal for copies of the files in other places.
std::string hash_of(const Source& source, const BlockLayout& layout) {
  RandomKey key = RandomKey::of({source.files.size(), source.fields->size()});
  for (std::size_t f = 0; f < source.files.size(); ++f)
    key = key.with(source.files[f].rows).with(layout.files[f].block_rows);
  for (const Field& field : *source.fields) {
    for (const char c : field.name + '/' + field.dtype.name()) key = key.with(static_cast<unsigned char>(c));
    for (const std::uint64_t n : field.shape) key = key.with(n);
  }
  if (source.chosen)
    for (const std::uint64_t word : source.chosen->words()) key = key.with(word);
  return fmt::format("{:016x}", key.low);
}

}  // namespace

Loader::Impl::Impl(Dataset d, LoaderOptions o)
    : dataset(std::move(d)),
      options(std::move(o)),
      data_hash(dataset.closed() ? "" : hash_of(*dataset.impl()->source, dataset.impl()->layout)) {}

void Loader::Impl::look_for_cache(PlanContext& context) {
  if (options.cache.mode != CacheChoice::kDirectory) return;
  std::shared_ptr<RowStore> rows = kept_as == Keep::kDirectory && kept ? kept->rows : nullptr;
  if (!rows) {
    if (!whole_cache) whole_cache = find_cache(*dataset.impl(), options.cache, data_hash);
    rows = whole_cache;
  }
  context.cache_is_whole = rows && (rows == whole_cache || rows->complete());
  context.rows_at_hand = rows && rows->complete() && rows->random_access();
  context.directory_in_memory = lies_in_memory(options.cache.directory);
}

Status Loader::Impl::revise() {
  if (closed || !engine->funded() || !kept) return {};
  const EnginePlan& plan = engine->plan();
  const BlockCache::Usage usage = kept->blocks ? kept->blocks->usage() : BlockCache::Usage{};
  const bool refused = plan.keeps_all_coded && usage.refused > 0;
  const bool damaged = plan.rows_at_hand && kept->rows && !kept->rows->complete();
  const MemoryBudget::Snapshot process = MemoryBudget::process()->snapshot();
  const bool short_of_memory = kept->rows && kept->reservation.bytes() > 0 && process.used_bytes > process.limit_bytes;
  if (!refused && !damaged && !short_of_memory) return {};
  if (refused && probe)
    for (CodingTrial& trial : probe->trials)
      if (trial.coding == plan.coding) trial.coded_share = std::max(trial.coded_share, usage.coded_share);
  if (!short_of_memory) return remake();
  engine->stop();
  kept->let_go();
  kept.reset();
  return remake();
}

Result<std::shared_ptr<Engine>> Loader::Impl::make_engine(const BlockMix& mix) {
  if (dataset.closed()) return Error(ErrorCode::kClosed, "the data set was closed");
  const std::shared_ptr<const Source> source = dataset.impl()->source;
  const std::shared_ptr<MemoryBudget> process = MemoryBudget::process();
  LoaderOptions resolved = options;
  if (mix != BlockMix{}) resolved.mix = mix;
  if (const auto* balanced = options.sampler ? std::get_if<Balanced>(options.sampler.get()) : nullptr)
    if (!label) label = read_label(dataset, balanced->by);
  // What this loader holds is its own to plan with. Others' caches and windows are left alone where a short window fits
  // beside them.
  const std::uint64_t own = budget ? budget->snapshot().used_bytes : 0, free = process->free_bytes() + own;
  PlanContext context;
  HEADRACE_ASSIGN(context.rank, choose_own_rank());
  context.cpus = static_cast<std::uint32_t>(usable_cpu_count());
  context.label = label ? &*label : nullptr;
  context.probe = probe ? &*probe : nullptr;
  look_for_cache(context);
  const auto resolve = [&](MemoryRoom room) {
    context.room = room;
    return resolve_plan(*source, resolved, context);
  };
  Result<EnginePlan> made = resolve({free, 0});
  const bool short_of = made.ok() ? made->slots < made->few_slots() : made.error().code() == ErrorCode::kOutOfBudget;
  if (short_of) {
    const std::uint64_t all = process->reclaimable_bytes();
    const std::uint64_t mine = kept && kept->blocks ? kept->blocks->usage().bytes : 0;
    if (all > mine) made = resolve({free, all - mine});
  }
  if (!made.ok()) return made.error();
  EnginePlan plan = std::move(*made);
  if (options.memory > plan.budget_bytes)
    plan.warnings.push_back(fmt::format("memory={} is more than this loader can have: {} ({})",
                                        format_bytes(options.memory), format_bytes(plan.budget_bytes),
                                        what_limits_memory()));
  return Engine::make(source, std::move(plan));
}

Result<RankChoice> Loader::Impl::choose_own_rank() const {
  if (framework_rank) return RankChoice{*framework_rank, "torch.distributed"};
  return choose_rank(options.rank, options.world_size, launcher_variable);
}

Status Loader::Impl::follow_rank() {
  if (closed || engine->forked()) return {};
  HEADRACE_ASSIGN(const RankChoice rank, choose_own_rank());
  if (rank.share == engine->plan().share && !rows_changed && !engine->stopped()) return {};
  rows_changed = false;
  return remake();
}

Status Loader::Impl::remake() {
  engine->stop();  // its memory is the new one's
  HEADRACE_ASSIGN(engine, make_engine(resumed_mix));
  return {};
}

LoaderState Loader::Impl::state_at(Position position) const {
  const std::shared_ptr<const Engine> held = engine.get();
  const EnginePlan& plan = held->plan();
  const std::uint64_t rows = plan.sampler->num_samples();
  if (plan.steps->ends_at(position.epoch, position.samples)) position = {position.epoch + 1, 0};
  return {data_hash, rows, plan.sampler->identity(), plan.steps->identity(), options.seed, plan.global_batch, position};
}

Position Loader::Impl::position() const {
  return consumer->in_epoch ? Position{consumer->epoch, consumer->samples_before} : consumer->next;
}

}  // namespace headrace
