#include "base/memory/fill_elements.h"

#include <algorithm>
#include <cstring>

namespace headrace {

void fill_elements(std::span<const std::byte> first, std::size_t element_bytes, std::span<std::byte> out) {
  if (out.empty()) return;
  const std::byte byte = first.empty() || first.size() < element_bytes ? std::byte{0} : first[0];
  if (std::ranges::all_of(first, [&](std::byte b) { return b == byte; })) {
    std::memset(out.data(), std::to_integer<int>(byte), out.size());
    return;
  }
  std::memset(out.data(), 0, element_bytes);
  std::memcpy(out.data(), first.data(), first.size());
  for (std::size_t done = element_bytes; done < out.size(); done *= 2)  // double what is there
    std::memcpy(out.data() + done, out.data(), std::min(done, out.size() - done));
}

}  // namespace headrace
