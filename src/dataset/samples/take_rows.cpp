#include "dataset/samples/take_rows.h"

#include <headrace/bytes.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "assembly/copying/finisher.h"
#include "assembly/window/requests_by_block.h"
#include "base/machine/own_cpus.h"
#include "base/threads/parallel.h"
#include "base/thrown.h"
#include "delivery/slot_pool.h"

namespace headrace {
namespace {

constexpr std::uint64_t kLargeReadBytes = mebibytes(64);  // from here on a read can be stopped
constexpr std::chrono::milliseconds kAskEvery{50};        // between two questions whether to go on

/// One read, shared by its threads.
class Reading {
 public:
  Reading(Dataset::Impl& data, const RequestsByBlock& plan, std::byte* const* fields, EpochSeed draws)
      : data_(data), plan_(plan), fields_(fields), draws_(draws) {}

  /// Read blocks until none is left, or one has failed, or it is given up. Any number of threads.
  void work() noexcept {
    std::size_t task = 0;
    try {
      read_blocks(task);
    } catch (const std::exception& thrown) {  // bad_alloc, or a library's own: an error of the rows, on any thread
      Error error = error_of(thrown);
      try {
        error.with_file(data_.source.rows()->files[data_.blocks->place(plan_.blocks[task].unit).file].path);
      } catch (const std::exception&) {  // no memory to say where
      }
      fail(task, error);
    }
    const std::lock_guard lock(mutex_);
    ++ended_;
    quiet_.notify_all();
  }
  /// Wait until so many threads have ended. \return False after `limit`.
  bool wait(std::size_t threads, std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    return quiet_.wait_for(lock, limit, [&] { return ended_ == threads; });
  }
  void cancel() { cancelled_ = true; }
  [[nodiscard]] bool cancelled() const { return cancelled_; }
  /// Return the error of the first block that failed, whichever thread found it. When no thread works any more.
  [[nodiscard]] Status status() const { return error_ ? Status(error_->second) : Status(); }

 private:
  void read_blocks(std::size_t& task) {
    auto server = data_.take_server();
    for (std::size_t t; !cancelled_ && (t = next_.fetch_add(1)) < plan_.blocks.size();) {
      task = t;
      const Status status = server.ok() ? read(*server->server, plan_.blocks[t]) : Status(server.error());
      if (!status.ok()) fail(t, status.error());
    }
    if (server.ok()) data_.put_server(std::move(*server));
  }
  void fail(std::size_t task, const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!error_ || task < error_->first) error_.emplace(task, error);
  }
  Status read(BlockServer& server, const RequestsByBlock::Block& task) {
    const BlockTable::FileRows place = data_.blocks->place(task.unit);
    const std::span<const Request> mine = plan_.of(task);
    const RowRun run{fields_, 0, static_cast<std::uint32_t>(mine.size()), 0, nullptr, draws_.seed, draws_.epoch};
    for (const RowFailure& f :
         server.serve({task.unit, place.file, place.rows, true, 0}, {mine, {}, {&run, 1}}, cancelled_))
      if (std::ranges::any_of(mine, [&](const Request& r) { return r.item >= f.rows.first && r.item < f.rows.end(); }))
        return f.error;
    return {};
  }

  Dataset::Impl& data_;
  const RequestsByBlock& plan_;
  std::byte* const* const fields_;
  const EpochSeed draws_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  std::condition_variable quiet_;
  std::size_t ended_ = 0;
  std::optional<std::pair<std::size_t, Error>> error_;
};

}  // namespace

Result<Batch> take_rows(Dataset::Impl& data, std::span<const std::uint64_t> rows, EpochSeed draws,
                        std::uint64_t most_threads, const std::function<bool()>& go_on) {
  const Source& source = *data.source.rows();
  const BlockTable& blocks = *data.blocks;
  Batch::Parts parts;
  parts.fields = source.fields;
  parts.rows = rows.size();
  std::vector<std::byte*> arrays;
  for (const Field& field : source.slot_fields()) {
    parts.holders.push_back(SlotPool::column(rows.size() * field.row_bytes()));
    arrays.push_back(static_cast<std::byte*>(parts.holders.back().get()));
  }
  std::vector<SampleRef> samples;
  samples.reserve(rows.size());
  for (const std::uint64_t row : rows) {
    const BlockTable::RowPlace place = blocks.find(row);
    samples.push_back({static_cast<std::uint32_t>(place.block), blocks.stored_row(place.block, place.row_in_block)});
  }
  const RequestsByBlock plan(samples);
  Reading reading(data, plan, arrays.data(), draws);
  const std::size_t threads = std::min<std::size_t>({plan.blocks.size() / 4, own_cpus().count, most_threads});
  std::vector<std::jthread> helpers;
  helpers.reserve(threads + 1);
  const auto help = [&] {  // where the system starts no more threads, fewer will do
    Result<std::jthread> thread = start_thread("hr-take", [&](const std::stop_token&) { reading.work(); });
    if (thread.ok()) helpers.push_back(std::move(*thread));
    return thread.ok();
  };
  for (std::size_t i = 1; i < threads; ++i)
    if (!help()) break;
  if (go_on && rows.size() * source.slot_row_bytes() >= kLargeReadBytes && help()) {
    // A block may take long: others read, so that this thread can ask all the while.
    try {
      do {
        if (!go_on()) reading.cancel();
      } while (!reading.wait(helpers.size(), kAskEvery));
    } catch (...) {
      reading.cancel();
      throw;
    }
  } else {
    reading.work();
  }
  helpers.clear();
  if (reading.cancelled()) return Error(ErrorCode::kCancelled, "stopped before all rows were read");
  HEADRACE_TRY(reading.status());
  if (source.finisher)
    HEADRACE_TRY(finish_all(*source.finisher, {arrays, samples, {}, blocks, draws.epoch, draws.seed}));
  parts.holders.resize(source.fields->size());
  arrays.resize(source.fields->size());
  parts.data = std::move(arrays);
  return Batch(std::move(parts));
}

}  // namespace headrace
