#include "dataset/volumes/class_counts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/machine/cpu_count.h"
#include "base/memory/page_buffer.h"
#include "base/memory/unplanned_memory.h"
#include "base/packed.h"
#include "base/threads/parallel.h"
#include "dataset/facts/kept_facts.h"
#include "dataset/samples/map_fields.h"
#include "dataset/volumes/volume_grid.h"
#include "transform/numbers.h"

namespace headrace {
namespace {

constexpr std::string_view kFormat = "classes 1";  // of what is kept
constexpr std::uint64_t kUsualBlock = 16;          // voxels a side
constexpr std::uint64_t kManyBlocks = 1 << 21;     // from here on blocks are larger: each takes up to 44 bytes a class
constexpr std::uint64_t kMostBlocksOfVolume = std::uint64_t{1} << 32;  // their numbers have 32 bits

std::uint64_t num_blocks(const Source& volumes, const Axes& block, std::size_t rank) {
  std::uint64_t sum = 0;
  for (const SourceFile& volume : volumes.files) {
    std::uint64_t blocks = 1;
    for (std::size_t a = 0; a < rank; ++a) blocks *= BalancedVisits::blocks_along(volume.extents[a], block[a]);
    sum += blocks;
  }
  return sum;
}

Result<MemoryReservation> reserve_blocks(std::size_t blocks) {
  return reserve_unplanned(MemoryTag::kIndex, blocks * sizeof(ClassBlocks::Block));
}

/// Blocks of one class in one volume.
struct VolumeCounts {
  Axes along{};                       // blocks along each axis
  Axes begin{}, extents{};            // of the volume, in the array
  std::vector<std::uint32_t> voxels;  // of each block
};

/// A part of an array that is decoded at once.
struct CountTask {
  std::uint32_t file;
  std::uint64_t cell;
};

/// Count one run along the last axis that lies in one block: numbers of the wanted value, or neither 0 nor NaN.
template <class T>
std::uint32_t count_run(const std::byte* from, std::uint64_t elements, const std::optional<WholeNumber>& wanted) {
  const std::optional<T> same = wanted ? wanted->as<T>() : std::nullopt;
  if (wanted && !same) return 0;  // the type does not have it
  std::uint32_t count = 0;
  for (std::uint64_t i = 0; i < elements; ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof value);
    if (same)
      count += value == *same;
    else if constexpr (std::is_floating_point_v<T>)
      count += value != T{0} && !std::isnan(value);
    else
      count += value != T{0};
  }
  return count;
}

/// The same, of float16 and bfloat16.
template <DType::Kind kind>
std::uint32_t count_half_run(const std::byte* from, std::uint64_t elements, const std::optional<WholeNumber>& wanted) {
  std::array<float, 256> tile;
  std::uint32_t count = 0;
  for (std::uint64_t done = 0; done < elements; done += tile.size()) {
    const std::size_t n = std::min<std::uint64_t>(tile.size(), elements - done);
    load_numbers({kind, 2}, from + 2 * done, n, tile.data());
    count += count_run<float>(std::as_bytes(std::span(tile)).data(), n, wanted);
  }
  return count;
}

using CountRun = std::uint32_t (*)(const std::byte*, std::uint64_t, const std::optional<WholeNumber>&);
CountRun count_run_of(DType dtype) {
  const bool is_signed = dtype.kind == DType::Kind::kInt;
  if (dtype.kind == DType::Kind::kBFloat) return count_half_run<DType::Kind::kBFloat>;
  if (dtype.kind == DType::Kind::kFloat && dtype.itemsize == 2) return count_half_run<DType::Kind::kFloat>;
  if (dtype.kind == DType::Kind::kFloat)
    return dtype.itemsize == 4 ? count_run<float> : dtype.itemsize == 8 ? count_run<double> : nullptr;
  if (!is_signed && dtype.kind != DType::Kind::kUInt && dtype.kind != DType::Kind::kBool) return nullptr;
  switch (dtype.itemsize) {
    case 1:
      return is_signed ? count_run<std::int8_t> : count_run<std::uint8_t>;
    case 2:
      return is_signed ? count_run<std::int16_t> : count_run<std::uint16_t>;
    case 4:
      return is_signed ? count_run<std::int32_t> : count_run<std::uint32_t>;
    case 8:
      return is_signed ? count_run<std::int64_t> : count_run<std::uint64_t>;
    default:
      return nullptr;
  }
}

/// Counts the classes of one column in all volumes.
class ColumnCount {
 public:
  ColumnCount(const Source& volumes, std::size_t column, std::vector<const VoxelClass*> classes, const Axes& block)
      : volumes_(volumes), column_(column), classes_(std::move(classes)), block_(block) {}

