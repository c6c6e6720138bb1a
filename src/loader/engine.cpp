#include "loader/engine.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <exception>

namespace headrace {

/// What one decode thread owns.
struct Engine::Worker {
  DecodeCounters counters;
  BlockServer server;
  Claim claim;
  std::vector<RowRun> runs;
  std::vector<RowDigest> digests;
  Worker(StageClock& clock, const Source& source, const BlockLayout& layout, const ResidentArrays& resident,
         SideChunks& side_chunks)
      : counters(clock), server(source, layout, resident, side_chunks, counters) {}
};

namespace {

/// Fields of a batch: the data's, and those that are derived.
std::shared_ptr<const std::vector<Field>> batch_fields(const Source& source, const EnginePlan& plan) {
  auto fields = std::make_shared<std::vector<Field>>(*source.fields);
  if (plan.tells_rows) fields->push_back({"_rows", "", {DType::Kind::kInt, 8}, {2}});
  if (plan.batching.tail == Tail::kPad) fields->push_back({"_weight", "", {DType::Kind::kFloat, 4}, {}});
  return fields;
}

/// Of every row of the data set once: what an epoch must add up to.
RowSums sums_of(const BlockTable& blocks) {
  if (!blocks.is_chosen()) return RowSums::of_all(blocks.num_rows());
  RowSums sums;
  const std::span<const std::uint64_t> words = blocks.chosen()->words();
  for (std::uint64_t w = 0; w < words.size(); ++w)
    for (std::uint64_t left = words[w]; left != 0; left &= left - 1)
      sums.add(w * 64 + static_cast<std::uint64_t>(std::countr_zero(left)));
  return sums;
}

RequestWindow::Options window_options(const Source& source, const EnginePlan& plan) {
  return {plan.slots, plan.batching, plan.tells_rows, BlockServer::file_weights(source)};
}

}  // namespace

Engine::Engine(std::shared_ptr<const Source> source, EnginePlan plan, std::vector<MemoryReservation> reservations)
    : source_(std::move(source)),
      plan_(std::move(plan)),
      reservations_(std::move(reservations)),
      owner_pid_(::getpid()),
      pads_(plan_.batching.tail == Tail::kPad),
      tells_rows_(plan_.tells_rows),
      fields_(batch_fields(*source_, plan_)),
      pool_(std::make_shared<SlotPool>(source_->fields, fields_, plan_.slot_rows(), plan_.slots)),
      window_(plan_.sampler, plan_.layout.table, window_options(*source_, plan_), *pool_),
      side_chunks_(plan_.side_chunks_bytes) {
  pool_->set_release_callback([this] { window_.memory_released(); });
  for (std::uint32_t t = 0; t < plan_.threads; ++t)
    workers_.push_back(std::make_unique<Worker>(board_.add_thread(fmt::format("decode-{}", t)), *source_, plan_.layout,
                                                resident_, side_chunks_));
}

std::shared_ptr<Engine> Engine::make(std::shared_ptr<const Source> source, EnginePlan plan,
                                     std::vector<MemoryReservation> reservations) {
  // In a forked child the threads, and all that waits for them, are the parent's: leave everything untouched.
  return {new Engine(std::move(source), std::move(plan), std::move(reservations)), [](Engine* engine) {
            if (!engine->forked()) delete engine;
          }};
}

Engine::~Engine() {
  stop();
}

bool Engine::forked() const {
  return ::getpid() != owner_pid_;
}

Status Engine::check_usable() const {
  if (forked())
    return std::move(
        Error(ErrorCode::kForked, "this loader was made in the parent process, and threads do not survive a fork")
            .with_hint("Make the loader in the child, or start the child with the 'spawn' method."));
  if (stopped_) return Error(ErrorCode::kClosed, "the loader was closed");
  return {};
}

Status Engine::start_epoch(std::uint64_t epoch, std::uint64_t position) {
  HEADRACE_TRY(check_usable());
  if (!started_) HEADRACE_TRY(start_threads());
  if (plan_.fed) plan_.fed->end();  // rows that were given for an epoch are for that one only
  window_.start_epoch(epoch, position, plan_.fed == nullptr);
  if (plan_.fed) plan_.fed->begin(epoch, position);
  const std::lock_guard lock(sums_mutex_);
  sums_ = {epoch, position, {}, false};
  return {};
}

void Engine::feed(std::span<const std::uint64_t> rows) {
  plan_.fed->append(rows);
  window_.order_grew();
}

Status Engine::start_threads() {
  for (auto& w : workers_) HEADRACE_TRY(w->server.prepare());
  HEADRACE_TRY(load_resident_arrays());
  for (std::size_t t = 0; t < workers_.size(); ++t) {
    threads_.emplace_back([this, t] { work(*workers_[t]); });
    ::pthread_setname_np(threads_.back().native_handle(), fmt::format("hr-decode-{}", t).c_str());
  }
  started_ = true;
  return {};
}

/// Side arrays that are kept decoded. A part that fails is remembered: the error belongs to the batch that needs it.
Status Engine::load_resident_arrays() {
  struct Load {
    std::uint32_t file;
    std::size_t array;
    Piece piece;
    ResidentArrays::Part* part;
  };
  std::vector<Load> loads;
  for (std::uint32_t f = 0; f < source_->files.size(); ++f)
    for (std::size_t a = 0; a < source_->num_arrays(); ++a) {
      if (plan_.layout.files[f].roles[a] != ArrayRole::kResident) continue;
      const ArrayReader& reader = *source_->files[f].arrays[a];
      std::vector<Piece> pieces;
      HEADRACE_TRY(reader.locate({0, source_->files[f].rows}, pieces));
      auto& target = resident_.arrays[{f, a}];
      target.across.resize(reader.pieces_across());
      for (const Piece& p : pieces) target.across[p.across].emplace_back().rows = p.rows;
      std::vector<std::size_t> next(target.across.size(), 0);
      for (const Piece& p : pieces) loads.push_back({f, a, p, &target.across[p.across][next[p.across]++]});
    }
  std::atomic<std::size_t> next{0};
  const auto run = [&](Worker& worker) {
    for (std::size_t i; (i = next.fetch_add(1)) < loads.size();) {
      const Load& load = loads[i];
      Result<ResidentArrays::Part> part = worker.server.load(load.file, load.array, load.piece);
      worker.counters.add_decodes(load.piece.decoded_bytes, load.piece.decoded_bytes);
      if (part.ok())
        *load.part = std::move(*part);
      else
        load.part->error = part.error();
    }
  };
  std::vector<std::jthread> helpers;
  for (std::size_t t = 1; t < std::min(workers_.size(), loads.size()); ++t)
    helpers.emplace_back([&, t] { run(*workers_[t]); });
  if (!loads.empty()) run(*workers_[0]);
  return {};
}

void Engine::work(Worker& w) {
  std::uint64_t clock = now_ns();
  while (window_.claim(w.claim)) {
    const std::uint64_t start = now_ns();
    w.counters.clock.add(Stage::kWaitWork, start - clock, 0);
    w.runs.clear();
    w.digests.assign(w.claim.runs.size(), {});
    for (const SlotRun& r : w.claim.runs)
      w.runs.push_back(
          {r.slot->memory->fields.data(), r.begin, r.end, r.slot->step.first_position, &w.digests[w.runs.size()]});
    const BlockTable::Place place = plan_.layout.table->place(w.claim.block);
    std::vector<RowFailure> unexpected;
    std::span<const RowFailure> failures;
    try {
      failures = w.server.serve(place.file, place.rows, w.claim.requests, w.runs, w.claim.first, window_.cancel_flag());
    } catch (const std::exception& e) {  // bad_alloc, or a library's own: the rows fail, not the process
      unexpected.push_back({{0, place.rows.count},
                            Error(ErrorCode::kInternal, fmt::format("unexpected: {}", e.what()))
                                .with_file(source_->files[place.file].path)});
      failures = unexpected;
    }
    window_.complete(w.claim, failures, w.digests);
    clock = now_ns();
  }
}

bool Engine::wait(std::chrono::nanoseconds limit) {
  return !check_usable().ok() || window_.wait_head(limit);
}

Result<std::optional<Engine::Delivery>> Engine::next() {
  HEADRACE_TRY(check_usable());
  HEADRACE_ASSIGN(std::optional<RequestWindow::Delivered> d, window_.next());
  if (!d) {
    HEADRACE_TRY(check_epoch());
    return std::optional<Delivery>();
  }
  {
    const std::lock_guard lock(sums_mutex_);
    sums_.sums += d->sums;
  }
  std::vector<std::shared_ptr<void>> derived = derived_columns(*d);
  return std::optional<Delivery>(
      {pool_->deliver(std::move(d->memory), d->rows, d->epoch, d->batch, std::move(derived)), d->step.end});
}

/// In the order of batch_fields().
std::vector<std::shared_ptr<void>> Engine::derived_columns(const RequestWindow::Delivered& d) const {
  std::vector<std::shared_ptr<void>> columns;
  if (tells_rows_) {
    columns.push_back(SlotPool::column(d.samples.size() * 2 * sizeof(std::int64_t)));
    auto* out = static_cast<std::int64_t*>(columns.back().get());
    for (const SampleRef sample : d.samples) {
      const BlockTable::Place place = plan_.layout.table->place(sample.block);
      *out++ = place.file;
      *out++ = static_cast<std::int64_t>(place.rows.first + sample.row);
    }
  }
  if (pads_) {
    columns.push_back(SlotPool::column(d.rows * sizeof(float)));
    auto* out = static_cast<float*>(columns.back().get());
    for (std::uint64_t i = 0; i < d.rows; ++i) out[i] = i < d.step.real_rows ? 1.0F : 0.0F;
  }
  return columns;
}

/// An epoch has ended. Whole ones of one rank must have been every row once: their sums are known in closed form.
Status Engine::check_epoch() {
  const std::lock_guard lock(sums_mutex_);
  const bool whole = sums_.first_sample == 0 && plan_.batching.share.world_size == 1 &&
                     plan_.batching.tail == Tail::kPartial && plan_.sampler->is_permutation();
  if (!whole || sums_.complete) return {};
  if (!every_row_) every_row_ = sums_of(*plan_.layout.table);
  if (sums_.sums != *every_row_)
    return Error(ErrorCode::kInternal,
                 fmt::format("epoch {} did not deliver every row once: a fault of headrace or of this machine's memory",
                             sums_.epoch));
  sums_.complete = true;
  return {};
}

EpochSums Engine::sums() const {
  const std::lock_guard lock(sums_mutex_);
  return sums_;
}

void Engine::stop() {
  if (stopped_.exchange(true) || forked()) return;
  pool_->set_release_callback({});
  window_.stop();
  for (std::thread& t : threads_) t.join();
  threads_.clear();
  pool_->close();
  for (auto& w : workers_) w->server.release();
  side_chunks_.clear();
  reservations_.clear();
}

Engine::Decodes Engine::decodes() const {
  Decodes sum;
  for (const auto& w : workers_) {
    sum.decoded_bytes += w->counters.decoded_bytes();
    sum.needed_bytes += w->counters.needed_bytes();
    sum.slow_pieces += w->counters.slow_pieces();
  }
  return sum;
}

}  // namespace headrace
