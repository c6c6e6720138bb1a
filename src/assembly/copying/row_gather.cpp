#include "assembly/copying/row_gather.h"

#include <algorithm>
#include <array>

#include "assembly/copying/row_copy.h"

namespace headrace {
namespace {

constexpr std::size_t kTogether = 1024;  // samples whose places are worked out before their rows are moved

}  // namespace

RowGather::RowGather(const RowStore& store, const BlockTable& blocks, std::shared_ptr<const Program> program)
    : store_(store), sink_(store.layout().fields, std::move(program)) {
  const RowLayout& layout = store.layout();
  for (std::size_t f = 0; f < layout.fields.size(); ++f)
    fields_.push_back({store.field(f), layout.fields[f].row_bytes(), 0, layout.rows()});
  for (std::uint64_t b = 0; b < layout.num_blocks(); ++b)
    distances_.push_back(blocks.stored_rows(b).first - layout.block_starts[b]);
  if (std::all_of(distances_.begin(), distances_.end(), [](std::uint64_t d) { return d == 0; })) distances_.clear();
}

std::vector<RowFailure> RowGather::gather(std::span<const SampleRef> samples, const RowRun& to) const {
  const std::span<const std::uint64_t> starts = store_.layout().block_starts;
  std::vector<RowFailure> failures;
  std::array<std::uint64_t, kTogether> rows, distances;
  for (std::size_t begin = 0; begin < samples.size(); begin += kTogether) {
    const auto part = samples.subspan(begin, std::min(kTogether, samples.size() - begin));
    for (std::size_t i = 0; i < part.size(); ++i) rows[i] = starts[part[i].block] + part[i].row;
    if (!distances_.empty())
      for (std::size_t i = 0; i < part.size(); ++i) distances[i] = distances_[part[i].block];
    for (RowFailure& failure :
         sink_.gather(fields_, std::span(rows).first(part.size()),
                      std::span(distances).first(distances_.empty() ? 0 : part.size()), begin, to))
      failures.push_back(std::move(failure));
  }
  finish_streaming();
  return failures;
}

}  // namespace headrace