  Status prepare() {
    const StoredColumn& column = (*volumes_.columns)[column_];
    count_ = count_run_of(column.dtype);
    if (count_ == nullptr)
      return Error(ErrorCode::kUnsupported,
                   fmt::format("classes are counted in numbers, not in {}", column.dtype.name()))
          .with_field(column.name);
    for (std::uint32_t f = 0; f < volumes_.files.size(); ++f) {
      HEADRACE_ASSIGN(CellGrid grid, volume_grid(reader(f), block_));
      if (grid.cells == CellGrid::Cells::kPlain) {  // rows that are read together
        grid.cells = CellGrid::Cells::kRows;
        grid.cell = grid.shape;
        const std::uint64_t row_bytes = std::max<std::uint64_t>(
            grid.element_bytes * grid.cell_elements() / std::max<std::uint64_t>(grid.shape[0], 1), 1);
        grid.cell[0] = std::max<std::uint64_t>((1 << 20) / row_bytes, 1);
      }
      for (std::uint64_t cell = 0; cell < grid.num_cells(); ++cell) tasks_.push_back({f, cell});
      VolumeCounts counts;
      std::uint64_t blocks = 1;
      for (std::size_t a = 0; a < grid.rank; ++a) {
        counts.extents[a] = volumes_.files[f].extents[a];
        counts.begin[a] = offset_of(f, a);
        blocks *= counts.along[a] = BalancedVisits::blocks_along(counts.extents[a], block_[a]);
      }
      if (blocks > kMostBlocksOfVolume)
        return Error(ErrorCode::kOutOfBudget, fmt::format("its classes would be counted in {} blocks", blocks))
            .with_file(volumes_.files[f].path)
            .with_hint("Ask for larger patches, or cut the volume with region=.");
      HEADRACE_ASSIGN(counts_memory_.emplace_back(),
                      reserve_unplanned(MemoryTag::kIndex, blocks * sizeof(std::uint32_t) * classes_.size()));
      counts.voxels.resize(blocks);
      const ScratchNeed need = reader(f).scratch_need(grid.cell[0]);
      thread_bytes_ = std::max(thread_bytes_, 2 * need.out_bytes + 2 * need.filter_bytes);  // stored bytes, too
      grids_.push_back(grid);
      counts_.resize(classes_.size());
      for (auto& of_class : counts_) of_class.push_back(counts);
    }
    return {};
  }

  /// \param threads  At most; fewer where their chunks would not fit the process's memory.
  Status run(int threads) {
    const std::uint64_t fit = MemoryBudget::process()->free_bytes() / std::max<std::uint64_t>(thread_bytes_, 1);
    threads = static_cast<int>(std::clamp<std::uint64_t>(fit, 1, static_cast<std::uint64_t>(threads)));
    return run_parallel(threads, "hr-classes", [&](int, const std::stop_token& stop) { return work(stop); });
  }

  /// Return the blocks that have voxels of a class, and forget its counts. Errors: kOutOfBudget.
  Result<ClassCount> take(std::size_t of_class) {
    ClassCount made;
    made.name = classes_[of_class]->name;
    std::size_t found = 0;
    for (const VolumeCounts& volume : counts_[of_class])
      found += volume.voxels.size() - static_cast<std::size_t>(std::ranges::count(volume.voxels, 0U));
    HEADRACE_ASSIGN(made.memory, reserve_blocks(found));
    made.blocks.reserve(found);
    for (std::uint32_t f = 0; f < counts_[of_class].size(); ++f) {
      const std::vector<std::uint32_t> voxels = std::move(counts_[of_class][f].voxels);
      for (std::size_t b = 0; b < voxels.size(); ++b)
        if (voxels[b] > 0) made.blocks.push_back({f, static_cast<std::uint32_t>(b), voxels[b]});
    }
    return made;
  }
  [[nodiscard]] std::size_t num_classes() const { return classes_.size(); }
  [[nodiscard]] const VoxelClass& of(std::size_t number) const { return *classes_[number]; }

 private:
  [[nodiscard]] const ArrayReader& reader(std::uint32_t file) const {
    return *volumes_.files[file].arrays[volumes_.places[column_].array];
  }

  [[nodiscard]] std::uint64_t offset_of(std::uint32_t file, std::size_t axis) const {
    const SourceFile& of = volumes_.files[file];
    return of.offsets.empty() ? 0 : of.offsets[volumes_.places[column_].array][axis];
  }

