#include <headrace/bytes.h>
#include <headrace/loader.h>

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include "base/machine/available_memory.h"
#include "base/memory/memory_budget.h"
#include "dataset/dataset_contents.h"
#include "dataset/recipe/refuse.h"
#include "loader/loader_impl.h"
#include "storage/file_system.h"

namespace headrace {
namespace {

constexpr std::uint64_t kLookNs = 50'000'000;  // between two looks whether memory has become free

Loader::Place end_of(std::uint64_t pass) {
  return {.pass = pass, .samples = 0, .last = true, .over = true};
}

Error ended_error() {
  return Error(ErrorCode::kClosed, "a newer epoch of this loader was started; this one ended with it")
      .with_hint("Use one iterator of a loader at a time, or a second Loader.");
}

}  // namespace

Loader::Loader(Dataset dataset, LoaderOptions options, const std::function<bool()>& go_on)
    : impl_(std::make_unique<Impl>()) {
  impl_->manager = EngineManager::make(std::move(dataset), std::move(options), go_on).value();
}

Loader::~Loader() {
  if (impl_ && impl_->manager) close();
}
Loader::Loader(Loader&&) noexcept = default;
Loader& Loader::operator=(Loader&& other) noexcept {
  if (this != &other) {
    if (impl_ && impl_->manager) close();
    impl_ = std::move(other.impl_);
  }
  return *this;
}

void Loader::Impl::check_process() const {
  if (const std::shared_ptr<const Engine> held = engine(); held->forked()) held->check_usable().value();
}

struct Loader::Epoch::Impl : std::enable_shared_from_this<Impl> {
  const std::shared_ptr<EngineManager> manager;
  std::shared_ptr<Engine> engine;  // that it runs on; null: it has to be started
  const std::shared_ptr<ConsumerState> consumer;
  const std::uint64_t generation;
  const std::chrono::nanoseconds timeout;
  std::uint64_t next_look_ns = 0;
  bool finished = false;
  bool counted = false;       // among the epochs that are finished
  std::uint64_t next_sample;  // of the epoch, over all ranks: where the next batch begins
  std::optional<Place> taken;

  Impl(const Loader::Impl& loader, std::shared_ptr<Engine> on)
      : manager(loader.manager),
        engine(std::move(on)),
        consumer(loader.consumer),
        generation(consumer->generation),
        timeout(loader.options().timeout),
        next_sample(consumer->samples_before),
        taken(Place{.pass = generation, .samples = next_sample}) {}

  /// Count the epoch as finished, once.
  void count_finished() {
    if (!std::exchange(counted, true)) ++consumer->epochs_finished;
  }

  /// The consumer has to wait: look, now and then, whether memory that was given to other loaders can be had again.
  void take_back() {
    const std::uint64_t now = now_ns();
    if (!engine->has_given() || now < next_look_ns) return;
    next_look_ns = now + kLookNs;
    engine->take_back();
  }

  void check_current() const {
    if (consumer->generation != generation) throw ended_error();
  }

  /// Throws kForked in a child process: before any lock is taken.
  void check_process() const {
    if (engine && engine->forked()) engine->check_usable().value();
  }

  [[nodiscard]] bool is_paused() const {
    return !consumer->all_given && (!engine || engine->stopped() || engine != manager->engine());
  }

