#include "assembly/row_gather.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "assembly/request_window.h"
#include "assembly/row_copy.h"

namespace headrace {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kTogether = 256;  // samples whose places are worked out before their rows are moved
constexpr std::size_t kAhead = 12;      // rows that are on their way from memory while one is copied
constexpr std::size_t kLinesAhead = 4;  // of a row: the processor itself goes on from there

template <std::size_t kBytes>
struct Fixed {
  void operator()(std::byte* to, const std::byte* from) const { std::memcpy(to, from, kBytes); }
};
struct Any {
  std::size_t bytes;
  void operator()(std::byte* to, const std::byte* from) const { copy_run(to, from, bytes); }
};

/// rows[i] of `base` to position i of `to`. Rows come from anywhere: their first lines are asked for well ahead.
template <class Copy>
void move_rows(std::span<const std::uint64_t> rows, const std::byte* base, std::size_t row_bytes, std::byte* to,
               Copy copy) {
  const std::size_t lines = std::min((row_bytes + kLine - 1) / kLine, kLinesAhead);
  const auto ask = [&](std::size_t i) {
    const std::byte* const from = base + rows[i] * row_bytes;
    for (std::size_t line = 0; line < lines; ++line) __builtin_prefetch(from + line * kLine);
  };
  for (std::size_t i = 0; i < std::min(kAhead, rows.size()); ++i) ask(i);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + kAhead < rows.size()) ask(i + kAhead);
    copy(to + i * row_bytes, base + rows[i] * row_bytes);
  }
}

void move_rows(std::span<const std::uint64_t> rows, const std::byte* base, std::size_t row_bytes, std::byte* to) {
  switch (row_bytes) {
    case 1:
      return move_rows(rows, base, row_bytes, to, Fixed<1>{});
    case 2:
      return move_rows(rows, base, row_bytes, to, Fixed<2>{});
    case 4:
      return move_rows(rows, base, row_bytes, to, Fixed<4>{});
    case 8:
      return move_rows(rows, base, row_bytes, to, Fixed<8>{});
    case 16:
      return move_rows(rows, base, row_bytes, to, Fixed<16>{});
    case 32:
      return move_rows(rows, base, row_bytes, to, Fixed<32>{});
    case 64:
      return move_rows(rows, base, row_bytes, to, Fixed<64>{});
    case 128:
      return move_rows(rows, base, row_bytes, to, Fixed<128>{});
    default:
      return move_rows(rows, base, row_bytes, to, Any{row_bytes});
  }
}

}  // namespace

RowGather::RowGather(const RowStore& store, const BlockTable& blocks) : store_(store) {
  const RowLayout& layout = store.layout();
  std::vector<std::uint64_t> first_of_file(blocks.num_files() + 1, 0);
  places_.reserve(layout.num_blocks());
  for (std::size_t f = 0; f < blocks.num_files(); ++f) first_of_file[f + 1] = first_of_file[f] + blocks.file_rows(f);
  for (std::uint64_t b = 0; b < layout.num_blocks(); ++b) {
    const BlockTable::Place place = blocks.place(b);
    places_.push_back({layout.block_starts[b], first_of_file[place.file] + place.rows.first});
  }
}

void RowGather::gather(std::span<const SampleRef> samples, std::byte* const* fields, RowSums& sums) const {
  const std::vector<Field>& kinds = store_.layout().fields;
  std::array<std::uint64_t, kTogether> rows;
  for (std::size_t begin = 0; begin < samples.size(); begin += kTogether) {
    const std::size_t count = std::min(kTogether, samples.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      const SampleRef s = samples[begin + i];
      const BlockPlace place = places_[s.block];
      rows[i] = place.first_in_store + s.row;
      sums.add(place.first_in_files + s.row);
    }
    for (std::size_t f = 0; f < kinds.size(); ++f) {
      const std::size_t row_bytes = kinds[f].row_bytes();
      move_rows(std::span(rows).first(count), store_.field(f), row_bytes, fields[f] + begin * row_bytes);
    }
  }
  finish_streaming();
}

void scatter_dense(std::span<const Request> requests, const std::byte* block_rows, std::size_t row_bytes,
                   std::byte* to) {
  for (const Request& r : requests)
    copy_run(to + std::uint64_t{r.position} * row_bytes, block_rows + std::uint64_t{r.row} * row_bytes, row_bytes);
}

}  // namespace headrace
