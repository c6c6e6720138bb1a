// ReadJob: the reads that a unit takes, and what is made of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "assembly/ahead/unit_locator.h"
#include "assembly/fetched_pieces.h"
#include "assembly/pieces/wanted_rows.h"
#include "base/memory/page_buffer.h"
#include "base/result.h"

namespace headrace {

/// One unit's. Its steps may be made by several threads at once; all else by one at a time.
class ReadJob {
 public:
  /// \param wanted  Rows of the unit that are wanted; nullopt: all.
  ReadJob(const UnitLocator& locator, std::uint32_t unit, std::optional<WantedRows> wanted)
      : locator_(locator), unit_(unit), wanted_(std::move(wanted)) {}

  /// Find the next reads: first of what locating reads by itself, then of the pieces. \return False: there are none
  /// left. Errors: as UnitLocator::locate(). Blocks: may look at files.
  Result<bool> plan();
  [[nodiscard]] std::size_t num_steps() const { return steps_.size(); }
  /// Return the bytes of the planned reads that will be held.
  [[nodiscard]] std::uint64_t held_bytes() const { return held_bytes_; }
  /// Return the bytes of those that go to the page cache.
  [[nodiscard]] std::uint64_t cached_bytes() const { return cached_bytes_; }
  /// Have memory for what will be held. Errors: kOutOfBudget.
  Status prepare();
  /// Make read number `i`, of at most sink.size() bytes. Errors: of the file. Blocks.
  Status read(std::size_t i, std::span<std::byte> sink) const;
  [[nodiscard]] std::uint64_t step_bytes(std::size_t i) const { return steps_[i].range.size; }
  /// Return what is held, once all reads are made; null: nothing is. Errors: kFileChanged. Blocks: looks at files.
  Result<std::shared_ptr<const FetchedPieces>> result();

  static constexpr std::uint64_t kStepBytes = 128 << 10;  // of one read: what systems ask a server for at once
  /// Return the reads that a range is cut into.
  static std::vector<ByteRange> steps_of(ByteRange range);

 private:
  struct Step {
    const RandomAccessFile* file;
    ByteRange range;
    std::size_t held;  // number in held_, or kCached
  };
  struct Held {
    FileRange range;
    PageBuffer bytes;
  };
  static constexpr std::size_t kCached = ~std::size_t{0};
  void add_steps(const FileRange& range, std::size_t held);
  void plan_pieces();

  const UnitLocator& locator_;
  const std::uint32_t unit_;
  std::optional<WantedRows> wanted_;
  enum class Stage : std::uint8_t { kBegun, kBeside, kPieces } stage_ = Stage::kBegun;
  std::vector<FileRange> beside_;  // read already
  std::vector<PieceTask> pieces_;
  std::vector<bool> asks_;  // arrays of which some bytes are not held
  std::vector<Step> steps_;
  std::vector<Held> held_;
  std::uint64_t held_bytes_ = 0, cached_bytes_ = 0;
};

}  // namespace headrace
