// ReaderCount: how many reads are kept in flight, from what was measured.
#pragma once

#include <cstdint>

namespace headrace {

/// Decode threads decode a unit in D; its reads wait U. So many units must be on their way that threads never wait:
/// threads * U / D (Little's law), and as many again for what varies. None where reads come from memory. More are tried
/// only while threads do wait, and given up again where each read takes longer then and all together are no more: the
/// storage has no more to give.
/// Threads: one at a time.
class ReaderCount {
 public:
  static constexpr std::uint32_t kMost = 128;

  /// \param threads  That decode. \param most  Reads in flight that are allowed. \param is_fixed  Always so many, as
  /// the user said.
  ReaderCount(std::uint32_t threads, std::uint32_t most, bool is_fixed);

  /// Have some readers before anything is measured: files answered late when they were opened.
  void expect_waits();
  /// Take in that a decode thread served a unit. \param waited_ns  For reads of its own. \param worked_ns  All else.
  void served(std::uint64_t waited_ns, std::uint64_t worked_ns);
  /// Take in a read that was made ahead.
  void read(std::uint64_t took_ns) { ++reads_, read_ns_ += took_ns; }
  /// Take in that a unit was read ahead. \param waited_ns  By all of its reads together.
  void fetched(std::uint64_t waited_ns);
  /// Set wanted() by what was measured, where enough time has passed. \return True if wanted() changed.
  bool update(std::uint64_t now_ns);
  [[nodiscard]] std::uint32_t wanted() const { return wanted_; }

 private:
  [[nodiscard]] std::uint32_t needed() const;

  const std::uint32_t threads_, most_;
  const bool is_fixed_;
  bool has_fetched_ = false;          // else what is expected is all that is known
  double wait_ns_ = 0, work_ns_ = 0;  // running means of a unit
  std::uint32_t wanted_;
  // Since the last update:
  std::uint64_t begun_ns_ = 0, waited_ns_ = 0, all_ns_ = 0, reads_ = 0, read_ns_ = 0;
  // When wanted_ was raised last:
  std::uint32_t before_raise_ = 0;
  double rate_before_ = 0, read_before_ns_ = 0;
  std::uint64_t no_raise_until_ns_ = 0;
  bool raised_ = false;
};

}  // namespace headrace
