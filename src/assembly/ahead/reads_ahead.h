// ReadsAhead: reads the stored bytes of units before their decode threads come for them, so that files which answer
// late are waited for by threads that do nothing else.
//
// The window says which units it will want, the oldest need first. A reader locates a unit's pieces and cuts their
// bytes into reads, which any reader makes. Bytes of files that stay open go through the system's page cache, where the
// decode thread finds them; those of files that have to be opened first, and of file systems without such a cache, are
// held until it comes. A decode thread that comes before its unit's turn reads for itself, as if there were no readers;
// an error is left to it too, so that it belongs to the batch that needs the bytes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "assembly/ahead/unit_locator.h"
#include "assembly/ahead/unit_readers.h"
#include "assembly/fetched_pieces.h"
#include "assembly/window/unit_listener.h"
#include "base/stage_clock.h"
#include "base/threads/parallel.h"
#include "storage/read_waits.h"

namespace headrace {

/// Threads: any.
class ReadsAhead final : public UnitListener {
 public:
  ReadsAhead(UnitLocator locator, ReadAheadOptions options, ThreadStarter starter);
  ~ReadsAhead() override;

  /// Have readers from now on where that is to be expected: files answered late until now, `path` is on a file system
  /// that is shared over a network, or the user says how many. Else they start once decode threads wait.
  void start(const std::string& path) noexcept;
  void wanted(std::uint32_t unit, std::uint64_t sequence) noexcept override;
  void complete(std::uint32_t unit, std::uint64_t sequence) noexcept override;
  void delivered(std::uint64_t sequence) noexcept override;
  void forget_all() noexcept override;

  /// Return what is held of a unit that is decoded now; null: its files have to be asked, and may answer from memory.
  /// \param wanted  What the thread wants of the unit; null: all of it. Blocks: while the unit is being read to be
  /// held.
  std::shared_ptr<const FetchedPieces> take(std::uint32_t unit, const Wanted* wanted) noexcept;
  /// Let go of a unit that need not be decoded.
  void forget(std::uint32_t unit) noexcept;
  /// Read all units from the first on where nothing else is wanted: they are decoded in that order, to be kept.
  void sweep();
  /// Take in what a decode thread did for a unit, by which it is decided how much is read ahead.
  /// \param waited_ns  For files. \param worked_ns  All else.
  void served(std::uint64_t waited_ns, std::uint64_t worked_ns) noexcept;
  /// Let go of everything, and end the readers. Blocks: until their calls have returned, or `until`; a reader whose
  /// call does not return is left behind. \return How many were.
  std::uint32_t stop(std::chrono::steady_clock::time_point until);
  [[nodiscard]] ReadingFigures figures() const;
  /// Return the reads that are made at once, by what was measured last.
  [[nodiscard]] std::uint32_t readers() const;

 private:
  const std::shared_ptr<UnitReaders> readers_;  // their threads' too: one that is stuck in a call may outlive this
};

/// A decode thread at a unit that is decoded, from construction to destruction.
class UnitReading {
 public:
  /// Take what was read of the unit. \param ahead  Null: nothing is read ahead. \param wanted  As ReadsAhead::take()
  /// has it. Blocks: as that.
  UnitReading(ReadsAhead* ahead, std::uint32_t unit, const Wanted* wanted, StageClock& clock);
  ~UnitReading();
  UnitReading(const UnitReading&) = delete;
  UnitReading& operator=(const UnitReading&) = delete;
  /// Return what was read ahead and is held; null: nothing.
  [[nodiscard]] const FetchedPieces* pieces() const { return pieces_.get(); }

 private:
  ReadsAhead* const ahead_;
  const WaitsHere waits_;
  const std::uint64_t start_ns_;
  std::uint64_t taking_ns_ = 0;
  std::shared_ptr<const FetchedPieces> pieces_;
};

}  // namespace headrace
