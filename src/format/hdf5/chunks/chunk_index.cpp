#include "format/hdf5/chunks/chunk_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "format/hdf5/chunks/chunk_arrays.h"
#include "format/hdf5/chunks/chunk_tree1.h"
#include "format/hdf5/structure/object_header.h"

namespace headrace::hdf5 {
namespace {

herr_t read_recorded(hid_t dataset, const hsize_t* offset, std::uint32_t* mask) {
  std::array<char, 16> untouched{};  // the driver records and leaves the buffer alone
#if H5_VERSION_GE(2, 0, 0)
  std::size_t room = SIZE_MAX;  // with less, HDF5 2 answers with the size and skips the read we want to see
  return H5Dread_chunk2(dataset, H5P_DEFAULT, offset, mask, untouched.data(), &room);
#else
  return H5Dread_chunk(dataset, H5P_DEFAULT, offset, mask, untouched.data());
#endif
}

/// Asks libhdf5 for the places of chunks.
class Prober {
 public:
  Prober(DriverState& state, hid_t dataset, const DatasetInfo& info) : state_(state), dataset_(dataset), info_(info) {}
  ~Prober() { state_.recording.on = false; }

  /// Errors: kCorruptData if libhdf5, which is going to read these chunks, would read others.
  Status confirm(const FoundChunks& found) {
    for (const auto& [cell, place] : found) {
      std::uint64_t rest = cell;
      for (std::size_t d = info_.grid.size(); d-- > 0; rest /= info_.grid[d])
        offset_[d] = rest % info_.grid[d] * info_.array.chunk_shape[d];
      ChunkPlace seen;
      state_.read_error.reset();
      if (find(seen) && seen.address == place.address && seen.size_bytes == place.size_bytes &&
          seen.filter_mask == place.filter_mask)
        continue;
      if (state_.read_error) return std::move(std::exchange(state_.read_error, std::nullopt)->with_stage("index"));
      return index_damaged(fmt::format("libhdf5 does not find chunk number {} through it", cell));
    }
    return {};
  }

 private:
  /// Where libhdf5 would read the chunk at offset_. \return False if it would not, or in several pieces.
  bool find(ChunkPlace& place) {
    state_.recording = {.on = true};
    std::uint32_t mask = 0;
    const herr_t status = read_recorded(dataset_, offset_.data(), &mask);
    state_.recording.on = false;
    place = {state_.recording.address, state_.recording.size, mask};
    return status >= 0 && state_.recording.reads == 1;
  }

  DriverState& state_;
  hid_t dataset_;
  const DatasetInfo& info_;
  std::array<hsize_t, H5S_MAX_RANK> offset_{};
};

std::uint64_t cells_of(const DatasetInfo& info) {
  std::uint64_t cells = 1;
  for (const std::uint64_t g : info.grid) cells *= g;  // bounded by kGridLimit when described
  return cells;
}

std::vector<std::uint64_t> most_cells_of(const std::vector<std::uint64_t>& most, const ChunkLayout& layout) {
  std::vector<std::uint64_t> cells;
  for (std::size_t d = 0; d < most.size(); ++d)
    cells.push_back(
        most[d] == ChunkGrid::kUnlimited ? most[d] : most[d] / layout.lengths[d] + (most[d] % layout.lengths[d] != 0));
  return cells;
}

/// Give `take` all chunks, in the order of the index.
Status visit(const FileState& state, const DatasetInfo& info, const TakeChunk& take) {
  const RandomAccessFile& file = *state.driver->file;
  if (cells_of(info) == 0) return {};
  HEADRACE_ASSIGN(const std::vector<HeaderMessage> header,
                  read_object_header(file, state.superblock, info.header_address));
  std::optional<ChunkLayout> layout;
  std::vector<std::uint64_t> most;
  for (const HeaderMessage& m : header) {
    if (m.shared()) continue;
    if (m.is(MessageType::kLayout)) {
      HEADRACE_ASSIGN(layout, chunk_layout(m.bytes, state.superblock));
    }
    if (m.is(MessageType::kDataspace)) most = largest_shape(m.bytes, state.superblock);
  }
  if (!layout || layout->lengths != info.array.chunk_shape || most.size() != info.grid.size())
    return index_damaged("the object header and the description of the chunks disagree");
  if (layout->index != ChunkIndexKind::kBTree1) {
    const ChunkGrid grid{info.grid, most_cells_of(most, *layout), info.stored_form.chunk_bytes, !info.filters.empty()};
    Status status = read_chunk_array(file, state.superblock, *layout, grid, take);
    if (!status.ok()) status.error().with_stage("index");
    return status;
  }
  return read_chunk_tree(file, state.superblock, *layout, info.grid, take);
}

/// Return all chunks by ascending cell.
Result<FoundChunks> find_all(const FileState& state, const DatasetInfo& info) {
  FoundChunks found;
  HEADRACE_TRY(visit(state, info, [&](std::uint64_t cell, const ChunkPlace& place) {
    found.emplace_back(cell, place);
    return Status();
  }));
  HEADRACE_TRY(put_in_order(found));
  return found;
}

}  // namespace

ChunkIndex::ChunkIndex(std::uint64_t cells, const FoundChunks& found) {
  if (found.size() >= cells / 4) {
    dense_.resize(cells);
    for (const auto& [cell, place] : found) dense_[cell] = place;
    return;
  }
  cells_.reserve(found.size());
  places_.reserve(found.size());
  for (const auto& [cell, place] : found) {
    cells_.push_back(cell);
    places_.push_back(place);
  }
}

Result<ChunkIndex> ChunkIndex::read(const FileState& state, const DatasetInfo& info) {
  HEADRACE_ASSIGN(FoundChunks found, find_all(state, info));
  return ChunkIndex(cells_of(info), found);
}

Result<ChunkIndex> ChunkIndex::read_confirmed(const LibraryLock&, FileState& state, hid_t dataset,
                                              const DatasetInfo& info) {
  HEADRACE_ASSIGN(FoundChunks found, find_all(state, info));
  HEADRACE_TRY(Prober(*state.driver, dataset, info).confirm(found));
  return ChunkIndex(cells_of(info), found);
}

Result<std::uint64_t> stored_bytes_of_chunks(const FileState& state, const DatasetInfo& info) {
  std::uint64_t bytes = 0;
  HEADRACE_TRY(visit(state, info, [&](std::uint64_t, const ChunkPlace& place) {
    bytes += place.size_bytes;
    return Status();
  }));
  return bytes;
}

ChunkPlace ChunkIndex::at(std::uint64_t cell) const {
  if (!dense_.empty()) return dense_[cell];
  const auto it = std::lower_bound(cells_.begin(), cells_.end(), cell);
  if (it == cells_.end() || *it != cell) return {};
  return places_[static_cast<std::size_t>(it - cells_.begin())];
}

std::uint64_t ChunkIndex::next_written(std::uint64_t cell) const {
  constexpr std::uint64_t kNone = ~std::uint64_t{0};
  if (dense_.empty()) {
    const auto it = std::lower_bound(cells_.begin(), cells_.end(), cell);
    return it == cells_.end() ? kNone : *it;
  }
  while (cell < dense_.size() && dense_[cell].absent()) ++cell;
  return cell < dense_.size() ? cell : kNone;
}

}  // namespace headrace::hdf5
