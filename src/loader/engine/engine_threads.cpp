// The threads of an Engine: how they start, end, and are left behind.
#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <exception>

#include "base/text/number_text.h"
#include "base/thrown.h"
#include "loader/engine/engine_thread.h"

namespace headrace {
namespace {

constexpr std::chrono::milliseconds kTick{50};  // between two questions whether to go on

std::atomic<std::uint32_t>& all_threads() {
  static std::atomic<std::uint32_t> threads{0};
  return threads;
}

}  // namespace

std::uint32_t Engine::threads_of_process() {
  return all_threads();
}

/// Start a thread that uses this engine, which lives until it has ended.
Result<std::jthread> Engine::start_own_thread(std::string name, std::function<void()> body) {
  const auto count = [this](int change) {
    const std::lock_guard lock(own_threads_mutex_);
    alive_ = static_cast<std::uint32_t>(static_cast<int>(alive_) + change);
  };
  count(1);
  try {
    auto thread = start_thread_(std::move(name), [this, body = std::move(body)](const std::stop_token&) {
      body();
      note_thread_end();
    });
    if (!thread.ok()) count(-1);
    return thread;
  } catch (const std::exception& thrown) {
    count(-1);
    return error_of(thrown);
  }
}

Status Engine::start_threads(const std::function<bool()>& go_on) {
  HEADRACE_TRY(check_usable());
  if (started_) return {};
  const struct DropUnlessStarted {
    Engine& engine;
    ~DropUnlessStarted() {
      if (!engine.started_ && !engine.stopped_) engine.resident_.clear();
    }
  } drop_unless_started{*this};
  threads_.reserve(decoders_.size());  // what is thrown after the first has started would leave it alone
  for (auto& w : decoders_) HEADRACE_TRY(w->prepare());
  HEADRACE_TRY(load_resident_arrays(go_on));
  std::optional<Error> refused;
  while (!refused && threads_.size() < decoders_.size()) {
    const std::size_t t = threads_.size();
    try {
      auto thread = start_own_thread(fmt::format("hr-decode-{}", t), [this, t] { work(*decoders_[t]); });
      if (thread.ok())
        threads_.push_back(std::move(*thread));
      else
        refused = thread.error();
    } catch (const std::exception& e) {
      refused = error_of(e);
    }
  }
  for (std::size_t t = threads_.size(); t < decoders_.size(); ++t) decoders_[t]->release();
  if (threads_.empty()) return std::move(refused->with_stage("start"));
  if (!has_all_rows()) ahead_.start(source_.first_path());
  num_threads_ = static_cast<std::uint32_t>(threads_.size());
  all_threads() += num_threads_;
  started_ = true;
  if (refused)
    decoded_cache_->notice(
        fmt::format("Only {} of {} decode threads were started: {}. Loading goes on with those, slower. {}",
                    threads_.size(), decoders_.size(), refused->message(), refused->hint()));
  return {};
}

/// What the threads that load side arrays do together.
struct Engine::Loading {
  std::vector<ResidentArrays::ArrayPart> parts;
  std::atomic<std::size_t> next{0};
  std::atomic<bool> given_up{false}, no_memory{false};
  std::mutex mutex;
  std::condition_variable ended;
  std::size_t running = 0;  // threads
};

void Engine::load_parts(DecodeThread& decoder, Loading& loading) noexcept {
  const auto go_on = [&] { return !loading.given_up; };
  for (std::size_t i; !loading.given_up && (i = loading.next.fetch_add(1)) < loading.parts.size();) {
    const ResidentArrays::ArrayPart& part = loading.parts[i];
    try {
      try {
        decoder.server->load(part, resident_, go_on);
      } catch (const std::exception& e) {
        resident_.fail(part, part.rows, error_of(e));
      }
    } catch (...) {  // not even the error could be kept
      loading.no_memory = loading.given_up = true;
    }
  }
  const std::lock_guard lock(loading.mutex);
  --loading.running;
  loading.ended.notify_all();
}

/// Load side arrays that are kept decoded. A part that fails is remembered: the error belongs to the batch that needs
/// it. The caller's thread only waits, so that a read that does not return cannot hold it.
Status Engine::load_resident_arrays(const std::function<bool()>& go_on) {
  if (!source_.rows()) return {};
  const Source& source = *source_.rows();
  HEADRACE_TRY(resident_.allocate(source, plan_.layout));
  resident_bytes_ = resident_.charged_bytes();
  const auto loading = std::make_shared<Loading>();
  for (std::uint32_t f = 0; f < source.files.size(); ++f)
    for (std::uint32_t a = 0; a < source.num_arrays(); ++a)
      for (const ResidentArrays::ArrayPart& part : ResidentArrays::parts_of(source, plan_.layout, f, a))
        loading->parts.push_back(part);
  if (loading->parts.empty()) return {};
  std::vector<std::jthread> helpers;
  helpers.reserve(decoders_.size());
  const auto all_ended = [&] { return loading->running == 0; };
  bool cancelled = false;
  std::exception_ptr thrown;
  {
    std::unique_lock lock(loading->mutex);
    for (std::size_t t = 0; t < std::min(decoders_.size(), loading->parts.size()); ++t) {
      auto helper =
          start_own_thread(fmt::format("hr-load-{}", t), [this, t, loading] { load_parts(*decoders_[t], *loading); });
      if (!helper.ok() && t > 0) break;  // fewer will do
      if (!helper.ok()) return std::move(helper.error().with_stage("start"));
      helpers.push_back(std::move(*helper));
      ++loading->running;
    }
    while (!loading->ended.wait_for(lock, kTick, all_ended)) {
      if (!go_on) continue;
      lock.unlock();
      try {
        cancelled = !go_on();
      } catch (...) {
        thrown = std::current_exception();
      }
      lock.lock();
      if (!cancelled && !thrown) continue;
      loading->given_up = true;
      if (loading->ended.wait_for(lock, kLongestStop, all_ended)) break;
      lock.unlock();
      for (std::jthread& helper : helpers) helper.detach();
      helpers.clear();
      stop_within({});
      break;
    }
  }
  for (std::jthread& helper : helpers) helper.join();
  if (thrown) std::rethrow_exception(thrown);
  if (cancelled) return Error(ErrorCode::kCancelled, "stopped before all side fields were read");
  if (loading->no_memory) return out_of_memory();
  resident_.seal();
  return {};
}

/// A thread that uses this engine is at its end. The last one that was left behind cleans up after all.
void Engine::note_thread_end() {
  std::unique_lock lock(own_threads_mutex_);
  --alive_;
  thread_ended_.notify_all();
  if (alive_ > 0 || !left_behind_) return;
  lock.unlock();
  clean_up();
  if (decoded_cache_) decoded_cache_->threads_ended();
  lock.lock();
  cleaned_up_ = true;
  const bool is_last = let_go_;
  lock.unlock();
  if (is_last) delete this;
}

/// Nothing refers to this engine any more, but for threads that were left behind.
void Engine::let_go() {
  stop();
  {
    const std::lock_guard lock(own_threads_mutex_);
    let_go_ = true;
    if (left_behind_ && !cleaned_up_) return;
  }
  delete this;
}

void Engine::stop_within(std::chrono::milliseconds limit) {
  if (stopped_.exchange(true) || forked()) return;
  const auto until = std::chrono::steady_clock::now() + limit;
  memory_->set_release_callback({});
  window_.stop();
  std::uint32_t stuck = ahead_.stop(until);
  std::vector<std::jthread> threads = std::exchange(threads_, {});
  all_threads() -= static_cast<std::uint32_t>(threads.size());
  bool left_behind = false;
  {
    std::unique_lock lock(own_threads_mutex_);
    left_behind_ = left_behind = !thread_ended_.wait_until(lock, until, [&] { return alive_ == 0; });
    stuck += alive_;
    if (left_behind && decoded_cache_) decoded_cache_->leave_to_threads();
  }
  for (std::jthread& thread : threads) left_behind ? thread.detach() : thread.join();
  if (stuck > 0) tell_of_stuck_threads(stuck);
  if (!left_behind) clean_up();
}

void Engine::tell_of_stuck_threads(std::uint32_t count) noexcept {
  try {
    if (decoded_cache_)
      decoded_cache_->notice(fmt::format(
          "{} thread{} of the loader of {} did not end within 5 s: a read does not return, or something very large is "
          "decoded. The memory that is used there comes back when that ends. Look at the file system that the files "
          "are on, and at dmesg.",
          count, plural(count), source_.first_path()));
  } catch (const std::exception&) {  // no memory to say it
  }
}

/// Give everything back. No thread uses this engine any more.
void Engine::clean_up() {
  if (decoded_cache_) decoded_cache_->set_complete_callback({});
  if (persister_.joinable()) persister_.join();
  window_.drop_slots();
  memory_->close();
  for (auto& w : decoders_) w->release();
  side_chunks_.clear();
  resident_.clear();
  {
    const std::lock_guard lock(room_mutex_);  // a consumer may be taking memory back
    slots_memory_.release();
    index_memory_.release();
    reservations_.clear();
  }
  const std::lock_guard lock(cache_mutex_);
  gather_.reset();
}

}  // namespace headrace
