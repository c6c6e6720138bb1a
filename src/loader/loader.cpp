#include <headrace/loader/loader.h>

#include <fmt/format.h>
#include <headrace/base/bytes.h>

#include "base/cpu_count.h"
#include "base/memory_budget.h"
#include "loader/dataset_impl.h"
#include "loader/loader_impl.h"

namespace headrace {

Loader::Loader(Dataset dataset, LoaderOptions options) : impl_(std::make_unique<Impl>(std::move(dataset), options)) {
  Impl& m = *impl_;
  if (m.dataset.closed()) throw Error(ErrorCode::kClosed, "the data set was closed");
  const std::shared_ptr<const Source> source = m.dataset.impl()->source;
  const std::shared_ptr<MemoryBudget> process = MemoryBudget::process();
  EnginePlan plan =
      resolve_plan(*source, options, process->free_bytes(), static_cast<std::uint32_t>(usable_cpu_count())).value();
  m.budget = process->child("loader", plan.budget_bytes);
  std::vector<MemoryReservation> reservations;
  const auto reserve = [&](MemoryTag tag, std::uint64_t bytes) {
    reservations.push_back(m.budget->try_reserve(tag, bytes).value());
  };
  reserve(MemoryTag::kWindowSlots, plan.slots * plan.slot_bytes);
  reserve(MemoryTag::kScratch, plan.scratch_bytes);
  reserve(MemoryTag::kReadBuffers, plan.read_buffer_bytes);
  reserve(MemoryTag::kResidentFields, plan.side_bytes());
  reserve(MemoryTag::kIndex, plan.index_bytes);
  m.engine = Engine::make(source, std::move(plan), std::move(reservations));
}

Loader::~Loader() {
  if (impl_ && impl_->engine) close();
}
Loader::Loader(Loader&&) noexcept = default;
Loader& Loader::operator=(Loader&& other) noexcept {
  if (this != &other) {
    if (impl_ && impl_->engine) close();
    impl_ = std::move(other.impl_);
  }
  return *this;
}

struct Loader::Epoch::Impl {
  std::shared_ptr<Engine> engine;
  std::shared_ptr<ConsumerState> consumer;
  std::uint64_t epoch = 0, generation = 0;
  std::chrono::nanoseconds timeout{0};
  bool finished = false;

  void check_current() const {
    if (consumer->generation != generation)
      throw Error(ErrorCode::kClosed, "a newer epoch of this loader was started; this one ended with it")
          .with_hint("Use one iterator of a loader at a time, or a second Loader.");
  }
};

Loader::Epoch Loader::epoch() {
  Impl& m = *impl_;
  const std::uint64_t number = m.next_epoch;
  ConsumerState& c = *m.consumer;
  const std::uint64_t start = now_ns();
  if (c.first_start_ns == 0) c.first_start_ns = start;
  c.stop_work(start, false);
  m.engine->start_epoch(number).value();
  m.next_epoch = number + 1;
  ++c.epochs_started;
  Epoch epoch;
  epoch.impl_ = std::make_shared<Epoch::Impl>();
  epoch.impl_->engine = m.engine;
  epoch.impl_->consumer = m.consumer;
  epoch.impl_->epoch = number;
  epoch.impl_->generation = ++c.generation;
  epoch.impl_->timeout = m.options.timeout;
  c.epoch_start_ns = start;
  return epoch;
}

std::optional<Batch> Loader::Epoch::next() {
  Impl& m = *impl_;
  m.check_current();
  if (m.finished) return std::nullopt;
  ConsumerState& c = *m.consumer;
  const std::uint64_t start = now_ns();
  c.stop_work(start, true);
  if (m.timeout.count() > 0 && !m.engine->wait(m.timeout))
    throw Error(ErrorCode::kTimeout,
                fmt::format("no batch came within {:.3g} s", std::chrono::duration<double>(m.timeout).count()))
        .with_hint("Raise timeout=, or look at loader.report() for the stage that holds things up.");
  Result<std::optional<Batch>> batch = m.engine->next();
  const std::uint64_t end = now_ns();
  c.wait_ns += end - start;
  if (!batch.ok()) {
    m.finished = true;
    throw batch.error();
  }
  if (!*batch) {
    m.finished = true;
    ++c.epochs_finished;
    return std::nullopt;
  }
  c.add_batch((*batch)->rows(), end);
  return std::move(*batch);
}

bool Loader::Epoch::wait(std::chrono::nanoseconds limit) {
  impl_->check_current();
  if (impl_->finished) return true;
  const std::uint64_t start = now_ns();
  impl_->consumer->stop_work(start, true);
  const bool ready = impl_->engine->wait(limit);
  impl_->consumer->wait_ns += now_ns() - start;
  return ready;
}
std::uint64_t Loader::Epoch::number() const {
  return impl_->epoch;
}

void Loader::set_epoch(std::uint64_t number) {
  impl_->next_epoch = number;
}
std::uint64_t Loader::next_epoch() const {
  return impl_->next_epoch;
}
std::uint64_t Loader::num_batches() const {
  return impl_->engine->plan().num_batches;
}
const LoaderOptions& Loader::options() const {
  return impl_->options;
}
const Dataset& Loader::dataset() const {
  return impl_->dataset;
}
std::string Loader::explain() const {
  return explain_plan(*impl_);
}
Report Loader::report() const {
  return make_report(*impl_);
}

void Loader::close() {
  if (impl_->engine->forked()) return;
  impl_->closed = true;
  impl_->engine->stop();
}
bool Loader::closed() const {
  return impl_->closed;
}

Loader::Iterator Loader::begin() {
  Iterator it;
  it.epoch_ = epoch();
  it.batch_ = it.epoch_->next();
  return it;
}

void set_memory(std::uint64_t bytes) {
  set_process_memory(bytes).value();
}

}  // namespace headrace
