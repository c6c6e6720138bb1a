// The requests of a unit while they wait: four bytes each where item and position fit into them together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assembly/window/wanted.h"

namespace headrace {

/// A list of requests. Threads: one at a time.
class RequestList {
 public:
  /// How many of 32 bits an item takes; the others are its position's. 0: nothing is packed.
  using ItemBits = std::uint32_t;
  /// Return the bits that items below `end` take.
  static constexpr ItemBits item_bits(std::uint64_t end);
  /// Return true if requests of such items are packed at positions below `end`.
  static constexpr bool are_packed(ItemBits bits, std::uint64_t end_position);

  /// \param bits  The same for all requests of a list; items fit into them.
  void add(Request request, ItemBits bits);
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(packed_.size() + wide_.size()); }
  [[nodiscard]] bool empty() const { return packed_.empty() && wide_.empty(); }
  void clear();
  void swap(RequestList& other) noexcept;
  /// Write the requests in the order they were added. \param out  As many as size().
  void write(std::span<Request> out, ItemBits bits) const;

 private:
  void widen(ItemBits bits);

  std::vector<std::uint32_t> packed_;  // position above item; or, once one did not fit:
  std::vector<Request> wide_;
};

constexpr RequestList::ItemBits RequestList::item_bits(std::uint64_t end) {
  ItemBits bits = 1;
  while (bits < 32 && end > (std::uint64_t{1} << bits)) ++bits;
  return bits < 32 ? bits : 0;
}

constexpr bool RequestList::are_packed(ItemBits bits, std::uint64_t end_position) {
  return bits != 0 && end_position <= (std::uint64_t{1} << (32 - bits));
}

inline void RequestList::add(Request request, ItemBits bits) {
  if (wide_.empty() && bits != 0 && request.position >> (32 - bits) == 0)
    return packed_.push_back(request.position << bits | request.item);
  if (!packed_.empty()) widen(bits);
  wide_.push_back(request);
}

}  // namespace headrace
