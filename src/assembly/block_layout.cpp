#include "assembly/block_layout.h"

#include <algorithm>
#include <numeric>

#include "assembly/pieces/resident_arrays.h"
#include "base/memory/page_buffer.h"

namespace headrace {
namespace {

constexpr std::uint64_t kSmallBlockBytes = 256 << 10;        // below, a block's fixed costs show
constexpr std::uint64_t kRunBytes = 256 << 10;               // blocks of data without chunks: docs/decisions/0039
constexpr std::uint64_t kMostRuns = std::uint64_t{1} << 31;  // of a file: blocks have numbers of 32 bits
constexpr std::uint64_t kPartsBytes = 1 << 20;               // blocks of chunks that are decoded in parts
constexpr std::uint64_t kLargeBlockBytes = 8 << 20;          // aligning never makes a block larger than this

std::uint64_t lcm_or_zero(std::uint64_t a, std::uint64_t b) {  // 0 on overflow
  std::uint64_t out = 0;
  return __builtin_mul_overflow(a / std::gcd(a, b), b, &out) ? 0 : out;
}

/// Return the array with the most bytes a row among those whose chunks differ in length; null: there is none.
const ArrayReader* with_unequal_chunks(const SourceFile& file) {
  const ArrayReader* leading = nullptr;
  for (const auto& array : file.arrays)
    if (!array->info().chunk_ends.empty() &&
        (leading == nullptr || array->info().distinct_row_bytes() > leading->info().distinct_row_bytes()))
      leading = array.get();
  return leading;
}

/// Divide chunks that are decoded in parts into blocks of some MiB, where parts end if these are small.
std::vector<std::uint64_t> ends_of_parts(const SourceFile& file, const ArrayInfo& leading) {
  std::uint64_t row_bytes = 0;
  for (const auto& array : file.arrays) row_bytes += array->info().distinct_row_bytes();
  const std::uint64_t wanted = std::max<std::uint64_t>(kPartsBytes / std::max<std::uint64_t>(row_bytes, 1), 1);
  const std::uint64_t page = leading.page_rows;
  const std::uint64_t step = wanted <= page ? std::min(page, wanted * 4) : (wanted + page - 1) / page * page;
  std::vector<std::uint64_t> ends;
  std::uint64_t begin = 0;
  for (const std::uint64_t end : leading.chunk_ends) {
    // What is left at the end of a chunk joins the block before it where it would be less than half of one.
    for (std::uint64_t at = begin + step; at < end && end - at >= step / 2; at += step) ends.push_back(at);
    if (end > begin) ends.push_back(end);
    begin = end;
  }
  return ends;
}

/// Blocks are the chunks of `leading`, or parts of them. Arrays that are cut elsewhere cross them.
BlockTable::FileBlocks blocks_of(const SourceFile& file, const ArrayReader& leading, FileLayout& layout) {
  const bool parts = leading.info().page_rows > 0;
  std::vector<std::uint64_t> ends = parts ? ends_of_parts(file, leading.info()) : leading.info().chunk_ends;
  std::erase(ends, std::uint64_t{0});  // chunks without rows are no blocks
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  layout.block_rows = leading.info().chunk_rows();
  if (parts) {
    layout.block_rows = 1;
    for (std::size_t i = 0; i < ends.size(); ++i)
      layout.block_rows = std::max(layout.block_rows, ends[i] - (i == 0 ? 0 : ends[i - 1]));
  }
  for (const auto& array : file.arrays) {
    const ArrayInfo& info = array->info();
    const bool aligned = info.chunk_rows() == 1 || info.page_rows > 0 || info.chunk_ends == ends;
    layout.roles.push_back(aligned ? ArrayRole::kAligned : ArrayRole::kStraddling);
  }
  return {file.rows, layout.block_rows, std::move(ends)};
}

}  // namespace

BlockChoice choose_block(const std::vector<ArrayShape>& arrays, std::uint64_t file_rows) {
  BlockChoice choice{1, std::vector<bool>(arrays.size(), false)};
  const std::uint64_t rows = std::max<std::uint64_t>(file_rows, 1);
  std::vector<std::size_t> by_bytes(arrays.size());
  std::iota(by_bytes.begin(), by_bytes.end(), 0);
  std::stable_sort(by_bytes.begin(), by_bytes.end(),
                   [&](std::size_t a, std::size_t b) { return arrays[a].row_bytes > arrays[b].row_bytes; });
  std::uint64_t row_bytes = 0;
  for (const ArrayShape& a : arrays) row_bytes += a.row_bytes;
  row_bytes = std::max<std::uint64_t>(row_bytes, 1);

  std::uint64_t block = by_bytes.empty() ? 1 : std::max<std::uint64_t>(arrays[by_bytes[0]].chunk_rows, 1);
  for (std::size_t i : by_bytes) {
    const std::uint64_t chunk = std::max<std::uint64_t>(arrays[i].chunk_rows, 1);
    if (block % chunk == 0) continue;
    const std::uint64_t both = lcm_or_zero(block, chunk);
    if (both != 0 && both <= kLargeBlockBytes / row_bytes) block = both;
  }
  const bool addressable = block == 1;
  const std::uint64_t wanted = addressable ? kRunBytes : kSmallBlockBytes;
  if (block * row_bytes < wanted) block *= (wanted + block * row_bytes - 1) / (block * row_bytes);
  if (addressable) block = std::max(block, rows / kMostRuns + 1);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const std::uint64_t chunk = std::max<std::uint64_t>(arrays[i].chunk_rows, 1);
    choice.aligned[i] = block % chunk == 0 || (block >= rows && chunk >= rows);
  }
  choice.block_rows = std::min(block, rows);
  return choice;
}

