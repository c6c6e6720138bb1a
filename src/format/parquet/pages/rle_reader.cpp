#include "format/parquet/pages/rle_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "codec/coded_bytes.h"

namespace headrace::parquet {
namespace {

constexpr std::size_t kGroup = 8;  // numbers that fill whole bytes, whatever their width

std::uint64_t load_u64(const std::byte* from) {
  std::uint64_t value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// Eight numbers of a width known to the compiler, so that it knows every shift. Reads up to 8 bytes past the group.
template <std::uint32_t kWidth>
void unpack_group(const std::byte* in, std::uint32_t* out) {
  constexpr std::uint64_t kMask = (std::uint64_t{1} << kWidth) - 1;
  for (std::size_t i = 0; i < kGroup; ++i)
    out[i] = static_cast<std::uint32_t>(load_u64(in + i * kWidth / 8) >> (i * kWidth % 8) & kMask);
}

template <std::uint32_t kWidth>
void unpack_groups(const std::byte* in, std::size_t groups, std::uint32_t* out) {
  for (std::size_t g = 0; g < groups; ++g, in += kWidth, out += kGroup) unpack_group<kWidth>(in, out);
}

using Unpack = void (*)(const std::byte*, std::size_t, std::uint32_t*);
template <std::size_t... kWidths>
constexpr std::array<Unpack, sizeof...(kWidths)> unpackers(std::index_sequence<kWidths...>) {
  return {&unpack_groups<static_cast<std::uint32_t>(kWidths)>...};
}
constexpr auto kUnpackers = unpackers(std::make_index_sequence<33>());

std::uint32_t unpack_one(std::span<const std::byte> packed, std::uint32_t width, std::uint64_t index) {
  const std::uint64_t bit = index * width, from = bit / 8;
  std::array<std::byte, 8> word{};
  const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(8, packed.size() - from));
  std::memcpy(word.data(), packed.data() + from, size);
  return static_cast<std::uint32_t>(load_u64(word.data()) >> (bit % 8) & ((std::uint64_t{1} << width) - 1));
}

}  // namespace

void unpack_bits(std::span<const std::byte> packed, std::uint32_t width, std::uint64_t first, std::size_t count,
                 std::uint32_t* out) {
  if (width == 0) {
    std::fill_n(out, count, 0U);
    return;
  }
  while (count > 0 && first % kGroup != 0) *out++ = unpack_one(packed, width, first++), --count;
  const std::uint64_t from = first / kGroup * width;
  const std::size_t wide = packed.size() >= from + 8 ? static_cast<std::size_t>((packed.size() - from - 8) / width) : 0;
  const std::size_t groups = std::min(count / kGroup, wide);  // those that have 8 bytes behind them
  kUnpackers[width](packed.data() + from, groups, out);
  for (std::size_t i = groups * kGroup; i < count; ++i) out[i] = unpack_one(packed, width, first + i);
}

RleReader::RleReader(std::span<const std::byte> bytes, std::uint32_t bit_width)
    : bytes_(bytes), bit_width_(bit_width) {}

Status RleReader::begin_run() {
  std::uint64_t head = 0;
  for (int shift = 0;; shift += 7) {
    if (bytes_.empty()) return corrupt("its runs end before its values do");
    if (shift > 28) return corrupt("a run with a length of more than 32 bits");
    const auto next = std::to_integer<std::uint32_t>(bytes_[0]);
    bytes_ = bytes_.subspan(1);
    head |= std::uint64_t{next & 0x7fU} << shift;
    if ((next & 0x80U) == 0) break;
  }
  repeated_ = (head & 1) == 0;
  if (repeated_) {
    left_ = head >> 1;
    const std::size_t size = (bit_width_ + 7) / 8;
    if (bytes_.size() < size) return corrupt("its runs end within a repeated value");
    value_ = 0;
    std::memcpy(&value_, bytes_.data(), size);
    if (bit_width_ < 32 && value_ >> bit_width_ != 0)
      return corrupt(fmt::format("a repeated value of {}, beyond its {} bits", value_, bit_width_));
    bytes_ = bytes_.subspan(size);
    return {};
  }
  left_ = (head >> 1) * kGroup;
  packed_at_ = 0;
  const std::uint64_t size = (head >> 1) * bit_width_;
  packed_ = bytes_.first(static_cast<std::size_t>(std::min<std::uint64_t>(size, bytes_.size())));
  if (packed_.size() < size) left_ = std::uint64_t{packed_.size()} * 8 / bit_width_;  // the last group may be cut short
  bytes_ = bytes_.subspan(packed_.size());
  return {};
}

Result<RleRun> RleReader::next(std::uint32_t* out, std::size_t most) {
  while (left_ == 0) HEADRACE_TRY(begin_run());
  RleRun run{static_cast<std::size_t>(std::min<std::uint64_t>(left_, most)), repeated_, value_};
  left_ -= run.count;
  if (!repeated_) {
    unpack_bits(packed_, bit_width_, packed_at_, run.count, out);
    packed_at_ += run.count;
  }
  return run;
}

bool RleReader::repeats(std::uint32_t value, std::uint64_t count) {
  if (left_ == 0 && !begin_run().ok()) return false;
  return repeated_ && value_ == value && left_ >= count;
}

Status RleReader::skip(std::uint64_t count) {
  while (count > 0) {
    while (left_ == 0) HEADRACE_TRY(begin_run());
    const std::uint64_t passed = std::min(left_, count);
    left_ -= passed;
    packed_at_ += passed;
    count -= passed;
  }
  return {};
}

}  // namespace headrace::parquet