  /// Go on where the epoch is, with another engine: the memory of the one it ran on was given to other loaders.
  void go_on() {
    const EngineManager::Busy busy(*manager);
    check_current();
    manager->prepare().value();
    if (manager->order() != consumer->order)
      throw Error(ErrorCode::kClosed, "this epoch ended when the loader was given other rows, or another rank");
    const std::uint64_t from = consumer->sent ? consumer->samples_before.load() : next_sample;
    const std::shared_ptr<Engine> made = manager->engine();
    manager->read({}, [&](const auto& goes_on) { return made->start_epoch(consumer->epoch, from, goes_on); }).value();
    engine = made;
    manager->set_consumer(weak_from_this());
  }
};

Loader::Epoch Loader::epoch(const std::function<bool()>& go_on) {
  Impl& m = *impl_;
  m.check_process();
  const EngineManager::Busy busy(*m.manager);
  m.manager->prepare().value();
  ConsumerState& c = *m.consumer;
  const std::shared_ptr<Engine> engine = m.engine();
  const std::uint64_t start = now_ns();
  if (c.first_start_ns == 0) {
    c.first_start_ns = start;
    c.first_start_cpu_ns = process_cpu_ns();
  }
  c.stop_work(start, false);
  m.manager
      ->read(go_on, [&](const auto& goes_on) { return engine->start_epoch(c.next.epoch, c.next.samples, goes_on); })
      .value();
  c.begin(c.next);
  c.order = m.manager->order();
  ++c.epochs_started;
  ++c.generation;
  Epoch epoch;
  epoch.impl_ = std::make_shared<Epoch::Impl>(m, engine);
  m.manager->set_consumer(epoch.impl_);
  c.epoch_start_ns = start;
  return epoch;
}

Loader::Epoch Loader::epoch_of(const Place& place) {
  Impl& m = *impl_;
  m.check_process();
  const EngineManager::Busy busy(*m.manager);
  if (place.pass == m.consumer->generation && !m.consumer->in_epoch) m.consumer->end_epoch();
  if (place.pass != m.consumer->generation) throw ended_error();
  Epoch epoch;
  epoch.impl_ = std::make_shared<Epoch::Impl>(m, nullptr);
  m.manager->set_consumer(epoch.impl_);
  return epoch;
}

void Loader::hand_out(const Place& place) {
  impl_->consumer->hand_out(place);
}

std::optional<Batch> Loader::Epoch::next() {
  std::optional<Batch> batch = take();
  if (impl_->taken) impl_->consumer->hand_out(*impl_->taken);
  return batch;
}

const std::optional<Loader::Place>& Loader::Epoch::taken() const {
  return impl_->taken;
}

std::optional<Batch> Loader::Epoch::take() {
  Impl& m = *impl_;
  m.check_process();
  m.check_current();
  if (m.finished) return std::nullopt;
  m.taken.reset();
  ConsumerState& c = *m.consumer;
  const std::uint64_t start = now_ns();
  c.stop_work(start, true);
  const ConsumerGate::Call call(m.manager->gate());
  if (m.is_paused()) m.go_on();
  if (c.all_given) {  // its memory may be others' by now
    if (m.manager->closed()) throw Error(ErrorCode::kClosed, "the loader was closed");
    m.finished = true;
    m.taken = end_of(m.generation);
    return std::nullopt;
  }
  if (m.timeout.count() > 0 && !m.engine->wait(m.timeout))
    throw Error(ErrorCode::kTimeout,
                fmt::format("no batch came within {:.3g} s", std::chrono::duration<double>(m.timeout).count()))
        .with_hint("Raise timeout=, or look at loader.report() for the stage that holds things up.");
  if (m.engine->has_given() && !m.engine->wait(std::chrono::nanoseconds(0))) m.take_back();
  Result<std::optional<Engine::Delivery>> delivery = m.engine->next();
  const std::uint64_t end = now_ns();
  c.add_wait(end - start);
  if (!delivery.ok()) {
    m.finished = true;
    m.manager->set_done(true);
    throw delivery.error();
  }
  if (!*delivery) {
    m.finished = true;
    m.taken = end_of(m.generation);
    m.count_finished();
    m.manager->set_done(true);
    return std::nullopt;
  }
  if ((*delivery)->last) {
    m.count_finished();
    c.all_given = true;
    m.manager->set_done(true);
  }
  c.add_batch((*delivery)->batch, end);
  m.next_sample = (*delivery)->end_sample;
  c.sent = false;
  m.taken = Place{.pass = m.generation, .samples = m.next_sample, .last = (*delivery)->last};
  return std::move((*delivery)->batch);
}

bool Loader::Epoch::wait(std::chrono::nanoseconds limit) {
  impl_->check_process();
  impl_->check_current();
  if (impl_->finished || impl_->consumer->all_given) return true;
  const std::uint64_t start = now_ns();
  impl_->consumer->stop_work(start, true);
  if (limit.count() == 0 && impl_->is_paused()) return false;
  const ConsumerGate::Call call(impl_->manager->gate());
  if (impl_->is_paused()) impl_->go_on();
  if (limit.count() > 0) impl_->take_back();  // else the caller holds what it may not hold while others' threads end
  const bool ready = impl_->engine->wait(limit);
  impl_->consumer->add_wait(now_ns() - start);
  return ready;
}
std::shared_ptr<void> Loader::Epoch::keep_memory() {
  impl_->check_process();
  struct Kept {
    explicit Kept(std::shared_ptr<EngineManager> of) : manager(std::move(of)), call(manager->gate()) {}
    std::shared_ptr<EngineManager> manager;
    ConsumerGate::Call call;
  };
  return std::make_shared<Kept>(impl_->manager);
}
void Loader::Epoch::check_current() const {
  impl_->check_current();
}
std::uint64_t Loader::Epoch::number() const {
  return impl_->consumer->epoch;
}

void Loader::set_epoch(std::uint64_t number) {
  if (number > kLastEpoch) throw refuse(fmt::format("epoch {} is past the last one, {}", number, kLastEpoch));
  Position& next = impl_->consumer->next;
  if (next.epoch == number) return;
  next = {number, 0};
  impl_->consumer->rewound = false;  // what the live epoch gives next leaves the number as it was set
}
std::uint64_t Loader::next_epoch() const {
  return impl_->consumer->next.epoch;
}
std::uint64_t Loader::next_epoch_sample() const {
  return impl_->consumer->next.samples;
}

void Loader::set_rows(std::vector<std::uint64_t> rows) {
  set_rows(impl_->consumer->next.epoch, std::move(rows));
}
void Loader::set_rows(std::uint64_t epoch, std::vector<std::uint64_t> rows, std::span<const std::uint64_t> batch_rows) {
  Impl& m = *impl_;
  m.check_process();
  const EngineManager::Busy busy(*m.manager);
  m.manager
      ->set_rows(epoch,
                 {std::make_shared<const std::vector<std::uint64_t>>(std::move(rows)), batch_ends_of(batch_rows)})
      .value();
}
void Loader::feed(std::span<const std::uint64_t> rows) {
  const std::shared_ptr<Engine> engine = impl_->engine();
  const EnginePlan& plan = engine->plan();
  if (!plan.online)
    throw Error(ErrorCode::kInvalidArgument, "this loader's sampler does not feed rows during the epoch");
  const std::uint64_t size = plan.blocks->num_rows();
  for (const std::uint64_t row : rows)
    if (row >= size)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("the sampler asks for row {}; there are rows 0 to {}", row, size - 1))
          .with_hint("Row numbers are those of the data set, from 0.");
  engine->feed(rows);
}
std::uint64_t Loader::epoch_samples() const {
  return impl_->engine()->plan().sampler->num_samples();
}
std::uint64_t Loader::global_batch_rows() const {
  const std::shared_ptr<const Engine> engine = impl_->engine();
  const EnginePlan& plan = engine->plan();
  return plan.budget ? plan.batch_rows * plan.share.world_size : plan.global_batch;
}
void Loader::set_rank(std::uint32_t rank, std::uint32_t world_size) {
  (void)choose_rank(rank, world_size, launcher_variable).value();
  if (!impl_->options().rank) impl_->manager->set_framework_rank(RankShare{rank, world_size});
}
std::uint64_t Loader::batch_rows() const {
  return impl_->engine()->plan().batch_rows;
}
std::uint64_t Loader::num_batches() const {
  return impl_->engine()->plan().steps->num_steps(impl_->consumer->position().epoch);
}
std::uint64_t Loader::num_groups() const {
  const std::shared_ptr<const Engine> engine = impl_->engine();
  return engine->plan().groups ? engine->plan().groups->groups().num_numbers : 0;
}
std::uint64_t Loader::step_end(std::uint64_t epoch, std::uint64_t position) const {
  return impl_->engine()->plan().steps->end_after(epoch, position);
}
std::uint64_t Loader::step_begin(std::uint64_t epoch, std::uint64_t step) const {
  return impl_->engine()->plan().steps->position_of(epoch, step);
}
std::uint64_t Loader::batches_after(std::uint64_t epoch, std::uint64_t position) const {
  return impl_->engine()->plan().steps->steps_after(epoch, position);
}
const std::vector<Field>& Loader::fields() const {
  const auto now = impl_->engine()->batch_fields();
  const std::lock_guard lock(impl_->fields_mutex);
  std::vector<std::shared_ptr<const std::vector<Field>>>& lists = impl_->fields;
  const auto known = std::ranges::find_if(lists, [&](const auto& list) { return list->size() == now->size(); });
  return known != lists.end() ? **known : *lists.emplace_back(now);  // all of them stay, with their places
}
const LoaderOptions& Loader::options() const {
  return impl_->options();
}
const Dataset& Loader::dataset() const {
  return impl_->dataset();
}
std::string Loader::explain() const {
  return explain_plan(*impl_);
}
Report Loader::report() const {
  return make_report(*impl_);
}
std::optional<SmallBudget> Loader::Impl::small_budget(const std::shared_ptr<const Engine>& engine) const {
  return small_budgets->judge(engine, impl_of(dataset())->source, options(), manager->label());
}
std::optional<Mixing> Loader::Impl::mixing(const std::shared_ptr<const Engine>& engine) const {
  return mixings->of({engine, &engine->plan()}, impl_of(dataset())->source.sample_bytes());
}
std::uint64_t Loader::held_over_bytes() const {
  return impl_->manager->totals().peak_held_over_bytes;
}