BlockLayout plan_layout(const Source& source, std::uint64_t resident_limit_bytes) {
  BlockLayout layout;
  std::vector<BlockTable::FileBlocks> blocks;
  std::vector<std::uint64_t> side_bytes(source.num_arrays(), 0);
  for (const SourceFile& file : source.files) {
    if (const ArrayReader* const leading = with_unequal_chunks(file)) {
      FileLayout f;
      blocks.push_back(blocks_of(file, *leading, f));
      for (std::size_t i = 0; i < f.roles.size(); ++i)
        if (f.roles[i] == ArrayRole::kStraddling && resident_limit_bytes > 0)
          side_bytes[i] += ResidentArrays::bytes_of(source, layout.files.size(), i);
      layout.files.push_back(std::move(f));
      continue;
    }
    std::vector<ArrayShape> shapes;
    for (const auto& array : file.arrays)
      shapes.push_back({array->info().chunk_rows(), array->info().distinct_row_bytes()});
    const BlockChoice choice = choose_block(shapes, file.rows);
    FileLayout f{choice.block_rows, {}};
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      f.roles.push_back(choice.aligned[i] ? ArrayRole::kAligned : ArrayRole::kStraddling);
      if (!choice.aligned[i] && resident_limit_bytes > 0)
        side_bytes[i] += ResidentArrays::bytes_of(source, layout.files.size(), i);
    }
    layout.files.push_back(std::move(f));
    blocks.push_back({file.rows, choice.block_rows});
  }
  for (std::uint64_t& bytes : side_bytes) bytes = PageBuffer::charge_for(bytes);
  std::vector<std::size_t> smallest(side_bytes.size());
  std::iota(smallest.begin(), smallest.end(), 0);
  std::stable_sort(smallest.begin(), smallest.end(),
                   [&](std::size_t a, std::size_t b) { return side_bytes[a] < side_bytes[b]; });
  for (std::size_t i : smallest) {
    if (side_bytes[i] == 0 || layout.resident_bytes + side_bytes[i] > resident_limit_bytes) continue;
    layout.resident_bytes += side_bytes[i];
    for (FileLayout& f : layout.files)
      if (f.roles[i] == ArrayRole::kStraddling) f.roles[i] = ArrayRole::kResident;
  }
  layout.table = std::make_shared<BlockTable>(blocks, source.chosen);
  return layout;
}

StraddlingNeed straddling_need(const Source& source, const BlockLayout& layout) {
  StraddlingNeed need;
  for (std::size_t f = 0; f < source.files.size(); ++f)
    for (std::size_t a = 0; a < source.files[f].arrays.size(); ++a) {
      if (layout.files[f].roles[a] != ArrayRole::kStraddling) continue;
      const ArrayReader& array = *source.files[f].arrays[a];
      const std::uint64_t rows = std::max<std::uint64_t>(array.info().chunk_rows(), 1);
      const std::uint64_t chunk = PageBuffer::charge_for(rows * array.info().distinct_row_bytes());
      need.bytes += chunk * (source.files[f].rows / rows + (source.files[f].rows % rows != 0));
      need.largest_chunk_bytes = std::max(need.largest_chunk_bytes, chunk);
    }
  return need;
}

}  // namespace headrace