  Status work(const std::stop_token& stop) {
    PageBuffer stored, out, ping, pong;
    std::vector<Piece> pieces;
    for (std::size_t t; (t = next_.fetch_add(1)) < tasks_.size() && !stop.stop_requested();) {
      const CountTask& task = tasks_[t];
      const ArrayReader& array = reader(task.file);
      const CellGrid& grid = grids_[task.file];
      const Axes start = grid.cell_start(task.cell);
      const std::uint64_t rows = std::min(grid.cell[0], grid.shape[0] - start[0]);
      pieces.clear();
      Status status = grid.cells == CellGrid::Cells::kChunks ? array.locate_cells({&task.cell, 1}, pieces)
                                                             : array.locate({start[0], rows}, pieces);
      const ScratchNeed need = array.scratch_need(rows);
      for (std::size_t i = 0; i < pieces.size() && status.ok(); ++i)
        status = count_piece(task, pieces[i], need, {stored, out, ping, pong});
      if (status.ok()) continue;
      return std::move(status.error().with_file(volumes_.files[task.file].path).with_field(array.info().path));
    }
    return {};
  }

  struct Buffers {
    PageBuffer &stored, &out, &ping, &pong;
  };
  static Status grow(PageBuffer& buffer, std::uint64_t bytes) {
    if (bytes <= buffer.size_bytes()) return {};
    buffer.reset();
    HEADRACE_ASSIGN(buffer, unplanned_memory(MemoryTag::kScratch, bytes));
    return {};
  }

  Status count_piece(const CountTask& task, const Piece& piece, const ScratchNeed& need, Buffers buffers) {
    HEADRACE_TRY(grow(buffers.stored, piece.stored.range.size));
    HEADRACE_TRY(grow(buffers.out, need.out_bytes));
    HEADRACE_TRY(grow(buffers.ping, need.filter_bytes));
    HEADRACE_TRY(grow(buffers.pong, need.filter_bytes));
    const std::span<std::byte> bytes = buffers.stored.bytes().first(piece.stored.range.size);
    HEADRACE_TRY(read_ranges({&piece.stored, 1}, bytes));
    HEADRACE_ASSIGN(
        const DecodedPiece decoded,
        reader(task.file).decode(piece, bytes, {buffers.out.bytes(), buffers.ping.bytes(), buffers.pong.bytes()}));
    const CellGrid& grid = grids_[task.file];
    Axes start = grid.cell_start(task.cell), extents = grid.cell;
    if (grid.cells != CellGrid::Cells::kChunks) start[0] = piece.rows.first, extents[0] = piece.rows.count;
    add(task.file, start, extents, decoded.data);
    return {};
  }

  /// Add what lies in a decoded cell of C order.
  void add(std::uint32_t file, const Axes& start, const Axes& extents, const std::byte* from) {
    const CellGrid& grid = grids_[file];
    const std::size_t last = grid.rank - 1;
    const VolumeCounts& volume = counts_[0][file];
    Axes first{}, real{};  // of the cell, what lies in the volume
    for (std::size_t a = 0; a < grid.rank; ++a) {
      const std::uint64_t begin = volume.begin[a], end = begin + volume.extents[a];
      if (start[a] >= end || start[a] + extents[a] <= begin) return;
      first[a] = begin - std::min(begin, start[a]);
      real[a] = std::min(extents[a], end - start[a]);
    }
    Axes at = first;
    for (;;) {
      std::uint64_t element = 0, block = 0;
      for (std::size_t a = 0; a < last; ++a) {
        element = (element + at[a]) * extents[a + 1];
        block = (block + (start[a] + at[a] - volume.begin[a]) / block_[a]) * volume.along[a + 1];
      }
      for (std::uint64_t x = first[last]; x < real[last];) {
        const std::uint64_t place = start[last] + x - volume.begin[last];
        const std::uint64_t end = std::min(real[last], x + block_[last] - place % block_[last]);
        for (std::size_t c = 0; c < classes_.size(); ++c) {
          const std::uint32_t count = count_(from + (element + x) * grid.element_bytes, end - x, classes_[c]->value);
          if (count == 0) continue;
          std::uint32_t& to = counts_[c][file].voxels[block + place / block_[last]];
          std::atomic_ref(to).fetch_add(count, std::memory_order_relaxed);  // chunks may share blocks
        }
        x = end;
      }
      std::size_t a = last;
      while (a > 0 && ++at[a - 1] == real[a - 1]) --a, at[a] = first[a];
      if (a == 0) return;
    }
  }

