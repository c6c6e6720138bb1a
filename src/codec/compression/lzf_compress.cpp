#include "codec/compression/lzf_compress.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace headrace {

std::size_t lzf_compress(std::span<const std::byte> in, std::span<std::byte> out) {
  constexpr std::size_t kMaxLiterals = 32;
  constexpr std::size_t kMaxDistance = 8192;
  constexpr std::size_t kMaxMatch = 264;
  constexpr std::size_t kHashBits = 16;
  std::vector<std::uint32_t> seen(std::size_t{1} << kHashBits, 0);  // position + 1 of the last three bytes like these
  const auto byte_at = [&](std::size_t i) { return std::to_integer<std::uint32_t>(in[i]); };
  const auto hash_at = [&](std::size_t i) {
    const std::uint32_t three = byte_at(i) << 16 | byte_at(i + 1) << 8 | byte_at(i + 2);
    return (three * 2654435761U) >> (32 - kHashBits);
  };

  std::size_t written = 0;
  std::size_t literals_from = 0;
  const auto flush_literals = [&](std::size_t until) {
    while (literals_from < until) {
      const std::size_t run = std::min(until - literals_from, kMaxLiterals);
      if (written + 1 + run > out.size()) return false;
      out[written++] = static_cast<std::byte>(run - 1);
      std::copy_n(in.data() + literals_from, run, out.data() + written);
      written += run;
      literals_from += run;
    }
    return true;
  };

  std::size_t at = 0;
  while (at + 3 <= in.size()) {
    std::uint32_t& slot = seen[hash_at(at)];
    const std::size_t candidate = slot;
    slot = static_cast<std::uint32_t>(at + 1);
    if (candidate == 0 || at - (candidate - 1) > kMaxDistance ||
        !std::equal(in.data() + candidate - 1, in.data() + candidate + 2, in.data() + at)) {
      ++at;
      continue;
    }
    const std::size_t from = candidate - 1;
    const std::size_t limit = std::min(in.size() - at, kMaxMatch);
    std::size_t length = 3;
    while (length < limit && in[from + length] == in[at + length]) ++length;
    if (!flush_literals(at) || written + 3 > out.size()) return 0;
    const std::size_t distance = at - from - 1;
    const std::size_t code = length - 2;
    out[written++] = static_cast<std::byte>((code < 7 ? code : 7) << 5 | distance >> 8);
    if (code >= 7) out[written++] = static_cast<std::byte>(code - 7);
    out[written++] = static_cast<std::byte>(distance & 0xFF);
    at += length;
    literals_from = at;
  }
  return flush_literals(in.size()) ? written : 0;
}

}  // namespace headrace
