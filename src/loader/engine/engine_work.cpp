// The part of Engine that its decode threads run: claims of the window, served from files, caches and memory.
#include <cmath>
#include <exception>

#include "assembly/copying/finisher.h"
#include "assembly/servers/missing_blocks.h"
#include "assembly/window/requests_by_block.h"
#include "base/memory/process_watch.h"
#include "base/thrown.h"
#include "loader/engine/engine_thread.h"

namespace headrace {
namespace {

/// What was thrown, at a file, if there is memory to say which.
Error error_at_file(const std::exception& thrown, const std::string& file) noexcept {
  Error error = error_of(thrown);
  try {
    error.with_file(file);
  } catch (const std::exception&) {  // no memory to say where
  }
  return error;
}

/// Keep a block before a batch needs it. \return False where that failed, as where memory was short: it is met again,
/// and told of, when a batch does need the block.
template <class Keep>
bool keep_ahead(Keep keep) {
  try {
    return keep().empty();
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

/// Nothing is thrown on a decode thread: what happens in a claim is an error of its rows, what happens between claims
/// is tried again.
void Engine::work(DecodeThread& w) noexcept {
  if (preloads_ && decoded_cache_->keeps()) preload_blocks(w);
  while (window_.claim(w.claim)) {
    serve_claim(w);
    window_.complete(w.claim, w.failed ? std::span<const RowFailure>(&*w.failed, 1) : w.failures, w.digests);
    try {
      make_room();
      watch_process_memory(now_ns());
    } catch (const std::exception&) {  // no memory: after the next claim, then
    }
  }
}

void Engine::serve_claim(DecodeThread& w) {
  w.counters.clock.add(Stage::kWaitWork, w.claim.waited_ns, 0);
  w.failed.reset();
  w.failures.clear();
  w.digests.clear();
  try {
    w.digests.assign(w.claim.runs.size(), {});
    if (w.claim.kind == Claim::Kind::kFinish)
      finish(w);
    else if (w.claim.kind == Claim::Kind::kSpare)
      keep_uncached(w);
    else if (w.parts)
      w.claim.kind == Claim::Kind::kBatch ? gather_parts(w) : serve_parts(w);
    else
      w.claim.kind == Claim::Kind::kBatch ? gather_batch(w) : serve_block(w);
  } catch (const std::exception& e) {  // bad_alloc, or a library's own: the rows fail, not the process
    const bool is_block = w.server && w.claim.kind == Claim::Kind::kUnit;
    const std::string& path =
        is_block ? source_.rows()->files[plan_.blocks->place(w.claim.unit).file].path : source_.first_path();
    w.failed = RowFailure{{0, ~std::uint64_t{0}}, error_at_file(e, path)};
  }
}

/// Every unit to where it is kept, in the order of the files. What fails is left for the batch that needs it.
void Engine::preload_blocks(DecodeThread& w) {
  const std::atomic<bool>& cancelled = stopped_;
  for (std::uint64_t u; !stopped_ && (u = next_preload_.fetch_add(1)) < plan_.num_units();) {
    const auto unit = static_cast<std::uint32_t>(u);
    if (!decoded_cache_->has(unit) && decoded_cache_->fills())
      (void)keep_ahead([&] {
        if (w.parts) return w.parts->keep(unit, cancelled);
        const BlockTable::FileRows place = plan_.blocks->place(unit);
        return w.server->serve({unit, place.file, place.rows, true, 0, {.ahead = true}}, {}, cancelled);
      });
    preloaded_.fetch_add(1);
  }
}

/// The claim's parts of one unit of a map.
void Engine::serve_parts(DecodeThread& w) {
  const auto failures = w.parts->serve(w.claim, w.digests, window_.cancel_flag());
  w.failures.assign(failures.begin(), failures.end());
}

/// A whole batch of mapped samples from the store that has all rows, or is going to.
void Engine::gather_parts(DecodeThread& w) {
  const auto failures = w.parts->gather(w.claim, w.digests[0], asked_blocks_, window_.cancel_flag());
  w.failures.assign(failures.begin(), failures.end());
}

/// A finishing task of a batch.
void Engine::finish(DecodeThread& w) {
  const WindowSlot& slot = *w.claim.runs[0].slot;
  const StageSpan span(w.counters.clock, Stage::kScatter);
  const StepContent& c = slot.content;
  const Finisher& finisher = plan_.padding ? *plan_.padding : *source_.finisher();
  auto failure = finish_task(
      finisher, {slot.memory->fields, c.samples, c.starts, *plan_.blocks, slot.epoch, plan_.seed, c.lengths},
      w.claim.unit);
  if (failure) w.failures.push_back(std::move(*failure));
}

/// The claim's rows of one block, decoded or from where it is kept.
void Engine::serve_block(DecodeThread& w) {
  w.runs.clear();
  for (const SlotRun& r : w.claim.runs)
    w.runs.push_back({r.slot->memory->fields.data(), r.begin, r.end, r.slot->content.step.first_position,
                      &w.digests[w.runs.size()], plan_.seed, w.claim.epoch});
  const BlockTable::FileRows place = plan_.blocks->place(w.claim.unit);
  const std::uint64_t next_use =
      schedule_ ? schedule_->next_use(w.claim.unit, w.claim.epoch, w.claim.last) : std::uint64_t{0};
  const auto failures =
      w.server->serve({w.claim.unit,
                       place.file,
                       place.rows,
                       w.claim.first,
                       next_use,
                       {.ahead = w.claim.ahead, .wanted_again = !w.claim.last, .starting = w.claim.starting}},
                      {w.claim.requests, {}, w.runs}, window_.cancel_flag());
  w.failures.assign(failures.begin(), failures.end());
  if (w.claim.first) {
    claims_.add(w.claim.epoch);
    if (w.claim.epoch != first_epoch_)  // else it was counted when they were decoded
      for (std::size_t a = 0; a < source_.rows()->num_arrays(); ++a)
        if (plan_.layout.files[place.file].roles[a] == ArrayRole::kResident)
          w.counters.add_decodes(
              0, source_.rows()->files[place.file].arrays[a]->info().row_record_bytes() * place.rows.count);
  }
  const BlockCache* const blocks = decoded_cache_->blocks.get();
  const bool stays = blocks ? plan_.fits_encoded && blocks->refused() == 0 : decoded_cache_->fills();
  if (!stays) may_keep_all_ = false;
  if (may_keep_all_ && w.claim.last && !decoded_cache_->has(w.claim.unit)) uncached_.add(w.claim.unit);
  // A block that is decoded ahead of need is wanted again.
  const bool keeps = (may_keep_all_ && decoded_cache_->policy.allows({.wanted_again = true})) ||
                     (blocks && blocks->num_blocks() == plan_.blocks->num_blocks());
  keeps_blocks_.store(keeps, std::memory_order_relaxed);
}

/// Decode a block once more while no consumer waits, and keep it. It counts as needed, as preload() does: keeping
/// asks for it, and says nothing about how the data is chunked.
void Engine::keep_uncached(DecodeThread& w) {
  const std::optional<std::uint32_t> block = uncached_.take();
  if (!block || !may_keep_all_ || decoded_cache_->has(*block)) return;
  const BlockTable::FileRows place = plan_.blocks->place(*block);
  const std::uint64_t next_use = schedule_ ? schedule_->next_use(*block, w.claim.epoch, true) : 0;
  (void)keep_ahead([&] {
    return w.server->serve({*block, place.file, place.rows, true, next_use, {.ahead = true}}, {},
                           window_.cancel_flag());
  });
}

/// A whole batch from the store that has all rows, or is going to.
void Engine::gather_batch(DecodeThread& w) {
  const StepContent& content = w.claim.runs[0].slot->content;
  const std::span<const SampleRef> samples = content.samples;
  StageSpan span(w.counters.clock, Stage::kScatter);
  span.add_bytes(samples.size() * source_.sample_bytes());
  RowStore& store = (*decoded_cache_->rows)[0];
  if (!store.all_checked())
    for (const SampleRef s : samples)
      if (const Status sound = store.check(s.block); !sound.ok())
        decoded_cache_->notice(DecodedCache::text_of(sound.error(), "The rows are read from their own file instead."));
  if (store.complete() && !decoded_cache_->damaged.any()) {
    w.counters.add_decodes(0, needed_bytes_of(claims_.add_gathered(w.claim.epoch, content.step.begin, samples.size())));
    const SlotRun& slot = w.claim.runs[0];
    w.failures =
        gather_->gather(samples, {slot.slot->memory->fields.data(), slot.begin, slot.end,
                                  slot.slot->content.step.first_position, w.digests.data(), plan_.seed, w.claim.epoch});
    return;
  }
  span.stop();
  if (!plan_.gathers) gather_ready_.store(false, std::memory_order_relaxed);  // damaged: the next epoch goes by blocks
  serve_by_block(w, samples, w.failures);
}

/// Samples that came from memory: their share of what one decode of every block would have been. Rounded up, so that an
/// epoch is never less than one.
std::uint64_t Engine::needed_bytes_of(double samples) const {
  if (samples <= 0) return 0;
  std::uint64_t record_bytes = 0;
  for (const auto& array : source_.rows()->files[0].arrays) record_bytes += array->info().row_record_bytes();
  const double stored_per_row = static_cast<double>(plan_.data_bytes) / static_cast<double>(source_.sample_bytes()) /
                                static_cast<double>(plan_.blocks->num_rows());
  return static_cast<std::uint64_t>(std::ceil(samples * static_cast<double>(record_bytes) * stored_per_row));
}

/// As gather_batch(), from a store that is still being filled, or of which some blocks turned out to be damaged: block
/// by block, those that are not there from their own files.
void Engine::serve_by_block(DecodeThread& w, std::span<const SampleRef> samples, std::vector<RowFailure>& failures) {
  RequestsByBlock wanted(samples);
  const SlotRun& slot = w.claim.runs[0];
  const auto task_of = [&](std::uint64_t block, bool first, bool ahead) {
    const BlockTable::FileRows place = plan_.blocks->place(block);
    return BlockTask{block, place.file, place.rows, first, 0, {.ahead = ahead}};
  };
  claims_.add(w.claim.epoch, asked_blocks_.ask(w.claim.epoch, wanted.blocks, [&](std::uint32_t block) {
    return w.server->needed_bytes(task_of(block, true, false));
  }));
  const auto serve = [&](const RequestsByBlock::Block& block) {
    const std::span<const Request> requests = wanted.of(block);
    RowDigest digest;
    const RowRun run{slot.slot->memory->fields.data(),
                     0,
                     static_cast<std::uint32_t>(requests.size()),
                     slot.slot->content.step.first_position,
                     &digest,
                     plan_.seed,
                     w.claim.epoch};
    for (const RowFailure& f :
         w.server->serve(task_of(block.unit, block.first, false), {requests, {}, {&run, 1}}, window_.cancel_flag()))
      for (const Request& r : requests)
        if (r.item >= f.rows.first && r.item < f.rows.end()) failures.push_back({{r.position, 1}, f.error});
    w.digests[0] += digest;
  };
  const RowStore& store = (*decoded_cache_->rows)[0];
  for (const RequestsByBlock::Block& block : wanted.blocks)
    if (!store.ready(block.unit)) ahead_.complete(static_cast<std::uint32_t>(block.unit), slot.slot->sequence);
  std::vector<RequestsByBlock::Block> busy;
  serve_missing(
      (*decoded_cache_->rows)[0], std::span(wanted.blocks), slot.slot->sequence, busy,
      [](const RequestsByBlock::Block& b) { return std::uint64_t{b.unit}; }, serve,
      [&](std::uint64_t block) {
        (void)keep_ahead([&] { return w.server->serve(task_of(block, false, true), {}, window_.cancel_flag()); });
      },
      window_.cancel_flag());
}

}  // namespace headrace
