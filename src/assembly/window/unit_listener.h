// UnitListener: is told which units the window will want, before they can be claimed.
#pragma once

#include <cstdint>

namespace headrace {

/// Called under the window's lock: must be quick, and never asks the window anything.
class UnitListener {
 public:
  virtual ~UnitListener() = default;
  /// Note that a unit is asked for, for the first time or the first time since it was claimed. \param sequence  Of the
  /// oldest batch that needs it: batches are delivered in that order.
  virtual void wanted(std::uint32_t unit, std::uint64_t sequence) noexcept = 0;
  /// Note that a wanted unit may be claimed now: no batch will ask for more of it.
  virtual void complete(std::uint32_t unit, std::uint64_t sequence) noexcept = 0;
  /// Note that all batches before `sequence` are delivered: that one is waited for next.
  virtual void delivered(std::uint64_t sequence) noexcept = 0;
  /// Note that no unit is wanted any more.
  virtual void forget_all() noexcept = 0;
};

}  // namespace headrace
