// The part of RequestWindow that plans batches and files their requests: how a slot enters the window.
#include <algorithm>
#include <exception>

#include "assembly/window/request_window.h"
#include "assembly/window/step_parts.h"
#include "base/clock.h"
#include "base/thrown.h"

namespace headrace {

RequestWindow::Run RequestWindow::run_of(std::uint64_t epoch, std::uint64_t position) const {
  return {epoch, position, steps_->steps_after(epoch, position), 0};
}

bool RequestWindow::may_enter() {
  if (!started_ || dropping_ || fatal_ || enter_run_.ended() || end_ - head_ >= longest()) return false;
  if (whole_batches_ && end_ - head_ >= options_.direct_window_slots) return false;
  if (enter_run_.epoch > head_run_.epoch + 1) return false;  // two epochs at most: states are kept by parity
  if (!steps_->is_settled(enter_run_.epoch, enter_position_)) return false;
  if (has_planned_ && short_of_memory_.load(std::memory_order_relaxed) && !(consumer_waits_ && end_ == head_))
    return false;
  const bool room = allocator_.room(consumer_waits_ && end_ == head_);
  short_of_memory_.store(!room, std::memory_order_relaxed);
  return room;
}

/// Work out what the next batch holds. The caller owns the cursor and `planned_`, without the lock. Errors: of what is
/// thrown.
Status RequestWindow::plan(const Run& run) {
  const std::uint64_t start = now_ns();
  try {
    plan_content(run);
  } catch (const std::exception& e) {
    return error_of(e);
  }
  slots_planned_.fetch_add(1, std::memory_order_relaxed);
  plan_ns_.fetch_add(now_ns() - start, std::memory_order_relaxed);
  return {};
}

void RequestWindow::plan_content(const Run& run) {
  StepContent& c = planned_;
  if (!cursor_) cursor_ = steps_->cursor(run.epoch, run.position);
  c.samples.clear();
  c.counted_elsewhere.clear();
  c.counted = true;
  c.step = cursor_->next(c.samples, c.counted_elsewhere, c.counted);
  c.sizes.samples = c.samples.size();
  c.expected = 0;
  if (options_.map)
    return plan_parts(*options_.map, {run.epoch, options_.seed}, options_.row_weight != 0, options_.padded, c);
  if (blocks_->is_chosen())
    for (SampleRef& s : c.samples) s.row = blocks_->stored_row(s.block, s.row);
  if (options_.row_weight == 0) return;
  std::uint64_t sum = 0, place = c.step.first_position;
  for (const SampleRef s : c.samples) sum += run_hash(first_rows_[s.block] + s.row, place++);
  c.expected = sum * options_.row_weight;
}

/// True if the batch that enters next can be planned now, whether or not there is room for it yet.
bool RequestWindow::may_plan_ahead() const {
  return !stopped_ && started_ && !dropping_ && !planning_ && !has_planned_ && !fatal_ && !enter_run_.ended() &&
         idle_threads_ == 0 && enter_run_.epoch <= head_run_.epoch + 1 &&
         !short_of_memory_.load(std::memory_order_relaxed) && steps_->is_settled(enter_run_.epoch, enter_position_);
}

/// A consumer that has to wait plans the batch that enters next, while the decode threads are busy: that is time that
/// would be lost otherwise.
void RequestWindow::plan_ahead(Lock& lock) {
  planning_ = true;
  const Run run = enter_run_;
  lock.unlock();
  const Status planned = plan(run);
  lock.lock();
  planning_ = false;
  has_planned_ = planned.ok();
  if (!planned.ok()) fatal_ = planned.error();
  drop_if_quiet();
  if (idle_threads_ > 0) work_.notify_one();
}

/// Plan one batch, and let it enter if there is room for it. \return True if the batch is the claim `out`.
bool RequestWindow::enter_next(Lock& lock, Claim& out) {
  planning_ = true;
  bool taken = false;
  try {
    taken = enter(lock, out);
    active_claims_ += taken;
  } catch (const std::exception&) {
    end_without_memory(lock);
  }
  planning_ = false;
  drop_if_quiet();
  if (idle_threads_ > 0) work_.notify_one();
  return taken;
}

/// The cursor and the memory are worked on without the lock: `planning_` makes this thread their owner.
bool RequestWindow::enter(Lock& lock, Claim& out) {
  const Run run = enter_run_;
  if (!whole_batches_ && options_.gather_ready && options_.gather_ready->load(std::memory_order_acquire)) {
    whole_batches_ = true;
    finish_entering(run.epoch);  // what has been filed by blocks is all there will be
  }
  const bool whole = whole_batches_;
  bool planned = has_planned_;
  Status made;
  Result<std::unique_ptr<SlotMemory>> memory = std::unique_ptr<SlotMemory>();
  for (bool again = true; again;) {  // what came back while none was found: its waker found nothing that waits
    const bool starving = consumer_waits_ && end_ == head_;
    const std::uint64_t released = releases_;
    lock.unlock();
    if (!planned) made = plan(run);
    memory = made.ok() ? allocator_.acquire(planned_.sizes, starving) : made.error();
    lock.lock();
    has_planned_ = planned = made.ok();
    again = memory.ok() && *memory == nullptr && releases_ != released;
  }
  if (!memory.ok()) {
    fatal_ = memory.error();
    ready_.notify_one();
    return false;
  }
  if (*memory == nullptr) {
    short_of_memory_.store(true, std::memory_order_relaxed);
    return false;
  }
  slot(end_).memory = std::move(*memory);
  return admit(out, whole);
}

/// The planned batch enters the window; its slot has memory. \return True if it is the claim `out`.
bool RequestWindow::admit(Claim& out, bool whole_batch) {
  WindowSlot& s = slot(end_);
  std::swap(s.content, planned_);
  has_planned_ = false;
  s.sequence = end_;
  s.epoch = enter_run_.epoch;
  s.batch = s.content.step.index;
  s.rows = static_cast<std::uint32_t>(s.content.samples.size());
  s.error.reset();
  s.error_position = 0;
  s.digest = {};
  s.finish_entered = false;
  s.finish_next = s.finish_left = 0;
  const auto requests = options_.map ? static_cast<std::uint32_t>(s.content.parts.size()) : s.rows;
  s.missing.store(requests, std::memory_order_relaxed);
  bool taken = false;
  if (!whole_batch) {
    insert(s);
    if (!keeps_samples_) std::swap(s.content.samples, planned_.samples);  // one list for all slots
  } else if (requests > 0) {
    out.kind = Claim::Kind::kBatch;
    out.unit = 0;
    out.epoch = s.epoch;
    out.first = out.last = false;
    out.requests.clear();
    out.runs.assign(1, {&s, 0, requests});
    taken = true;
  }
  if (requests == 0) slot_filled(s);
  ++end_;
  enter_position_ = s.content.step.end;
  if (consumer_waits_ && head_ready()) ready_.notify_one();  // a share of no rows is ready at once
  if (++enter_run_.step == enter_run_.steps) {
    finish_entering(enter_run_.epoch);
    enter_run_ = run_of(enter_run_.epoch + 1, 0);
    enter_position_ = 0;
    claimed_[enter_run_.epoch & 1].forget();
    whole_batches_ = false;
    cursor_.reset();
  }
  return taken;
}

/// File the requests of a batch under their units.
void RequestWindow::insert(WindowSlot& s) {
  const StepContent& c = s.content;
  if (options_.map) {
    for (const BlockRows there : c.counted_elsewhere) count_block(there.block, there.rows, s.epoch);
    std::uint32_t part = 0;
    for (std::uint32_t i = 0; i < s.rows; ++i)
      for (; part < c.part_ends[i]; ++part) file_request(s, c.parts[part].unit, {part, i});
    if (c.counted)
      for (const SampleRef sample : c.samples) count_block(sample.block, 1, s.epoch);
    return;
  }
  const auto& index = state_of_unit_[s.epoch & 1];
  for (const BlockRows there : c.counted_elsewhere) {
    UnitState& b = index[there.block] ? states_[index[there.block] - 1] : state_of(there.block, s.epoch, s.sequence);
    count(b, there.rows, index[there.block] - 1);
  }
  for (std::uint32_t position = 0; position < s.rows; ++position) {
    const SampleRef sample = c.samples[position];
    file_request(s, sample.block, {sample.row, position});
    if (c.counted) {
      const std::uint32_t state = index[sample.block] - 1;
      count(states_[state], 1, state);
    }
  }
}

void RequestWindow::file_request(WindowSlot& s, std::uint32_t unit, Request request) {
  auto& index = state_of_unit_[s.epoch & 1];
  UnitState& b = index[unit] ? states_[index[unit] - 1] : state_of(unit, s.epoch, s.sequence);
  if (b.requests.empty()) {
    b.first_need = s.sequence;
    needed_.push({s.sequence, index[unit] - 1, b.version});
    if (options_.listener) options_.listener->wanted(unit, s.sequence);
  }
  // The lists are long out of the processor's cache: nothing of them is read here, and take() ends the runs.
  if (b.requests.empty() || b.newest != s.sequence) b.runs.push_back({&s, b.requests.size(), 0});
  b.newest = s.sequence;
  b.requests.add(request, item_bits_);
}

/// So many more of the block's samples were given, here or elsewhere.
void RequestWindow::count(UnitState& b, std::uint64_t rows, std::uint32_t state) {
  if ((b.asked += rows) != b.expected || b.complete) return;
  if (b.requests.empty())
    free_state(state);
  else
    mark_complete(state);
}

/// So many more of the shuffle block's samples were given, here or elsewhere: with the last of them its units may be
/// complete.
void RequestWindow::count_block(std::uint32_t block, std::uint32_t samples, std::uint64_t epoch) {
  if (blocks_known_ == SampleMap::BlockUnits::kUnknown) return;
  MapProgress& p = progress_[epoch & 1];
  if (p.block_left.empty()) {
    p.block_left.resize(options_.map->shuffle_blocks()->num_blocks(), MapProgress::kNotCounted);
    p.blocks_done.resize(state_of_unit_[0].size());
    p.blocks_coming.resize(state_of_unit_[0].size());
  }
  std::uint32_t& left = p.block_left[block];
  if (left == MapProgress::kNotCounted) {
    const std::uint64_t coming = cursor_->rows_in(block);
    left = coming == 0 ? MapProgress::kDone : static_cast<std::uint32_t>(coming);
    if (left != MapProgress::kDone && blocks_known_ == SampleMap::BlockUnits::kByEpoch) open_block(block, epoch);
  }
  if (left == MapProgress::kDone) return;
  if ((left -= std::min(left, samples)) != 0) return;
  left = MapProgress::kDone;
  if (blocks_known_ == SampleMap::BlockUnits::kByEpoch) return close_block(block, epoch);
  units_.clear();
  options_.map->units_of(block, {epoch, options_.seed}, units_);
  for (const std::uint32_t unit : units_) {
    ++p.blocks_done[unit];
    const std::uint32_t state = state_of_unit_[epoch & 1][unit];
    if (state == 0 || states_[state - 1].complete || !blocks_are_done(unit, epoch)) continue;
    if (states_[state - 1].requests.empty())
      free_state(state - 1);
    else
      mark_complete(state - 1);
  }
}

/// True if every shuffle block that asks for a unit in this walk has given its last sample.
bool RequestWindow::blocks_are_done(std::uint32_t unit, std::uint64_t epoch) {
  MapProgress& p = progress_[epoch & 1];
  if (p.blocks_coming[unit] == 0) {
    asking_.clear();
    options_.map->blocks_of(unit, asking_);
    for (const std::uint32_t block : asking_) p.blocks_coming[unit] += cursor_->rows_in(block) > 0;
  }
  return p.blocks_done[unit] >= p.blocks_coming[unit];
}

/// The first sample of a shuffle block whose samples are drawn was given: its units wait for the others.
void RequestWindow::open_block(std::uint32_t block, std::uint64_t epoch) {
  units_.clear();
  options_.map->units_of(block, {epoch, options_.seed}, units_);
  for (const std::uint32_t unit : units_) ++progress_[epoch & 1].blocks_done[unit];
}

/// And the last one: a unit that no other shuffle block waits for may be decoded. A shuffle block that comes later may
/// ask for it again.
void RequestWindow::close_block(std::uint32_t block, std::uint64_t epoch) {
  units_.clear();
  options_.map->units_of(block, {epoch, options_.seed}, units_);
  for (const std::uint32_t unit : units_) {
    const std::uint32_t state = state_of_unit_[epoch & 1][unit];
    if (--progress_[epoch & 1].blocks_done[unit] != 0 || state == 0) continue;
    const UnitState& b = states_[state - 1];
    if (b.requests.empty() || b.complete) continue;
    complete_.push({b.first_need, state - 1, b.version});
    if (options_.listener) options_.listener->complete(b.unit, b.first_need);
  }
}

/// True if no shuffle block that is half given waits for more of the unit.
bool RequestWindow::is_ripe(std::uint32_t state) const {
  const UnitState& b = states_[state];
  return b.complete || progress_[b.epoch & 1].blocks_done.empty() || progress_[b.epoch & 1].blocks_done[b.unit] == 0;
}

void RequestWindow::forget_progress(std::uint64_t epoch) {
  MapProgress& p = progress_[epoch & 1];
  std::fill(p.block_left.begin(), p.block_left.end(), MapProgress::kNotCounted);
  for (auto* counts : {&p.blocks_done, &p.blocks_coming}) std::fill(counts->begin(), counts->end(), 0);
}

void RequestWindow::free_state(std::uint32_t state) {
  state_of_unit_[states_[state].epoch & 1][states_[state].unit] = 0;
  free_states_.push_back(state);
}

RequestWindow::UnitState& RequestWindow::state_of(std::uint32_t unit, std::uint64_t epoch, std::uint64_t sequence) {
  if (free_states_.empty()) {
    // Room for all of them: giving one back takes no memory.
    if (free_states_.capacity() <= states_.size()) free_states_.reserve(2 * states_.size() + 1);
    states_.emplace_back();
    free_states_.push_back(static_cast<std::uint32_t>(states_.size() - 1));
  }
  const std::uint32_t i = free_states_.back();
  free_states_.pop_back();
  state_of_unit_[epoch & 1][unit] = i + 1;
  UnitState& b = states_[i];
  b.unit = unit;
  b.epoch = epoch;
  b.asked = 0;
  b.claims = 0;
  b.complete = b.closed = false;
  b.first_need = sequence;
  b.expected = options_.map ? 0 : cursor_->rows_in(unit);
  return b;
}

void RequestWindow::mark_complete(std::uint32_t state) {
  UnitState& b = states_[state];
  b.complete = true;
  complete_.push({b.first_need, state, b.version});
  if (options_.listener) options_.listener->complete(b.unit, b.first_need);
}

/// The epoch's last batch has entered: no unit of it can get further requests.
void RequestWindow::finish_entering(std::uint64_t epoch) {
  auto& index = state_of_unit_[epoch & 1];
  for (std::uint32_t i = 0; i < states_.size(); ++i) {
    UnitState& b = states_[i];
    if (b.epoch != epoch || index[b.unit] != i + 1) continue;
    b.closed = true;
    if (b.requests.empty())
      free_state(i);
    else if (!b.complete)
      mark_complete(i);
  }
  forget_progress(epoch);
}

}  // namespace headrace
