// nbit (HDF5 filter 5): the bits of each number that its datatype calls significant, one number after the other, most
// significant bit first, without any header. Source: H5Znbit.c. All other bits of the output are zero: what they mean,
// the sign among them, is the datatype's business.
// Client values: 0 how many there are, 1 whether all bits are significant (then nothing is done), 2 elements a chunk,
// then the datatype:
//   1 SIZE ORDER PRECISION OFFSET       a number; PRECISION bits above OFFSET bits are significant; ORDER 1: big-endian
//   2 SIZE TYPE                         an array of SIZE bytes of TYPE
//   3 SIZE MEMBERS (OFFSET TYPE)...     a record
//   4 SIZE                              bytes that are left as they are; in an array, as many as the array has
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "codec/codec.h"
#include "codec/coded_bytes.h"
#include "codec/elements/bit_reader.h"

namespace headrace {
namespace {

constexpr unsigned kDepthLimit = 16;
constexpr std::uint64_t kCountableChunkBytes = std::uint64_t{1} << 56;  // below it, counts of bits cannot overflow
constexpr std::uint32_t kNumber = 1, kArray = 2, kRecord = 3, kBytes = 4;

/// Numbers at equal distances, or what is repeated at equal distances: the `body` steps that follow this one.
struct Step {
  std::uint64_t offset = 0, count = 1, stride = 0;  // in bytes, from the start of what it is in
  std::size_t body = 0;
  std::uint32_t number_bytes = 1, precision = 8, shift = 0;
  bool big_endian = false;
};

struct Extent {
  std::uint64_t bytes = 0, bits = 0;
};

/// Reads the datatype once, into steps that stay inside it and never touch a byte twice.
class TypeReader {
 public:
  explicit TypeReader(std::span<const std::uint32_t> values) : values_(values) {}

  /// Nothing if the values make no sense.
  std::optional<Extent> read_elements(std::uint64_t elements) {
    const std::uint32_t kind = next();
    if (kind == kBytes) return {};
    steps.push_back({.count = elements});
    const auto element = read(kind, 0, 0);
    if (!element || at_ != values_.size()) return {};
    close(0, element->bytes);
    return element;
  }
  std::vector<Step> steps;

 private:
  std::uint32_t next() { return at_ < values_.size() ? values_[at_++] : (ended_ = true, 0); }

  std::optional<Extent> read(std::uint32_t kind, std::uint64_t at, unsigned depth) {
    const std::uint64_t size = next();
    if (ended_ || size == 0 || depth > kDepthLimit) return {};
    switch (kind) {
      case kNumber:
        return read_number(size, at);
      case kArray:
        return read_array(size, at, depth);
      case kRecord:
        return read_record(size, at, depth);
      case kBytes:
        return add_bytes(size, at);
      default:
        return {};
    }
  }

  std::optional<Extent> add_bytes(std::uint64_t size, std::uint64_t at) {
    steps.push_back({.offset = at, .count = size, .stride = 1});
    return Extent{size, 8 * size};
  }

  std::optional<Extent> read_number(std::uint64_t size, std::uint64_t at) {
    const std::uint32_t order = next(), precision = next(), shift = next();
    if (ended_ || order > 1 || precision == 0 || std::uint64_t{precision} + shift > 8 * size) return {};
    steps.push_back({.offset = at,
                     .stride = size,
                     .number_bytes = static_cast<std::uint32_t>(size),
                     .precision = precision,
                     .shift = shift,
                     .big_endian = order == 1});
    return Extent{size, precision};
  }

  std::optional<Extent> read_array(std::uint64_t size, std::uint64_t at, unsigned depth) {
    const std::uint32_t kind = next();
    if (kind == kBytes) {
      next();  // the size of one entry, which libhdf5 skips too
      return ended_ ? std::nullopt : add_bytes(size, at);
    }
    const std::size_t group = steps.size();
    steps.push_back({.offset = at});
    const auto entry = read(kind, 0, depth + 1);
    if (!entry || size % entry->bytes != 0) return {};
    const std::uint64_t count = size / entry->bytes;
    steps[group].count = count;
    close(group, entry->bytes);
    return Extent{size, count * entry->bits};
  }

  std::optional<Extent> read_record(std::uint64_t size, std::uint64_t at, unsigned depth) {
    struct BitRange {
      std::uint64_t begin, end;
    };
    std::vector<BitRange> places;
    Extent record{size, 0};
    const std::uint32_t members = next();
    for (std::uint32_t i = 0; i < members; ++i) {
      const std::uint64_t offset = next();
      const std::uint32_t kind = next();
      const auto member = read(kind, at + offset, depth + 1);
      if (!member || offset + member->bytes > size) return {};
      places.push_back({offset, offset + member->bytes});
      record.bits += member->bits;
    }
    std::ranges::sort(places, {}, &BitRange::begin);
    const auto overlap = [](const BitRange& a, const BitRange& b) { return b.begin < a.end; };
    if (places.empty() || std::ranges::adjacent_find(places, overlap) != places.end()) return {};
    return record;
  }

  /// End the body of steps[group]. A body of numbers that touch each other becomes one longer run of them.
  void close(std::size_t group, std::uint64_t entry_bytes) {
    Step& repeat = steps[group];
    repeat.stride = entry_bytes;
    repeat.body = steps.size() - group - 1;
    if (repeat.body != 1) return;
    const Step numbers = steps.back();
    if (numbers.offset != 0 || numbers.count * numbers.stride != entry_bytes) return;
    const std::uint64_t offset = repeat.offset, count = repeat.count * numbers.count;
    repeat = numbers;
    repeat.offset = offset;
    repeat.count = count;
    steps.pop_back();
  }

