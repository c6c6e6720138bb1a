#include "assembly/row_gather.h"

#include <algorithm>
#include <array>

#include "assembly/row_copy.h"

namespace headrace {
namespace {

constexpr std::size_t kTogether = 256;  // samples whose places are worked out before their rows are moved

}  // namespace

RowGather::RowGather(const RowStore& store, const BlockTable& blocks) : store_(store), sink_(store.layout().fields) {
  const RowLayout& layout = store.layout();
  places_.reserve(layout.num_blocks());
  for (std::uint64_t b = 0; b < layout.num_blocks(); ++b)
    places_.push_back({layout.block_starts[b], blocks.stored_rows(b).first});
}

/// The store numbers its rows as its blocks come; the files' numbers are a distance away, which a block's rows share.
void RowGather::gather(std::span<const SampleRef> samples, const RowRun& to) const {
  const RowLayout& layout = store_.layout();
  std::array<std::uint64_t, kTogether> rows, distances;
  for (std::size_t begin = 0; begin < samples.size(); begin += kTogether) {
    const std::size_t count = std::min(kTogether, samples.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      const SampleRef s = samples[begin + i];
      const BlockPlace place = places_[s.block];
      rows[i] = place.first_in_store + s.row;
      distances[i] = place.first_in_files - place.first_in_store;
    }
    for (std::size_t f = 0; f < layout.fields.size(); ++f) {
      const RowsAt all{store_.field(f), layout.fields[f].row_bytes(), 0, layout.rows()};
      sink_.gather(f, {all, nullptr, field_weight(f), f == 0}, std::span(rows).first(count),
                   std::span(distances).first(count), begin, to);
    }
  }
  finish_streaming();
}

}  // namespace headrace
