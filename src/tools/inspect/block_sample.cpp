#include "tools/inspect/block_sample.h"

#include <algorithm>

namespace headrace {
namespace {

constexpr std::uint64_t kMostFiles = 8;  // each file's chunk index has to be read

/// Item i of n at equal distances among `total`, in the middle of its part.
std::uint64_t spread(std::uint64_t i, std::uint64_t n, std::uint64_t total) {
  return std::min(total - 1, (2 * i + 1) * total / (2 * n));
}

}  // namespace

Result<std::vector<SampledBlock>> sample_blocks(const Source& source, const BlockLayout& layout,
                                                std::uint64_t most_blocks, std::uint64_t most_bytes) {
  const BlockTable& table = *layout.table;
  std::vector<SampledBlock> out;
  std::uint64_t bytes = 0;
  std::vector<std::uint64_t> files;  // that have blocks
  for (std::uint64_t f = 0; f < table.num_files(); ++f)
    if (table.first_block_of(f + 1) > table.first_block_of(f)) files.push_back(f);
  const std::uint64_t chosen = std::min<std::uint64_t>(files.size(), kMostFiles);
  const std::uint64_t each = chosen == 0 ? 0 : (most_blocks + chosen - 1) / chosen;
  for (std::uint64_t k = 0; k < each; ++k)  // a block of every file in turn, so that a limit cuts all of them
    for (std::uint64_t i = 0; i < chosen; ++i) {
      const std::uint64_t file = files[spread(i, chosen, files.size())];
      const std::uint64_t first = table.first_block_of(file), blocks = table.first_block_of(file + 1) - first;
      if (k >= blocks) continue;
      SampledBlock sampled;
      sampled.block = static_cast<std::uint32_t>(first + spread(k, std::min(each, blocks), blocks));
      sampled.place = table.place(sampled.block);
      for (std::uint32_t a = 0; a < source.num_arrays(); ++a) {
        if (layout.files[file].roles[a] == ArrayRole::kResident) continue;
        auto& pieces = sampled.arrays.emplace_back(SampledBlock::ArrayPieces{a, {}}).pieces;
        HEADRACE_TRY(source.files[file].arrays[a]->locate(sampled.place.rows, pieces));
        for (const Piece& p : pieces) sampled.stored_bytes += p.stored.range.size;
      }
      bytes += sampled.stored_bytes;
      if (!out.empty() && (bytes > most_bytes || out.size() >= most_blocks)) return out;
      out.push_back(std::move(sampled));
    }
  return out;
}

}  // namespace headrace