/// Let the engine at hand decode what is to be kept, and return it. \param alive  Keeps it from being idle.
std::shared_ptr<Engine> Loader::Impl::start_preload(const std::shared_ptr<void>& alive, const Progress& progress) {
  const EngineManager::Busy busy(*manager);
  if (manager->prepare_preload().value()) consumer->end_epoch();
  // An epoch that goes on keeps the engine busy, also when this is done.
  if (manager->state() != EngineManager::State::kRunning) manager->set_consumer(alive);
  std::shared_ptr<Engine> made = engine();
  if (made->plan().is_as_stored) return made;  // nothing is to be decoded
  if (!made->wants_preload()) {
    const std::vector<std::string> why = manager->notices()->all(Notices::Of::kRun);
    const std::vector<std::string>& warned = made->plan().warnings;
    if (options().cache.mode == CacheChoice::kDirectory && !(why.empty() && warned.empty()))
      throw Error(ErrorCode::kWriteFailed, why.empty() ? warned.back() : DecodedCache::reason_of(why.front()));
    throw Error(ErrorCode::kInvalidArgument, "preload() needs a cache of all rows, and this loader has none")
        .with_hint("Give it cache='ram' or a directory, or cache='auto' and more memory=.");
  }
  const auto asked = [&] { return progress(0, made->preload().all); };
  manager
      ->read(progress ? asked : std::function<bool()>(),
             [&](const auto& goes_on) { return made->start_threads(goes_on); })
      .value();
  return made;
}

