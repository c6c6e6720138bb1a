#include "format/hdf5/chunk_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "format/hdf5/chunk_tree.h"
#include "format/hdf5/fixed_array_check.h"
#include "format/hdf5/object_header.h"

namespace headrace::hdf5 {
namespace {

using Found = std::vector<std::pair<std::uint64_t, ChunkPlace>>;  // by ascending cell

herr_t read_recorded(hid_t dataset, const hsize_t* offset, std::uint32_t* mask) {
  std::array<char, 16> untouched{};  // the driver records and leaves the buffer alone
#if H5_VERSION_GE(2, 0, 0)
  std::size_t room = SIZE_MAX;  // with less, HDF5 2 answers with the size and skips the read we want to see
  return H5Dread_chunk2(dataset, H5P_DEFAULT, offset, mask, untouched.data(), &room);
#else
  return H5Dread_chunk(dataset, H5P_DEFAULT, offset, mask, untouched.data());
#endif
}

Error damaged(std::string why) {
  return std::move(Error(ErrorCode::kCorruptData, "the chunk index is damaged: " + std::move(why)).with_stage("index"));
}

/// Return how many chunks an array whose shape is bounded may ever have.
Result<std::uint64_t> most_chunks_of(hid_t dataset, const DatasetInfo& info) {
  const Id space(H5Dget_space(dataset));
  std::array<hsize_t, H5S_MAX_RANK> dims{}, most{};
  const int rank = H5Sget_simple_extent_dims(space.get(), dims.data(), most.data());
  if (rank != static_cast<int>(info.grid.size())) return damaged("the shape has changed");
  std::uint64_t chunks = 1;
  for (std::size_t d = 0; d < info.grid.size(); ++d) {
    const std::uint64_t length = info.array.chunk_shape[d];
    if (most[d] == H5S_UNLIMITED || __builtin_mul_overflow(chunks, most[d] / length + (most[d] % length != 0), &chunks))
      return damaged("a fixed array for a shape without bounds");
  }
  return chunks;
}

/// Asks libhdf5 for the places of chunks.
class Prober {
 public:
  Prober(const LibraryLock& library, DriverState& state, hid_t dataset, const DatasetInfo& info)
      : session_(library), state_(state), dataset_(dataset), info_(info), space_(H5Dget_space(dataset)) {
    for (const std::uint64_t g : info.grid) cells_ *= g;  // bounded by kGridLimit when described
  }
  ~Prober() { state_.recording.on = false; }

  Result<Found> find_all(ChunkIndexKind kind) {
    hsize_t written = 0;
    if (H5Dget_num_chunks(dataset_, space_.get(), &written) < 0) {  // HDF5 1.10.8 refuses H5S_ALL here
      if (state_.read_error) return std::move(state_.read_error->with_stage("index"));
      return damaged(last_library_error(session_).text());
    }
    if (written > cells_) return damaged(fmt::format("it has {} chunks in a grid of {}", written, cells_));
    if (written > state_.file->size())
      return damaged(fmt::format("it has {} chunks in a file of {} bytes", written, state_.file->size()));
    // H5Dget_chunk_info walks all records for each answer, and its addresses leave out the user block (before 1.14.4),
    // but it knows where the chunks of a version 2 B-tree are when asking for every cell would cost more.
    const bool few = kind == ChunkIndexKind::kBTree2 && written * written / 16 < cells_;
    HEADRACE_ASSIGN(Found found, few ? find_listed(written) : find_by_cell(written));
    if (found.size() == written) return found;
    if (state_.read_error) return std::move(state_.read_error->with_stage("index"));
    return damaged(fmt::format("{} of its {} chunks cannot be found through it", written - found.size(), written));
  }

  /// Errors: kCorruptData if libhdf5, which is going to read these chunks, would read others.
  Status confirm(const Found& found) {
    for (const auto& [cell, place] : found) {
      std::uint64_t rest = cell;
      for (std::size_t d = info_.grid.size(); d-- > 0; rest /= info_.grid[d])
        offset_[d] = rest % info_.grid[d] * info_.array.chunk_shape[d];
      ChunkPlace seen;
      if (ask(seen) != Answer::kHere || seen.address != place.address || seen.size_bytes != place.size_bytes ||
          seen.filter_mask != place.filter_mask) {
        if (state_.read_error) return std::move(state_.read_error->with_stage("index"));
        return damaged(fmt::format("libhdf5 does not find chunk number {} through it", cell));
      }
    }
    return {};
  }

 private:
  enum class Answer { kHere, kAbsent, kNonsense };
  Answer ask(ChunkPlace& place) {  // about offset_
    state_.recording = {.on = true};
    std::uint32_t mask = 0;
    const herr_t status = read_recorded(dataset_, offset_.data(), &mask);
    state_.recording.on = false;
    if (status < 0) return Answer::kAbsent;  // or damaged: the count tells
    if (state_.recording.reads != 1) return Answer::kNonsense;
    place = {state_.recording.address, state_.recording.size, mask};
    return Answer::kHere;
  }

