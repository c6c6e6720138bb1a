#include "assembly/pieces/resident_arrays.h"

#include <algorithm>
#include <utility>

#include "assembly/block_layout.h"
#include "base/memory/align.h"

namespace headrace {
namespace {

constexpr std::uint64_t kPartPieces = 4096;                   // of a part, so that lists of them stay short
constexpr std::uint64_t kPartBytes = std::uint64_t{4} << 20;  // or at least one row of pieces

bool is_resident(const BlockLayout& layout, std::size_t file, std::size_t array) {
  return layout.files[file].roles[array] == ArrayRole::kResident;
}

}  // namespace

std::uint64_t ResidentArrays::bytes_of(const Source& source, std::size_t file, std::size_t array) {
  std::uint64_t bytes = 0;
  const std::uint64_t rows = source.files[file].rows / source.files[file].arrays[array]->info().repeats;
  for (std::size_t f = 0; f < source.places.size(); ++f)
    if (source.places[f].array == array) bytes += align_up(rows * (*source.columns)[f].row_bytes());
  return bytes;
}

Status ResidentArrays::allocate(const Source& source, const BlockLayout& layout) {
  clear();
  for (std::uint32_t a = 0; a < source.num_arrays(); ++a) {
    std::uint64_t bytes = 0;
    for (std::size_t f = 0; f < source.files.size(); ++f)
      if (is_resident(layout, f, a)) bytes += bytes_of(source, f, a);
    HEADRACE_ASSIGN(PageBuffer memory, PageBuffer::allocate(bytes));
    std::byte* at = memory.data();
    for (std::uint32_t f = 0; f < source.files.size(); ++f) {
      if (!is_resident(layout, f, a)) continue;
      Array& array = arrays_[{f, a}];
      const std::uint64_t rows = source.files[f].rows / source.files[f].arrays[a]->info().repeats;
      for (std::size_t c = 0; c < source.places.size(); ++c) {
        if (source.places[c].array != a) continue;
        array.columns.push_back(at);
        at += align_up(rows * (*source.columns)[c].row_bytes());
      }
    }
    memory_.push_back(std::move(memory));
  }
  return {};
}

void ResidentArrays::clear() {
  arrays_.clear();
  memory_.clear();
}

std::uint64_t ResidentArrays::charged_bytes() const {
  std::uint64_t bytes = 0;
  for (const PageBuffer& memory : memory_) bytes += memory.charged_bytes();
  return bytes;
}

std::vector<ResidentArrays::ArrayPart> ResidentArrays::parts_of(const Source& source, const BlockLayout& layout,
                                                                std::uint32_t file, std::uint32_t array) {
  std::vector<ArrayPart> parts;
  if (!is_resident(layout, file, array)) return parts;
  const ArrayReader& reader = *source.files[file].arrays[array];
  const std::uint64_t rows = source.files[file].rows;
  const std::uint64_t chunk_rows = std::max<std::uint64_t>(reader.info().chunk_rows(), 1);
  const std::uint64_t chunks_bytes = std::max<std::uint64_t>(chunk_rows * reader.info().row_record_bytes(), 1);
  const std::uint64_t chunks = std::max<std::uint64_t>(
      std::min(kPartPieces / std::max<std::uint32_t>(reader.pieces_across(), 1), kPartBytes / chunks_bytes), 1);
  // What is addressable row by row is one piece, which must fit a block's scratch.
  const std::uint64_t part_rows =
      reader.info().chunk_shape.empty() ? layout.files[file].block_rows : chunks * chunk_rows;
  for (std::uint64_t first = 0; first < rows; first += part_rows)
    parts.push_back({file, array, {first, std::min(part_rows, rows - first)}});
  return parts;
}

void ResidentArrays::fail(const ArrayPart& part, RowRange rows, const Error& error) {
  const std::uint64_t first = std::max(rows.first, part.rows.first), end = std::min(rows.end(), part.rows.end());
  if (first >= end) return;
  const std::lock_guard lock(mutex_);
  arrays_.at({part.file, part.array}).failures.push_back({{first, end - first}, error});
}

void ResidentArrays::seal() {
  for (auto& [key, array] : arrays_) {
    std::ranges::stable_sort(array.failures, {}, [](const RowFailure& f) { return f.rows.first; });
    // A part may fail as a whole after one of its pieces did. What lies within another failure says nothing more, and
    // without it the ends ascend as the beginnings do.
    std::uint64_t end = 0;
    std::erase_if(array.failures,
                  [&](const RowFailure& f) { return f.rows.end() <= std::exchange(end, std::max(end, f.rows.end())); });
  }
}

std::span<const RowFailure> ResidentArrays::failures(std::uint32_t file, std::uint32_t array, RowRange rows) const {
  const std::vector<RowFailure>& all = arrays_.at({file, array}).failures;
  const auto first = std::ranges::partition_point(all, [&](const RowFailure& f) { return f.rows.end() <= rows.first; });
  const auto last =
      std::partition_point(first, all.end(), [&](const RowFailure& f) { return f.rows.first < rows.end(); });
  return {first, last};
}

}  // namespace headrace
