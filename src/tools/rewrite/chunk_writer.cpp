#include "tools/rewrite/chunk_writer.h"

#include <headrace/bytes.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "base/threads/parallel.h"

namespace headrace {
namespace {

constexpr std::uint64_t kSlabBytes = mebibytes(8);  // of contiguous rows at once

/// Chunks come in any order and go to the file in theirs, by whichever thread has the next one.
class OrderedWriter {
 public:
  OrderedWriter(hdf5::RewrittenFile& file, std::size_t index, std::uint64_t first_row, std::uint64_t chunk_rows)
      : file_(file), index_(index), first_row_(first_row), chunk_rows_(chunk_rows) {}

  Status put(std::uint64_t number, EncodedChunk chunk) {
    const std::lock_guard lock(mutex_);
    ready_.emplace(number, std::move(chunk));
    for (auto next = ready_.find(next_); next != ready_.end(); next = ready_.find(++next_)) {
      HEADRACE_TRY(file_.write_chunk(index_, first_row_ + next_ * chunk_rows_, next->second));
      ready_.erase(next);
    }
    return {};
  }

 private:
  hdf5::RewrittenFile& file_;
  std::size_t index_;
  std::uint64_t first_row_, chunk_rows_, next_ = 0;
  std::mutex mutex_;
  std::map<std::uint64_t, EncodedChunk> ready_;
};

}  // namespace

Status write_chunks(hdf5::RewrittenFile& file, std::size_t index, const RewriteArray& array, std::uint64_t first_row,
                    std::uint64_t rows, std::span<std::byte> bytes, std::uint32_t threads) {
  hdf5::to_stored(array.form, array.made.info.record_bytes, bytes);
  if (array.made.chunk_shape.empty()) {
    const std::uint64_t step = std::max<std::uint64_t>(kSlabBytes / array.row_bytes, 1);
    for (std::uint64_t row = 0; row < rows; row += step) {
      const std::uint64_t count = std::min(step, rows - row);
      HEADRACE_TRY(file.write_rows(index, first_row + row, count,
                                   bytes.subspan(row * array.row_bytes, count * array.row_bytes)));
    }
    return {};
  }
  const std::uint64_t chunk_rows = array.chunk_rows(), chunks = (rows + chunk_rows - 1) / chunk_rows;
  OrderedWriter writer(file, index, first_row, chunk_rows);
  std::atomic<std::uint64_t> next{0};
  const auto count = static_cast<int>(std::min<std::uint64_t>(threads, chunks));
  return run_parallel(count, "hr-encode", [&](int, const std::stop_token& stop) -> Status {
    std::vector<std::byte> whole;  // a chunk that reaches past the array is stored whole
    for (std::uint64_t number = next++; number < chunks; number = next++) {
      if (stop.stop_requested()) return Error(ErrorCode::kCancelled, "stopped");
      const std::uint64_t from = number * chunk_rows, held = std::min(chunk_rows, rows - from);
      std::span<const std::byte> decoded = bytes.subspan(from * array.row_bytes, held * array.row_bytes);
      if (held < chunk_rows) {
        whole.assign(chunk_rows * array.row_bytes, std::byte{0});
        std::copy(decoded.begin(), decoded.end(), whole.begin());
        decoded = whole;
      }
      HEADRACE_ASSIGN(EncodedChunk chunk, encode_chunk(decoded, array.made.element_bytes, array.made.coding));
      HEADRACE_TRY(writer.put(number, std::move(chunk)));
    }
    return {};
  });
}

}  // namespace headrace