void Loader::preload(const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  Impl& m = *impl_;
  m.check_process();
  const auto alive = std::make_shared<int>();
  std::shared_ptr<Engine> engine = m.start_preload(alive, progress);
  constexpr std::chrono::milliseconds kTick{2};
  constexpr int kTicksAProgress = 25;
  int ticks = 0;
  for (Engine::Preload p = engine->preload(); p.done < p.all; p = engine->preload()) {
    if (progress && ticks++ % kTicksAProgress == 0 && !progress(p.done, p.all))
      throw Error(ErrorCode::kCancelled, "stopped before the end");
    if (closed()) throw Error(ErrorCode::kClosed, "the loader was closed");
    if (engine->stopped()) engine = m.start_preload(alive, progress);  // its memory went to others
    std::this_thread::sleep_for(kTick);
  }
  const Engine::Preload p = engine->preload();
  if (progress) progress(p.done, p.all);
}
std::vector<std::string> Loader::notices() const {
  return impl_->notices().all();
}
std::uint64_t Loader::num_notices() const {
  return impl_->notices().count();
}

namespace {

/// True if the data set reads a file of this name, as it was opened, or one in a directory of it.
bool reads(const std::vector<const Source*>& stored, const std::string& name) {
  const auto is = [&](const std::string& path) { return name == path || name.starts_with(path + "/"); };
  const std::string canonical = FileSystem::of(name).canonical(name);
  const auto of_file = [&](const SourceFile& file) {
    const std::vector<OutsideFile> others = other_files(file);
    return is(file.path) || std::ranges::any_of(file.companion_files, is, &CompanionFile::path) ||
           std::ranges::any_of(others, [&](const OutsideFile& other) { return canonical == other.path; });
  };
  return std::ranges::any_of(stored, [&](const Source* source) { return std::ranges::any_of(source->files, of_file); });
}

}  // namespace

const Notices& Loader::Impl::notices() const {
  if (const std::uint64_t now = num_touched(), seen = touched_seen.exchange(now); seen != now && !touched_told) {
    const std::vector<TouchedFile> touched = touched_since(seen);
    const std::vector<const Source*> stored = impl_of(dataset())->source.stored();
    const auto ours = std::ranges::find_if(touched, [&](const TouchedFile& one) { return reads(stored, one.name); });
    if (ours != touched.end() && !touched_told.exchange(true)) manager->notices()->add(Notices::Of::kRun, ours->text);
  }
  return *manager->notices();
}

void Loader::close() {
  if (impl_->engine()->forked()) return;
  impl_->manager->close();
}
bool Loader::closed() const {
  return impl_->manager->closed();
}
bool Loader::holds_memory() const {
  const EngineManager::State state = impl_->manager->state();
  return state != EngineManager::State::kPlanned && state != EngineManager::State::kClosed;
}

Loader::Iterator Loader::begin() {
  Iterator it;
  it.epoch_ = epoch();
  it.batch_ = it.epoch_->next();
  return it;
}

std::string set_memory(std::uint64_t bytes) {
  const AvailableMemory available = detect_available_memory();
  const std::uint64_t held = MemoryBudget::process()->snapshot().used_bytes;
  set_process_memory(bytes).value();
  if (bytes <= available.bytes + held) return {};
  return fmt::format(
      "a memory budget of {} is more than the machine has free: {} leaves {}. Loaders use no more than that.",
      format_bytes(bytes), available.limited_by, format_bytes(available.bytes));
}

}  // namespace headrace
