#include "format/hdf5/chunks/chunk_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <span>
#include <string>

#include "format/hdf5/chunks/extensible_array.h"
#include "format/hdf5/chunks/fixed_array.h"
#include "format/hdf5/structure/object_header.h"
#include "format/hdf5/structure/tree2.h"

namespace headrace::hdf5 {
namespace {

/// Turns what the index holds into cells of the grid.
class Reading {
 public:
  Reading(const RandomAccessFile& file, const Superblock& superblock, const ChunkLayout& layout, const ChunkGrid& grid,
          const TakeChunk& take)
      : file_(file), superblock_(superblock), layout_(layout), grid_(grid), take_(take) {
    for (const std::uint64_t n : grid.cells) cells_ *= n;  // bounded by kGridLimit when described
    // The width of a filtered chunk's stored size: one byte more than the chunk's own size needs.
    const auto log2 = static_cast<std::uint64_t>(std::bit_width(std::max<std::uint64_t>(grid.chunk_bytes, 1)) - 1);
    size_bytes_ = std::min<std::uint64_t>(8, 1 + (log2 + 8) / 8);
    entry_bytes_ = superblock.address_bytes + (grid.filtered ? size_bytes_ + 4 : 0);
  }

  Status run() { return layout_.address && cells_ != 0 ? read(*layout_.address) : Status(); }

 private:
  Status read(std::uint64_t address) {
    switch (layout_.index) {
      case ChunkIndexKind::kSingle:
        if (cells_ != 1) return index_damaged(fmt::format("one chunk for an array of {}", cells_));
        if (grid_.filtered != layout_.single_bytes.has_value()) return index_damaged("one chunk without its size");
        return add(0, address, layout_.single_bytes.value_or(grid_.chunk_bytes), layout_.single_mask);
      case ChunkIndexKind::kImplicit:
        return read_implicit(address);
      case ChunkIndexKind::kBTree2:
        return read_tree(address);
      default:
        return read_array(address);
    }
  }

  /// All chunks side by side, in the order of the largest shape.
  Status read_implicit(std::uint64_t address) {
    if (grid_.filtered) return index_damaged("filtered chunks without sizes");
    if (std::ranges::find(grid_.most_cells, ChunkGrid::kUnlimited) != grid_.most_cells.end())
      return index_damaged("chunks side by side along an axis without an end");
    HEADRACE_TRY(make_strides(0));
    std::vector<std::uint64_t> at(grid_.cells.size());
    if (grid_.chunk_bytes == 0 || last_number() >= file_.size() / grid_.chunk_bytes)
      return index_damaged(
          fmt::format("{} chunks of {} bytes in a file of {}", cells_, grid_.chunk_bytes, file_.size()));
    for (std::uint64_t cell = 0; cell < cells_; ++cell) {
      std::uint64_t place = 0;
      for (std::size_t d = 0; d < at.size(); ++d) place += at[d] * strides_[d];
      if (__builtin_add_overflow(place * grid_.chunk_bytes, address, &place))
        return index_damaged("a chunk beyond the end of all files");
      HEADRACE_TRY(add(cell, place, grid_.chunk_bytes, 0));
      for (std::size_t d = at.size(); d-- > 0;) {
        if (++at[d] < grid_.cells[d]) break;
        at[d] = 0;
      }
    }
    return {};
  }

  Status read_tree(std::uint64_t address) {
    const std::size_t rank = grid_.cells.size();
    const Tree2Kind kind{grid_.filtered ? 11U : 10U, entry_bytes_ + 8 * rank};
    return read_tree2(file_, superblock_, address, kind, file_.size(), [&](std::span<const std::byte> record) {
      ByteCursor fields(record), at(record.subspan(static_cast<std::size_t>(entry_bytes_)));
      std::uint64_t cell = 0;
      bool inside = true;  // what a smaller shape has cut off may still be there
      for (std::size_t d = 0; d < rank; ++d) {
        const std::uint64_t i = at.number(8);
        inside = inside && i < grid_.cells[d];
        cell = inside ? cell * grid_.cells[d] + i : 0;
      }
      return inside ? add_entry(cell, fields) : Status();
    });
  }

