#include "format/parquet/pages/delta_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "codec/coded_bytes.h"

namespace headrace::parquet {
namespace {

constexpr std::uint64_t kMostBlockValues = 1 << 20;

std::uint64_t unzigzag(std::uint64_t value) {
  return value >> 1 ^ (~(value & 1) + 1);
}

/// A number of up to 64 bits, which may lie in nine bytes.
std::uint64_t wide_bits(std::span<const std::byte> packed, std::uint32_t width, std::uint64_t index) {
  if (width == 0) return 0;
  const std::uint64_t bit = index * width;
  std::array<std::byte, 16> word{};
  const std::size_t from = static_cast<std::size_t>(bit / 8), shift = static_cast<std::size_t>(bit % 8);
  std::memcpy(word.data(), packed.data() + from, std::min<std::size_t>(9, packed.size() - from));
  std::uint64_t low, high;
  std::memcpy(&low, word.data(), 8);
  std::memcpy(&high, word.data() + 8, 8);
  const std::uint64_t value = shift == 0 ? low : low >> shift | high << (64 - shift);
  return width == 64 ? value : value & ((std::uint64_t{1} << width) - 1);
}

}  // namespace

Result<std::uint64_t> DeltaReader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (bytes_.empty()) return corrupt("its differences end in the middle of a number");
    const auto next = std::to_integer<std::uint64_t>(bytes_[0]);
    bytes_ = bytes_.subspan(1);
    value |= (next & 0x7fU) << shift;
    if ((next & 0x80U) == 0) return value;
  }
  return corrupt("its differences have a number longer than ten bytes");
}

Status DeltaReader::begin() {
  HEADRACE_ASSIGN(const std::uint64_t block_values, varint());
  HEADRACE_ASSIGN(miniblocks_, varint());
  HEADRACE_ASSIGN(num_values_, varint());
  HEADRACE_ASSIGN(const std::uint64_t first, varint());
  if (block_values == 0 || block_values > kMostBlockValues || miniblocks_ == 0 || block_values % miniblocks_ != 0 ||
      block_values / miniblocks_ % 8 != 0)
    return corrupt(fmt::format("differences in blocks of {} values and {} miniblocks", block_values, miniblocks_));
  miniblock_values_ = block_values / miniblocks_;
  at_ = miniblock_values_;
  value_ = unzigzag(first);
  return {};
}

Status DeltaReader::begin_miniblock() {
  if (widths_.empty()) {
    HEADRACE_ASSIGN(const std::uint64_t min_delta, varint());
    min_delta_ = unzigzag(min_delta);
    if (bytes_.size() < miniblocks_) return corrupt("its differences end before the widths of a block");
    widths_ = bytes_.first(static_cast<std::size_t>(miniblocks_));
    bytes_ = bytes_.subspan(static_cast<std::size_t>(miniblocks_));
  }
  width_ = std::to_integer<std::uint32_t>(widths_[0]);
  widths_ = widths_.subspan(1);
  if (width_ > 64) return corrupt(fmt::format("differences of {} bits", width_));
  const std::uint64_t size = miniblock_values_ / 8 * width_;
  if (bytes_.size() < size) return corrupt("its differences end within a miniblock");
  packed_ = bytes_.first(static_cast<std::size_t>(size));
  bytes_ = bytes_.subspan(static_cast<std::size_t>(size));
  at_ = 0;
  return {};
}

Status DeltaReader::next(std::int64_t* out, std::size_t count) {
  if (count > num_values_ - given_)
    return corrupt(fmt::format("{} values stored as differences, where more are needed", num_values_));
  std::size_t i = 0;
  if (given_ == 0 && count > 0) out[i++] = static_cast<std::int64_t>(value_);
  while (i < count) {
    if (at_ == miniblock_values_) HEADRACE_TRY(begin_miniblock());
    const auto end = static_cast<std::size_t>(std::min<std::uint64_t>(count - i, miniblock_values_ - at_)) + i;
    for (; i < end; ++i, ++at_) {
      value_ += min_delta_ + wide_bits(packed_, width_, at_);
      out[i] = static_cast<std::int64_t>(value_);
    }
  }
  given_ += count;
  return {};
}

}  // namespace headrace::parquet
