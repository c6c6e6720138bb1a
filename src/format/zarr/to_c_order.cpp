#include "format/zarr/to_c_order.h"

#include <algorithm>
#include <cstring>

namespace headrace::zarr {
namespace {

/// An axis of the loops: so many places, so far apart on each side.
struct Axis {
  std::size_t count, from_bytes, to_bytes;
};

template <class T>
void move_element(std::byte* to, const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  std::memcpy(to, &value, sizeof value);
}

/// Two axes in tiles, so that lines of both sides are in the processor's cache while they are used.
template <class Move>
void move_plane(const Axis& slow, const Axis& fast, const std::byte* from, std::byte* to, Move move) {
  constexpr std::size_t kTile = 16;
  for (std::size_t i = 0; i < slow.count; i += kTile)
    for (std::size_t j = 0; j < fast.count; j += kTile)
      for (std::size_t a = i; a < std::min(i + kTile, slow.count); ++a)
        for (std::size_t b = j; b < std::min(j + kTile, fast.count); ++b)
          move(to + a * slow.to_bytes + b * fast.to_bytes, from + a * slow.from_bytes + b * fast.from_bytes);
}

template <class Move>
void move_all(const std::vector<Axis>& outer, const Axis& slow, const Axis& fast, const std::byte* from, std::byte* to,
              Move move) {
  std::vector<std::size_t> at(outer.size(), 0);
  for (;;) {
    std::size_t in = 0, out = 0;
    for (std::size_t d = 0; d < outer.size(); ++d) {
      in += at[d] * outer[d].from_bytes;
      out += at[d] * outer[d].to_bytes;
    }
    move_plane(slow, fast, from + in, to + out, move);
    std::size_t d = outer.size();
    while (d > 0 && ++at[d - 1] == outer[d - 1].count) at[--d] = 0;
    if (d == 0) return;
  }
}

}  // namespace

void to_c_order(std::span<const std::byte> in, const std::vector<std::uint64_t>& shape,
                const std::vector<std::size_t>& order, std::size_t element_bytes, std::span<std::byte> out) {
  std::vector<Axis> axes(shape.size());  // in C order
  std::size_t stride = element_bytes;
  for (std::size_t d = shape.size(); d-- > 0; stride *= axes[d].count)
    axes[d] = {static_cast<std::size_t>(shape[d]), 0, stride};
  stride = element_bytes;
  for (std::size_t i = order.size(); i-- > 0; stride *= axes[order[i]].count) axes[order[i]].from_bytes = stride;
  // The axes that are fastest on either side make the plane.
  const std::size_t last = axes.size() - 1, stored_last = order.back();
  const Axis fast = axes[last];
  Axis slow{1, 0, 0};
  std::vector<Axis> outer;
  for (std::size_t d = 0; d < last; ++d) (d == stored_last ? slow : outer.emplace_back()) = axes[d];
  const auto run = [&](auto move) { move_all(outer, slow, fast, in.data(), out.data(), move); };
  switch (element_bytes) {
    case 1:
      return run(move_element<std::uint8_t>);
    case 2:
      return run(move_element<std::uint16_t>);
    case 4:
      return run(move_element<std::uint32_t>);
    case 8:
      return run(move_element<std::uint64_t>);
    default:
      return run([=](std::byte* to, const std::byte* from) { std::memcpy(to, from, element_bytes); });
  }
}

}  // namespace headrace::zarr
