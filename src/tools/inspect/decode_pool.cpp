#include "tools/inspect/decode_pool.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>
#include <exception>
#include <new>

#include "base/memory/align.h"
#include "base/threads/parallel.h"
#include "base/thrown.h"

namespace headrace {
namespace {

/// \return False where a file's numbers do not fit 64 bits.
bool add(std::uint64_t& sum, std::uint64_t bytes) {
  return !__builtin_add_overflow(bytes, kCacheLineBytes, &bytes) && !__builtin_add_overflow(sum, bytes, &sum);
}
}  // namespace

DecodePool::DecodePool(std::uint32_t threads)
    : share_bytes_(budget_->free_bytes() / 2 / std::max(threads, 1u)),
      queue_limit_(4 * std::size_t{std::max(threads, 1u)}) {
  threads_.reserve(std::max(threads, 1u));
  while (threads_.size() < std::max(threads, 1u)) {
    auto thread = start_thread("hr-verify", [this](const std::stop_token&) { work(); });
    if (!thread.ok() && !threads_.empty()) break;  // fewer will do
    threads_.push_back(std::move(thread).value());
  }
}

DecodePool::~DecodePool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    queue_.clear();
  }
  work_ready_.notify_all();
  for (std::jthread& thread : threads_) thread.join();
}

bool DecodePool::offer(const DecodeTask& task, std::chrono::milliseconds tick) {
  std::unique_lock lock(mutex_);
  if (!room_.wait_for(lock, tick, [&] { return queue_.size() < queue_limit_; })) return false;
  queue_.push_back(task);
  ++unfinished_;
  work_ready_.notify_one();
  return true;
}

bool DecodePool::idle(std::chrono::milliseconds tick) {
  std::unique_lock lock(mutex_);
  return done_.wait_for(lock, tick, [&] { return unfinished_ == 0; });
}

DecodePool::Counts DecodePool::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::vector<BadPiece> DecodePool::bad() const {
  std::unique_lock lock(mutex_);
  if (lost_finding_) throw out_of_memory();
  std::vector<BadPiece> sorted = bad_;
  lock.unlock();
  std::sort(sorted.begin(), sorted.end(), [](const BadPiece& a, const BadPiece& b) { return a.number < b.number; });
  return sorted;
}

/// With the lock.
void DecodePool::note(const DecodeTask& task, Error error) {
  try {
    if (task.piece.stored.file != nullptr) error.with_file(task.piece.stored.file->name());
    error.with_field(task.array->info().path);
    error.with_chunk(task.array->piece_name(task.piece)).with_bytes(task.piece.stored.range);
    bad_.push_back({task.number, task.piece.rows, std::move(error)});
  } catch (const std::exception&) {
    lost_finding_ = true;
  }
}

void DecodePool::work() noexcept {
  Buffers own;
  for (;;) {
    DecodeTask task;
    {
      std::unique_lock lock(mutex_);
      work_ready_.wait(lock, [&] { return stop_ || !queue_.empty(); });
      if (stop_) return;
      task = std::move(queue_.front());
      queue_.pop_front();
      room_.notify_one();
    }
    Status status;
    try {
      status = decode(task, own);
    } catch (const std::exception& e) {
      status = error_of(e);
    }
    const std::lock_guard lock(mutex_);
    ++counts_.pieces;
    counts_.stored_bytes += task.piece.stored.range.size;
    if (status.ok())
      counts_.decoded_bytes += task.piece.decoded_bytes;
    else
      note(task, std::move(status.error()));
    task.array.reset();  // before anyone learns that all is done: readers close with their last task
    if (--unfinished_ == 0) done_.notify_all();
  }
}

Status DecodePool::decode(const DecodeTask& task, Buffers& own) {
  const ScratchNeed need = task.array->scratch_need(task.piece.rows.count);
  std::uint64_t bytes = 0;
  if (!add(bytes, need.out_bytes) || !add(bytes, need.filter_bytes) || !add(bytes, need.filter_bytes) ||
      !add(bytes, task.piece.stored.range.size))
    return Error(ErrorCode::kOutOfBudget, "decoding this piece needs more memory than any machine has");
  if (bytes <= share_bytes_) return decode_into(task, need, own);
  const std::lock_guard alone(large_);
  Buffers large;
  return decode_into(task, need, large);
}

Status DecodePool::decode_into(const DecodeTask& task, const ScratchNeed& need, Buffers& buffers) {
  const std::uint64_t out = align_up(need.out_bytes), filter = align_up(need.filter_bytes),
                      stored = task.piece.stored.range.size;
  const std::uint64_t wanted = out + 2 * filter + stored + kCacheLineBytes;
  if (buffers.size < wanted) {
    buffers = {};
    HEADRACE_ASSIGN(buffers.charge, budget_->try_reserve(MemoryTag::kScratch, wanted));
    buffers.bytes.reset(new (std::nothrow) std::byte[wanted]);  // not zeroed: untouched pages cost nothing
    if (!buffers.bytes)
      return Error(ErrorCode::kOutOfBudget, fmt::format("{} of memory could not be had", format_bytes(wanted)));
    buffers.size = wanted;
  }
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(buffers.bytes.get());
  std::byte* base = buffers.bytes.get() + (kCacheLineBytes - at % kCacheLineBytes) % kCacheLineBytes;
  const DecodeScratch scratch{
      {base, need.out_bytes}, {base + out, need.filter_bytes}, {base + out + filter, need.filter_bytes}};
  const std::span<std::byte> bytes(base + out + 2 * filter, stored);
  if (stored > 0) HEADRACE_TRY(task.piece.stored.file->read_at(task.piece.stored.range.offset, bytes));
  HEADRACE_ASSIGN([[maybe_unused]] const DecodedPiece piece, task.array->decode(task.piece, bytes, scratch));
  return {};
}

}  // namespace headrace