  const Source& volumes_;
  const std::size_t column_;
  const std::vector<const VoxelClass*> classes_;
  const Axes block_;
  CountRun count_ = nullptr;
  std::vector<CellGrid> grids_;
  std::vector<CountTask> tasks_;
  std::vector<std::vector<VolumeCounts>> counts_;  // of each class and volume
  std::vector<MemoryReservation> counts_memory_;
  std::uint64_t thread_bytes_ = 0;  // that a thread decodes with
  std::atomic<std::size_t> next_{0};
};

/// What was counted depends on which part of an array is the volume.
std::string key_of(const Source& volumes, const VoxelClass& one, const Axes& block) {
  std::string key = fmt::format("{}, {} {} in blocks of {}", kFormat, (*volumes.columns)[one.column].path,
                                one.value ? fmt::format("= {}", one.value->text()) : "not 0", fmt::join(block, " x "));
  for (const SourceFile& file : volumes.files)
    if (!file.offsets.empty())
      key += fmt::format("; {} from {}", fmt::join(file.extents, " x "),
                         fmt::join(file.offsets[volumes.places[one.column].array], ", "));
  return key;
}

std::string packed(const ClassBlocks& blocks) {
  PackedWriter out;
  out.number(blocks.blocks.size());
  for (const ClassBlocks::Block& b : blocks.blocks)
    for (const std::uint64_t n : {std::uint64_t{b.volume}, std::uint64_t{b.number}, b.voxels}) out.number(n);
  return out.take();
}

/// Return what packed() wrote; nullopt: it is damaged, or there is no memory for it.
std::optional<ClassCount> unpacked(const std::string& bytes, const std::string& name) {
  PackedReader in(bytes);
  ClassCount made;
  made.name = name;
  std::size_t n = in.count();
  auto memory = reserve_blocks(n);
  if (!memory.ok()) return std::nullopt;
  made.memory = std::move(*memory);
  made.blocks.reserve(n);
  for (; in.ok() && n > 0; --n) {
    const auto volume = static_cast<std::uint32_t>(in.number_up_to(~std::uint32_t{0}));
    const auto number = static_cast<std::uint32_t>(in.number_up_to(~std::uint32_t{0}));
    made.blocks.push_back({volume, number, in.number()});
  }
  if (!in.complete()) return std::nullopt;
  return made;
}

}  // namespace

Axes class_block(std::span<const std::uint64_t> patch, const Source& volumes) {
  Axes block{}, most{};
  for (std::size_t a = 0; a < patch.size(); ++a) {
    block[a] = std::clamp<std::uint64_t>(std::bit_floor(patch[a] / 4), 1, kUsualBlock);
    most[a] = std::max(patch[a] / 2, std::min(patch[a], kUsualBlock));
  }
  for (bool grown = true; grown && num_blocks(volumes, block, patch.size()) > kManyBlocks;) {
    grown = false;
    for (std::size_t a = 0; a < patch.size(); ++a)
      if (block[a] * 2 <= most[a]) block[a] *= 2, grown = true;
  }
  return block;
}

Result<std::vector<ClassCount>> count_classes(const Source& volumes, std::span<const VoxelClass> classes,
                                              const Axes& block, int threads) {
  if (threads == 0) threads = static_cast<int>(usable_cpu_count());
  std::vector<ClassCount> made(classes.size());
  for (std::size_t column = 0; column < volumes.columns->size(); ++column) {
    const bool asked = std::ranges::any_of(classes, [&](const VoxelClass& c) { return c.column == column; });
    if (!asked) continue;
    const KeptFacts kept(*with_columns(volumes, {column}), IndexStore::of_user("classes"));
    std::vector<const VoxelClass*> to_count;
    for (std::size_t c = 0; c < classes.size(); ++c) {
      if (classes[c].column != column) continue;
      made[c].name = classes[c].name;
      const auto bytes = kept.find(key_of(volumes, classes[c], block));
      auto known = bytes ? unpacked(*bytes, classes[c].name) : std::nullopt;
      if (known)
        made[c] = std::move(*known);
      else
        to_count.push_back(&classes[c]);
    }
    if (to_count.empty()) continue;
    ColumnCount count(volumes, column, std::move(to_count), block);
    HEADRACE_TRY(count.prepare());
    HEADRACE_TRY(count.run(threads));
    for (std::size_t c = 0; c < count.num_classes(); ++c) {
      ClassCount& to = made[static_cast<std::size_t>(&count.of(c) - classes.data())];
      HEADRACE_ASSIGN(to, count.take(c));
      kept.keep(key_of(volumes, count.of(c), block), packed(to));
    }
  }
  return made;
}

}  // namespace headrace
