#include "order/steps/length_index.h"

#include <algorithm>

#include "base/random/philox.h"

namespace headrace {

StoredLengths::StoredLengths(const BlockTable& blocks, std::span<const std::uint32_t> lengths) {
  first_row_.reserve(blocks.num_blocks());
  for (std::uint64_t b = 0; b < blocks.num_blocks(); ++b) first_row_.push_back(blocks.first_row(b));
  short_.reserve(lengths.size());
  std::uint64_t hash = lengths.size();
  for (std::uint64_t row = 0; row < lengths.size(); ++row) {
    hash = (hash ^ lengths[row]) * 0x9E3779B97F4A7C15u + (hash >> 29);
    short_.push_back(static_cast<std::uint16_t>(std::min<std::uint32_t>(lengths[row], kLong)));
    if (short_.back() == kLong) long_.emplace_back(row, lengths[row]);
  }
  long_.shrink_to_fit();
  digest_ = RandomKey::of({hash}).low;
}

void StoredLengths::lengths(std::span<const SampleRef> samples, std::span<std::uint32_t> lengths) const {
  constexpr std::size_t kAhead = 24;  // rows are scattered: a miss each
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (i + kAhead < samples.size()) {
      const SampleRef next = samples[i + kAhead];
      __builtin_prefetch(&short_[first_row_[next.block] + next.row]);
    }
    const std::uint64_t row = first_row_[samples[i].block] + samples[i].row;
    lengths[i] = short_[row];
    if (short_[row] == kLong)
      lengths[i] = std::ranges::lower_bound(long_, row, {}, [](const auto& l) { return l.first; })->second;
  }
}

std::uint64_t StoredLengths::memory_bytes() const {
  return first_row_.capacity() * sizeof(first_row_[0]) + short_.capacity() * sizeof(short_[0]) +
         long_.capacity() * sizeof(long_[0]);
}

}  // namespace headrace