  Status read_array(std::uint64_t address) {
    const ArrayEntries entries{grid_.filtered ? 1U : 0U, entry_bytes_};
    std::optional<std::size_t> open_axis;
    for (std::size_t d = 0; d < grid_.cells.size(); ++d)
      if (grid_.most_cells[d] == ChunkGrid::kUnlimited) {
        if (open_axis) return index_damaged("an array of chunks for two unlimited axes");
        open_axis = d;
      }
    const bool fixed = layout_.index == ChunkIndexKind::kFixedArray;
    if (fixed == open_axis.has_value()) return index_damaged("it is not of the kind that its shape asks for");
    HEADRACE_TRY(make_strides(open_axis.value_or(0)));
    const auto take = [&](std::uint64_t number, std::span<const std::byte> entry) {
      ByteCursor fields(entry);
      const std::optional<std::uint64_t> cell = cell_of(number);
      return cell ? add_entry(*cell, fields) : Status();
    };
    if (!fixed) return read_extensible_array(file_, superblock_, address, entries, last_number() + 1, take);
    return read_fixed_array(file_, superblock_, address, entries, most_numbers_, last_number() + 1, take);
  }

  /// How far numbers are apart along each axis. The axis without bounds is the slowest one.
  Status make_strides(std::size_t slowest) {
    order_.push_back(slowest);
    for (std::size_t d = 0; d < grid_.cells.size(); ++d)
      if (d != slowest) order_.push_back(d);
    strides_.assign(grid_.cells.size(), 1);
    std::uint64_t stride = 1;
    for (std::size_t i = order_.size(); i-- > 0;) {
      const std::size_t d = order_[i];
      strides_[d] = stride;
      const std::uint64_t most = grid_.most_cells[d] == ChunkGrid::kUnlimited ? grid_.cells[d] : grid_.most_cells[d];
      if (most < grid_.cells[d]) return index_damaged("a shape larger than its largest");
      if (__builtin_mul_overflow(stride, most, &stride)) return index_damaged("an absurd number of chunks");
    }
    most_numbers_ = stride;
    return {};
  }

  /// The largest number that a cell of the grid has.
  [[nodiscard]] std::uint64_t last_number() const {
    std::uint64_t last = 0;
    for (std::size_t d = 0; d < strides_.size(); ++d) last += (grid_.cells[d] - 1) * strides_[d];
    return last;
  }

  [[nodiscard]] std::optional<std::uint64_t> cell_of(std::uint64_t number) const {
    std::array<std::uint64_t, 33> at{};
    for (const std::size_t d : order_) {
      at[d] = number / strides_[d];
      number %= strides_[d];
      if (at[d] >= grid_.cells[d]) return {};
    }
    std::uint64_t cell = 0;
    for (std::size_t d = 0; d < order_.size(); ++d) cell = cell * grid_.cells[d] + at[d];
    return cell;
  }

  Status add_entry(std::uint64_t cell, ByteCursor& fields) {
    const std::uint64_t address = fields.number(superblock_.address_bytes);
    if (address == superblock_.undefined_address()) return {};
    if (!grid_.filtered) return add(cell, address, grid_.chunk_bytes, 0);
    const std::uint64_t size = fields.number(static_cast<std::size_t>(size_bytes_));
    return add(cell, address, size, static_cast<std::uint32_t>(fields.number(4)));
  }

  Status add(std::uint64_t cell, std::uint64_t address, std::uint64_t size, std::uint32_t mask) {
    ChunkPlace place{0, size, mask};
    if (__builtin_add_overflow(address, superblock_.at, &place.address) || place.absent())
      return index_damaged(fmt::format("chunk number {} has no bytes", cell));
    return take_(cell, place);
  }

  const RandomAccessFile& file_;
  const Superblock& superblock_;
  const ChunkLayout& layout_;
  const ChunkGrid& grid_;
  const TakeChunk& take_;
  std::uint64_t cells_ = 1, size_bytes_ = 0, entry_bytes_ = 0, most_numbers_ = 0;
  std::vector<std::size_t> order_;  // of the axes, the slowest one first
  std::vector<std::uint64_t> strides_;
};

}  // namespace

Status read_chunk_array(const RandomAccessFile& file, const Superblock& superblock, const ChunkLayout& layout,
                        const ChunkGrid& grid, const TakeChunk& take) {
  return Reading(file, superblock, layout, grid, take).run();
}

}  // namespace headrace::hdf5