  Status ask_into(std::uint64_t cell, Found& found) {
    ChunkPlace place;
    const Answer answer = ask(place);
    if (answer == Answer::kNonsense) return damaged(fmt::format("chunk number {} has no bytes", cell));
    if (answer == Answer::kHere) found.emplace_back(cell, place);
    return {};
  }

  Result<Found> find_by_cell(std::uint64_t written) {
    Found found;
    found.reserve(written);
    const std::vector<std::uint64_t>&shape = info_.array.shape, &chunk = info_.array.chunk_shape;
    for (std::uint64_t cell = 0; cell < cells_ && found.size() < written; ++cell) {
      HEADRACE_TRY(ask_into(cell, found));
      for (std::size_t d = shape.size(); d-- > 0;) {
        if ((offset_[d] += chunk[d]) < shape[d]) break;
        offset_[d] = 0;
      }
    }
    return found;
  }

  Result<Found> find_listed(std::uint64_t written) {
    Found found;
    for (hsize_t i = 0; i < written; ++i) {
      unsigned mask = 0;
      haddr_t address = 0;
      hsize_t size = 0;
      if (H5Dget_chunk_info(dataset_, space_.get(), i, offset_.data(), &mask, &address, &size) < 0) continue;
      std::uint64_t cell = 0;
      bool inside = true;
      for (std::size_t d = 0; d < info_.grid.size(); ++d) {
        const std::uint64_t at = offset_[d] / info_.array.chunk_shape[d];
        inside = inside && at < info_.grid[d];
        cell = cell * info_.grid[d] + at;
      }
      if (inside) HEADRACE_TRY(ask_into(cell, found));
    }
    std::ranges::sort(found, {}, &Found::value_type::first);
    const auto same_cell = [](const auto& a, const auto& b) { return a.first == b.first; };  // clang 14: no subranges
    found.erase(std::unique(found.begin(), found.end(), same_cell), found.end());
    return found;
  }

  const LibraryLock& session_;
  DriverState& state_;
  hid_t dataset_;
  const DatasetInfo& info_;
  const Id space_;
  std::uint64_t cells_ = 1;
  std::array<hsize_t, H5S_MAX_RANK> offset_{};
};

std::uint64_t cells_of(const DatasetInfo& info) {
  std::uint64_t cells = 1;
  for (const std::uint64_t g : info.grid) cells *= g;  // bounded by kGridLimit when described
  return cells;
}

Result<ChunkLayout> layout_of(const FileState& state, const DatasetInfo& info) {
  HEADRACE_ASSIGN(const std::optional<ChunkLayout> layout,
                  chunk_layout_at(*state.driver->file, state.superblock, info.header_address));
  if (!layout || layout->lengths != info.array.chunk_shape)
    return damaged("the object header and the description of the chunks disagree");
  return *layout;
}

Result<Found> find_in_tree(const FileState& state, const ChunkLayout& layout, const DatasetInfo& info) {
  HEADRACE_ASSIGN(const std::vector<TreeChunk> chunks,
                  read_chunk_tree(*state.driver->file, state.superblock, layout, info.grid));
  Found found;
  found.reserve(chunks.size());
  for (const TreeChunk& c : chunks) found.emplace_back(c.cell, ChunkPlace{c.address, c.size_bytes, c.filter_mask});
  return found;
}

}  // namespace

ChunkIndex::ChunkIndex(std::uint64_t cells, Found found) {
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

Result<ChunkIndex> ChunkIndex::read_tree(const FileState& state, const DatasetInfo& info) {
  if (cells_of(info) == 0) return ChunkIndex();
  HEADRACE_ASSIGN(const ChunkLayout layout, layout_of(state, info));
  if (layout.index != ChunkIndexKind::kBTree1) return damaged("it is of another kind than it was");
  HEADRACE_ASSIGN(Found found, find_in_tree(state, layout, info));
  return ChunkIndex(cells_of(info), std::move(found));
}

Result<ChunkIndex> ChunkIndex::read(const LibraryLock& library, FileState& state, hid_t dataset,
                                    const DatasetInfo& info) {
  if (cells_of(info) == 0) return ChunkIndex();
  HEADRACE_ASSIGN(const ChunkLayout layout, layout_of(state, info));
  Prober prober(library, *state.driver, dataset, info);
  Found found;
  if (layout.index == ChunkIndexKind::kBTree1) {
    HEADRACE_ASSIGN(found, find_in_tree(state, layout, info));
    if (info.array.read_path == ReadPath::kFallback) HEADRACE_TRY(prober.confirm(found));
  } else {
    if (layout.fixed_array_address) {
      HEADRACE_ASSIGN(const std::uint64_t most_chunks, most_chunks_of(dataset, info));
      HEADRACE_TRY(check_fixed_array(*state.driver->file, state.superblock, *layout.fixed_array_address, most_chunks,
                                     info.stored_form.chunk_bytes));
    }
    HEADRACE_ASSIGN(found, prober.find_all(layout.index));
  }
  return ChunkIndex(cells_of(info), std::move(found));
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
