// LZF (HDF5 filter 32000, h5py's "lzf"): liblzf's format, decoded here with every access bounded.
// A control byte below 32 starts a run of control + 1 literal bytes. Otherwise its upper 3 bits (7: plus the next byte)
// plus 2 are a match's length, and its lower 5 bits with one more byte the distance less one. Source: lzf_d.c.
#include <fmt/format.h>

#include "codec/codec.h"
#include "codec/coded_bytes.h"

namespace headrace {
namespace {

constexpr std::size_t kMaxLiteral = 32;
constexpr std::size_t kStride = 16;  // copies run in steps of this where the buffers leave room

// A match may overlap itself: byte i repeats byte i - distance.
void copy_match(std::byte* to, std::size_t distance, std::size_t length, std::size_t room) {
  const std::byte* from = to - distance;
  if (distance == 1) {
    std::memset(to, static_cast<int>(*from), length);
  } else if (distance >= kStride && room >= length + kStride) {
    for (std::size_t i = 0; i < length; i += kStride) std::memcpy(to + i, from + i, kStride);
  } else if (distance >= 8 && room >= length + 8) {
    for (std::size_t i = 0; i < length; i += 8) std::memcpy(to + i, from + i, 8);
  } else {
    for (std::size_t i = 0; i < length; ++i) to[i] = from[i];
  }
}

class Lzf final : public Codec {
 public:
  [[nodiscard]] std::string_view name() const override { return "lzf"; }

  Result<std::size_t> decode(std::span<const std::byte> in, std::span<std::byte> out) const override {
    const std::byte* ip = in.data();
    const std::byte* const in_end = ip + in.size();
    std::byte* const start = out.data();
    std::byte* op = start;
    std::byte* const out_end = start + out.size();
    const auto left = [&] { return static_cast<std::size_t>(in_end - ip); };
    const auto room = [&] { return static_cast<std::size_t>(out_end - op); };
    const auto ends_early = [&] {
      return corrupt(fmt::format("stream ends inside a step, after {} of {} bytes", op - start, out.size()));
    };
    const auto too_long = [&] {
      return corrupt(fmt::format("stream holds more than the expected {} bytes", out.size()));
    };
    while (ip != in_end) {
      const auto control = static_cast<std::size_t>(*ip++);
      if (control < kMaxLiteral) {
        const std::size_t length = control + 1;
        if (length > left()) return ends_early();
        if (length > room()) return too_long();
        if (left() >= kMaxLiteral && room() >= kMaxLiteral) {
          std::memcpy(op, ip, kMaxLiteral);
        } else {
          std::memcpy(op, ip, length);
        }
        ip += length;
        op += length;
        continue;
      }
      std::size_t length = (control >> 5) + 2;
      if (length == 7 + 2) {
        if (left() == 0) return ends_early();
        length += static_cast<std::size_t>(*ip++);
      }
      if (left() == 0) return ends_early();
      const std::size_t distance = ((control & 31) << 8 | static_cast<std::size_t>(*ip++)) + 1;
      if (distance > static_cast<std::size_t>(op - start))
        return corrupt(fmt::format("damaged stream after {} bytes (it refers back {} bytes)", op - start, distance));
      if (length > room()) return too_long();
      copy_match(op, distance, length, room());
      op += length;
    }
    return static_cast<std::size_t>(op - start);
  }
};

}  // namespace

Result<std::unique_ptr<Codec>> make_lzf(const FilterSpec& /*spec*/, const ChunkForm& /*form*/) {
  return std::unique_ptr<Codec>(std::make_unique<Lzf>());
}

}  // namespace headrace