  std::span<const std::uint32_t> values_;
  std::size_t at_ = 0;
  bool ended_ = false;
};

template <class Unsigned>
void put_numbers(BitReader& stream, const Step& step, std::byte* out) {
  const bool swap = sizeof(Unsigned) > 1 && step.big_endian != (std::endian::native == std::endian::big);
  for (std::uint64_t i = 0; i < step.count; ++i, out += sizeof(Unsigned)) {
    auto number = static_cast<Unsigned>(stream.take(step.precision) << step.shift);
    if (swap) {
      if constexpr (sizeof number == 2) number = __builtin_bswap16(number);
      if constexpr (sizeof number == 4) number = __builtin_bswap32(number);
      if constexpr (sizeof number == 8) number = __builtin_bswap64(number);
    }
    std::memcpy(out, &number, sizeof number);
  }
}

// Numbers of any size, from their most significant byte to their least.
void put_long_numbers(BitReader& stream, const Step& step, std::byte* out) {
  for (std::uint64_t i = 0; i < step.count; ++i, out += step.number_bytes) {
    for (std::uint64_t end = std::uint64_t{step.shift} + step.precision; end > step.shift;) {
      const std::uint64_t byte = (end - 1) / 8, begin = std::max<std::uint64_t>(8 * byte, step.shift);
      const std::uint64_t bits = stream.take(static_cast<unsigned>(end - begin)) << begin % 8;
      out[step.big_endian ? step.number_bytes - 1 - byte : byte] = static_cast<std::byte>(bits);
      end = begin;
    }
  }
}

void run(BitReader& stream, std::span<const Step> steps, std::byte* out) {
  for (std::size_t at = 0; at < steps.size(); at += 1 + steps[at].body) {
    const Step& step = steps[at];
    std::byte* to = out + step.offset;
    if (step.body > 0) {
      for (std::uint64_t i = 0; i < step.count; ++i, to += step.stride)
        run(stream, steps.subspan(at + 1, step.body), to);
      continue;
    }
    switch (step.number_bytes) {
      case 1:
        put_numbers<std::uint8_t>(stream, step, to);
        break;
      case 2:
        put_numbers<std::uint16_t>(stream, step, to);
        break;
      case 4:
        put_numbers<std::uint32_t>(stream, step, to);
        break;
      case 8:
        put_numbers<std::uint64_t>(stream, step, to);
        break;
      default:
        put_long_numbers(stream, step, to);
    }
  }
}

class NBit final : public Codec {
 public:
  /// \param steps  None: all bits are significant, and nothing is done.
  NBit(std::uint64_t chunk_bytes, std::uint64_t stream_bytes, std::vector<Step> steps)
      : chunk_bytes_(chunk_bytes), stream_bytes_(stream_bytes), steps_(std::move(steps)) {}
  [[nodiscard]] std::string_view name() const override { return "nbit"; }
  [[nodiscard]] std::string setting() const override {
    return steps_.size() == 1 ? std::to_string(steps_[0].precision) : std::string();
  }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size(std::uint64_t decoded) const override {
    return steps_.empty() ? std::optional(decoded) : std::nullopt;
  }
  [[nodiscard]] std::uint64_t max_encoded_size(std::uint64_t decoded) const override {
    return decoded + 1;  // libhdf5 begins another byte when the last one is full
  }

  // Bytes behind the last number are ignored, as libhdf5 does, which writes one too many.
  Result<std::size_t> decode(std::span<const std::byte> in, std::span<std::byte> out) const override {
    if (chunk_bytes_ > out.size())
      return corrupt(fmt::format("chunks of {} bytes where {} are expected", chunk_bytes_, out.size()));
    if (in.size() < stream_bytes_)
      return corrupt(fmt::format("the stream has {} bytes, {} needed", in.size(), stream_bytes_));
    const std::span<std::byte> chunk = out.first(chunk_bytes_);
    if (steps_.empty()) {
      copy_bytes(chunk.data(), in.data(), chunk.size());
    } else {
      std::ranges::fill(chunk, std::byte{0});
      BitReader stream(in);
      run(stream, steps_, chunk.data());
    }
    return chunk.size();
  }

 private:
  std::uint64_t chunk_bytes_, stream_bytes_;
  std::vector<Step> steps_;
};

}  // namespace

Result<std::unique_ptr<Codec>> make_nbit(const FilterSpec& spec, const ChunkForm& form) {
  const std::vector<std::uint32_t>& p = spec.parameters;
  const auto made = [&](std::uint64_t stream_bytes, std::vector<Step> steps) {
    return std::unique_ptr<Codec>(std::make_unique<NBit>(form.chunk_bytes, stream_bytes, std::move(steps)));
  };
  if (p.size() < 3 || p[0] != p.size())
    return corrupt(fmt::format("{} parameters, {} expected", p.size(), p.empty() ? 3 : std::max(p[0], 3u)));
  if (p[1] > 1) return corrupt(fmt::format("'nothing to do' is {}, not 0 or 1", p[1]));
  if (form.chunk_bytes > kCountableChunkBytes || p[2] * form.element_bytes != form.chunk_bytes)
    return corrupt(fmt::format("the parameters say {} elements, a chunk has {} bytes in elements of {}", p[2],
                               form.chunk_bytes, form.element_bytes));
  if (p[1] == 1) return made(form.chunk_bytes, {});
  TypeReader type{std::span(p).subspan(3)};
  const auto element = type.read_elements(p[2]);
  if (!element) return corrupt("the parameters describe no datatype that there can be");
  if (element->bytes != form.element_bytes)
    return corrupt(fmt::format("the parameters describe elements of {} bytes, the array has {}", element->bytes,
                               form.element_bytes));
  return made((p[2] * element->bits + 7) / 8, std::move(type.steps));
}

}  // namespace headrace
