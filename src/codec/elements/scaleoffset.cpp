// scaleoffset (HDF5 filter 6): elements as their distance from the smallest one, in as few bits as the largest distance
// needs. Source: H5Zscaleoffset.c. A stream is
//   4 bytes  bits an element (little-endian, as all of it)
//   1 byte   8, the bytes of the minimum
//   8 bytes  the minimum: a sign-extended integer, or the bits of a float; 8 more bytes that mean nothing
//   the distances, each in that many bits, most significant first; at full width the elements themselves
// Where the dataset has a fill value, a distance with all bits set stands for it. A float's distance is in units of
// 10^-D. The results of float arithmetic are libhdf5's to the bit: as there, in the float's own precision.
// Client values: 0 how to scale (0: floats by 10^D, 2: integers), 1 D, or the bits an integer was given (0: as needed),
// 2 elements a chunk, 3 class (0 integer, 1 float), 4 bytes an element, 5 sign, 6 byte order (1 big-endian),
// 7 whether there is a fill value, 8 to 19 its bytes, from the least significant one.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <optional>

#include "codec/codec.h"
#include "codec/coded_bytes.h"
#include "codec/elements/bit_reader.h"
#include "codec/elements/byteswap.h"

namespace headrace {
namespace {

constexpr std::size_t kParameters = 20;
constexpr std::size_t kHeadBytes = 21;
constexpr std::uint32_t kByDecimals = 0, kByBits = 1, kIntegers = 2;  // client value 0

struct Parameters {
  bool floating = false, swapped = false;
  unsigned element_bytes = 1;
  std::size_t elements = 0;
  std::int32_t factor = 0;
  std::optional<std::uint64_t> fill;
};

/// What stands in front of the distances.
struct Head {
  unsigned bits = 0;
  std::uint64_t minimum = 0;
};

template <class Unsigned, class Value>
void unpack(BitReader distances, unsigned bits, std::size_t elements, std::byte* out, Value value) {
  for (std::size_t i = 0; i < elements; ++i, out += sizeof(Unsigned)) {
    const Unsigned element = value(distances.take(bits));
    std::memcpy(out, &element, sizeof element);
  }
}

template <class Unsigned>
void unpack_integers(const Parameters& p, const Head& head, std::span<const std::byte> in, std::byte* out) {
  const auto minimum = static_cast<Unsigned>(head.minimum), fill = static_cast<Unsigned>(p.fill.value_or(0));
  const std::uint64_t all_set = (std::uint64_t{1} << head.bits) - 1;
  if (p.fill) {
    unpack<Unsigned>(BitReader(in), head.bits, p.elements, out, [=](std::uint64_t distance) {
      return distance == all_set ? fill : static_cast<Unsigned>(distance + minimum);
    });
  } else {
    unpack<Unsigned>(BitReader(in), head.bits, p.elements, out,
                     [=](std::uint64_t distance) { return static_cast<Unsigned>(distance + minimum); });
  }
}

template <class Float, class Unsigned, class Signed>
void unpack_floats(const Parameters& p, const Head& head, std::span<const std::byte> in, std::byte* out) {
  const auto minimum = std::bit_cast<Float>(static_cast<Unsigned>(head.minimum));
  const auto fill = static_cast<Unsigned>(p.fill.value_or(0));
  const Float unit = std::pow(Float{10}, static_cast<Float>(p.factor));
  const std::uint64_t all_set = (std::uint64_t{1} << head.bits) - 1;
  unpack<Unsigned>(BitReader(in), head.bits, p.elements, out, [=, filled = p.fill.has_value()](std::uint64_t distance) {
    if (filled && distance == all_set) return fill;
    return std::bit_cast<Unsigned>(static_cast<Float>(static_cast<Signed>(distance)) / unit + minimum);
  });
}

class ScaleOffset final : public Codec {
 public:
  explicit ScaleOffset(const Parameters& parameters) : p_(parameters) {}
  [[nodiscard]] std::string_view name() const override { return "scaleoffset"; }
  [[nodiscard]] std::string setting() const override {
    return p_.floating || p_.factor > 0 ? std::to_string(p_.factor) : std::string();
  }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size(std::uint64_t decoded) const override {
    return stored_as_is() ? std::optional(decoded) : std::nullopt;
  }
  [[nodiscard]] std::uint64_t max_encoded_size(std::uint64_t decoded) const override {
    return decoded + kHeadBytes + 1;  // libhdf5 adds a byte in which the last bits may end
  }

