#include "assembly/window/request_list.h"

#include <algorithm>

namespace headrace {
namespace {

Request unpacked(std::uint32_t packed, RequestList::ItemBits bits) {
  return {packed & ((std::uint32_t{1} << bits) - 1), packed >> bits};
}

}  // namespace

void RequestList::widen(ItemBits bits) {
  std::vector<Request> wide(packed_.size());
  std::ranges::transform(packed_, wide.begin(), [&](std::uint32_t packed) { return unpacked(packed, bits); });
  wide_.swap(wide);
  packed_.clear();
}

void RequestList::clear() {
  packed_.clear();
  wide_.clear();
}

void RequestList::swap(RequestList& other) noexcept {
  packed_.swap(other.packed_);
  wide_.swap(other.wide_);
}

void RequestList::write(std::span<Request> out, ItemBits bits) const {
  if (packed_.empty())
    std::ranges::copy(wide_, out.begin());
  else
    std::ranges::transform(packed_, out.begin(), [&](std::uint32_t packed) { return unpacked(packed, bits); });
}

}  // namespace headrace
