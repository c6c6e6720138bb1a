#include "tools/advise/unit_sample.h"

#include <algorithm>
#include <iterator>

namespace headrace {
namespace {

constexpr std::uint64_t kMostSampledVolumes = 8;    // each file's chunk index has to be read
constexpr std::uint64_t kStretchBytes = 256 << 10;  // of an array that has no cells

std::uint64_t equal_place(std::uint64_t i, std::uint64_t n, std::uint64_t total) {
  return std::min(total - 1, (2 * i + 1) * total / (2 * n));
}

/// Number `k` of `each` cells of an array.
Result<SampledBlock> sample_cell(const ArrayReader& array, const CellGrid& grid, std::uint64_t k, std::uint64_t each) {
  SampledBlock sampled;
  std::vector<Piece>& pieces = sampled.arrays.emplace_back(SampledBlock::ArrayPieces{0, {}}).pieces;
  const std::uint64_t cells = grid.num_cells(), cell = equal_place(k, std::min(each, cells), cells);
  if (grid.cells == CellGrid::Cells::kChunks) {
    HEADRACE_TRY(array.locate_cells({&cell, 1}, pieces));
  } else if (grid.cells == CellGrid::Cells::kRows) {
    const std::uint64_t first = grid.cell_start(cell)[0];
    HEADRACE_TRY(array.locate({first, std::min(grid.cell[0], grid.shape[0] - first)}, pieces));
  } else {
    HEADRACE_TRY(array.locate({0, grid.shape[0]}, pieces));
    for (Piece& piece : pieces) {
      ByteRange& range = piece.stored.range;
      const std::uint64_t bytes = std::min(range.size, kStretchBytes);
      range.offset += (range.size - bytes) / std::max<std::uint64_t>(each, 1) * k;
      range.size = bytes;
    }
  }
  for (const Piece& piece : pieces) sampled.stored_bytes += piece.stored.range.size;
  return sampled;
}

Result<std::vector<SampledBlock>> sample_cells(const MappedSource& mapped, std::uint64_t most_units,
                                               std::uint64_t most_bytes) {
  const std::vector<BoxMap::Volume>& volumes = mapped.boxes->volumes();
  const std::uint64_t chosen = std::min<std::uint64_t>(volumes.size(), kMostSampledVolumes),
                      groups = mapped.groups.size();
  const std::uint64_t each = (most_units + chosen * groups - 1) / (chosen * groups);
  std::vector<SampledBlock> out;
  std::uint64_t bytes = 0;
  for (std::uint64_t k = 0; k < each; ++k)
    for (std::uint64_t i = 0; i < chosen; ++i)
      for (std::size_t g = 0; g < groups; ++g) {
        const BoxMap::Volume& volume = volumes[equal_place(i, chosen, volumes.size())];
        const CellGrid& grid = volume.grids[g];
        if (grid.cells != CellGrid::Cells::kPlain && k >= grid.num_cells()) continue;
        HEADRACE_ASSIGN(SampledBlock sampled,
                        sample_cell(*mapped.groups[g].source->files[volume.file].arrays[0], grid, k, each));
        bytes += sampled.stored_bytes;
        if (!out.empty() && (bytes > most_bytes || out.size() >= most_units)) return out;
        out.push_back(std::move(sampled));
      }
  return out;
}

}  // namespace

Result<std::vector<SampledBlock>> sample_units(const SampleSource& source, const BlockLayout& layout,
                                               std::uint64_t most_units, std::uint64_t most_bytes) {
  if (const Source* const rows = source.rows()) return sample_blocks(*rows, layout, most_units, most_bytes);
  const MappedSource& mapped = *source.mapped();
  if (mapped.boxes) return sample_cells(mapped, most_units, most_bytes);
  std::vector<SampledBlock> out;
  const std::uint64_t groups = mapped.groups.size();
  for (const SourceGroup& group : mapped.groups) {
    HEADRACE_ASSIGN(std::vector<SampledBlock> of_group,
                    sample_blocks(*group.source, group.layout, std::max<std::uint64_t>(most_units / groups, 1),
                                  std::max<std::uint64_t>(most_bytes / groups, 1)));
    std::move(of_group.begin(), of_group.end(), std::back_inserter(out));
  }
  return out;
}

}  // namespace headrace