  // Bytes behind the last distance are ignored, as libhdf5 does: it always writes one or two too many.
  Result<std::size_t> decode(std::span<const std::byte> in, std::span<std::byte> out) const override {
    const std::size_t size = p_.elements * p_.element_bytes;
    if (size > out.size()) return corrupt(fmt::format("chunks of {} bytes where {} are expected", size, out.size()));
    if (stored_as_is()) {
      if (in.size() != size) return corrupt(fmt::format("the stream has {} bytes, {} expected", in.size(), size));
      copy_bytes(out.data(), in.data(), size);
      return size;
    }
    if (in.size() < kHeadBytes) return corrupt(fmt::format("{} bytes cannot hold the header of 21", in.size()));
    const std::uint32_t bits = load_le32(in.data()), minimum_bytes = std::to_integer<std::uint32_t>(in[4]);
    if (bits > 8 * p_.element_bytes)
      return corrupt(fmt::format("the header says {} bits for elements of {} bytes", bits, p_.element_bytes));
    if (minimum_bytes != 8) return corrupt(fmt::format("the header says a minimum of {} bytes", minimum_bytes));
    const std::uint64_t need = kHeadBytes + (std::uint64_t{p_.elements} * bits + 7) / 8;
    if (in.size() < need) return corrupt(fmt::format("the stream has {} bytes, {} needed", in.size(), need));
    decode_distances({bits, load_le64(in.data() + 5)}, in.subspan(kHeadBytes), out.first(size));
    return size;
  }

 private:
  // Integers that were given all of their bits are not touched, and have no header.
  [[nodiscard]] bool stored_as_is() const {
    return !p_.floating && p_.factor == static_cast<std::int32_t>(8 * p_.element_bytes);
  }

  void decode_distances(const Head& head, std::span<const std::byte> in, std::span<std::byte> out) const {
    if (head.bits == 8 * p_.element_bytes) {
      copy_bytes(out.data(), in.data(), out.size());
    } else if (p_.floating) {
      p_.element_bytes == 4 ? unpack_floats<float, std::uint32_t, std::int32_t>(p_, head, in, out.data())
                            : unpack_floats<double, std::uint64_t, std::int64_t>(p_, head, in, out.data());
    } else {
      switch (p_.element_bytes) {
        case 1:
          unpack_integers<std::uint8_t>(p_, head, in, out.data());
          break;
        case 2:
          unpack_integers<std::uint16_t>(p_, head, in, out.data());
          break;
        case 4:
          unpack_integers<std::uint32_t>(p_, head, in, out.data());
          break;
        default:
          unpack_integers<std::uint64_t>(p_, head, in, out.data());
      }
    }
    if (p_.swapped) swap_bytes(out, p_.element_bytes);
  }

  Parameters p_;
};

Result<Parameters> read_parameters(const std::vector<std::uint32_t>& p, const ChunkForm& form) {
  if (p.size() != kParameters) return corrupt(fmt::format("{} parameters, {} expected", p.size(), kParameters));
  const bool integer = p[3] == 0, floating = p[3] == 1;
  const bool has_size = p[4] == 4 || p[4] == 8 || (integer && (p[4] == 1 || p[4] == 2));
  if (!(integer || floating) || !has_size || p[5] > 1 || p[6] > 1 || p[7] > 1)
    return corrupt(fmt::format("no numbers are of class {}, {} bytes, sign {}, byte order {}", p[3], p[4], p[5], p[6]));
  if (p[4] != form.element_bytes || std::uint64_t{p[2]} * p[4] != form.chunk_bytes)
    return corrupt(fmt::format("the parameters say {} elements of {} bytes, a chunk has {} bytes in elements of {}",
                               p[2], p[4], form.chunk_bytes, form.element_bytes));
  if (floating && p[0] == kByBits)
    return Error(ErrorCode::kUnsupported, "floats scaled by powers of 2, which libhdf5 does not know either");
  if (p[0] != (floating ? kByDecimals : kIntegers)) return corrupt(fmt::format("no way to scale has number {}", p[0]));
  Parameters out;
  out.floating = floating;
  out.swapped = (p[6] == 1) != (std::endian::native == std::endian::big);
  out.element_bytes = p[4];
  out.elements = p[2];
  out.factor = static_cast<std::int32_t>(p[1]);
  if (integer && out.factor > static_cast<std::int32_t>(8 * p[4]))
    return corrupt(fmt::format("{} bits for integers of {} bytes", p[1], p[4]));
  if (p[7] == 1) out.fill = std::uint64_t{p[9]} << 32 | p[8];
  return out;
}

}  // namespace

Result<std::unique_ptr<Codec>> make_scaleoffset(const FilterSpec& spec, const ChunkForm& form) {
  HEADRACE_ASSIGN(const Parameters parameters, read_parameters(spec.parameters, form));
  return std::unique_ptr<Codec>(std::make_unique<ScaleOffset>(parameters));
}

}  // namespace headrace
