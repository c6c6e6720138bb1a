#include "format/hdf5/arrays/library_array.h"

#include <fmt/format.h>

#include <algorithm>

#include "format/hdf5/types/native_bytes.h"

namespace headrace::hdf5 {
namespace {

constexpr std::uint64_t kChecksumBytes = 4;  // of fletcher32, behind the stream

}  // namespace

LibraryArray::LibraryArray(const LibraryLock& library, std::shared_ptr<FileState> state, DatasetInfo info, Id dataset)
    : RowsArray(std::move(state), std::move(info)), dataset_(std::move(dataset)) {
  state_->share_library(library);
}

LibraryArray::~LibraryArray() {
  const LibraryLock library;
  dataset_.reset();
  state_->leave_library(library);
}

Status LibraryArray::check_index() const {
  if (index_checked_.load(std::memory_order_acquire)) return {};
  const LibraryLock library;
  if (index_error_) return *index_error_;
  if (index_checked_.load(std::memory_order_relaxed)) return {};
  auto index = ChunkIndex::read_confirmed(library, *state_, dataset_.get(), info_);
  if (!index.ok()) {
    index_error_ = placed(std::move(index.error()));
    return *index_error_;
  }
  index_ = std::move(*index);
  index_checked_.store(true, std::memory_order_release);
  return {};
}

// Look at the length of every chunk of the rows: libhdf5 takes a chunk that no filter decodes for as long as it should
// be. What a plugin makes of a stream is its own business; its pipelines have one compressor, and at most checksums
// behind it (see judge_library_pipeline()).
Status LibraryArray::check_streams(RowRange rows) const {
  const std::uint64_t first = rows.first / info_.array.chunk_shape[0] * across(), end = first + across();
  const RandomAccessFile& file = *state_->driver->file;
  for (std::uint64_t cell = index_.next_written(first); cell < end; cell = index_.next_written(cell + 1)) {
    const ChunkPlace place = index_.at(cell);
    const auto damaged = [&](std::string why, std::string_view stage) {
      return Error(ErrorCode::kCorruptData, std::move(why))
          .with_stage(stage)
          .with_bytes({place.address, place.size_bytes});
    };
    if (place.address > file.size() || place.size_bytes > file.size() - place.address)
      return damaged("a chunk reaches past the end of the file", "index");
    const bool unfiltered = info_.edges_unfiltered && is_partial(cell);
    std::uint64_t size_bytes = place.size_bytes;
    const StoredFilter* compressor = nullptr;
    for (std::size_t i = info_.filters.size(); i-- > 0 && compressor == nullptr;) {
      const StoredFilter& filter = info_.filters[i];
      if (unfiltered || (i < 32 && (place.filter_mask >> i & 1) != 0) || filter.id == H5Z_FILTER_SHUFFLE) continue;
      if (filter.id != H5Z_FILTER_FLETCHER32) {
        compressor = &filter;
      } else if (size_bytes < kChecksumBytes) {
        return damaged(fmt::format("{} stored bytes, fewer than its checksum has", place.size_bytes), "fletcher32");
      } else {
        size_bytes -= kChecksumBytes;
      }
    }
    if (compressor == nullptr && size_bytes != info_.stored_form.chunk_bytes)
      return damaged(fmt::format("the unfiltered chunk has {} stored bytes, {} expected", size_bytes,
                                 info_.stored_form.chunk_bytes),
                     "decode");
  }
  return {};
}

Status LibraryArray::locate(RowRange rows, std::vector<Piece>& out) const {
  HEADRACE_TRY(check_rows(rows));
  if (rows.count == 0) return {};
  HEADRACE_TRY(check_index());
  const std::uint64_t chunk_rows = info_.array.chunk_shape[0];
  for (std::uint64_t chunk = rows.first / chunk_rows; chunk <= (rows.end() - 1) / chunk_rows; ++chunk)
    out.push_back(piece_at(chunk));
  return {};
}

Result<std::uint64_t> LibraryArray::locate_written(RowRange rows, std::vector<Piece>& out) const {
  HEADRACE_TRY(check_rows(rows));
  if (rows.count == 0) return std::uint64_t{0};
  HEADRACE_TRY(check_index());
  const std::uint64_t chunk_rows = info_.array.chunk_shape[0];
  const std::uint64_t first = rows.first / chunk_rows * across(), end = ((rows.end() - 1) / chunk_rows + 1) * across();
  std::uint64_t absent = end - first;
  for (std::uint64_t cell = first; (cell = index_.next_written(cell)) < end; ++cell) {
    if (out.empty() || out.back().id != cell / across()) out.push_back(piece_at(cell / across()));
    --absent;
  }
  return absent;
}

Piece LibraryArray::piece_at(std::uint64_t row_chunk) const {
  const std::uint64_t chunk_rows = info_.array.chunk_shape[0];
  Piece piece;
  piece.id = row_chunk;
  piece.rows = {row_chunk * chunk_rows, std::min(chunk_rows, info_.array.shape[0] - row_chunk * chunk_rows)};
  piece.decoded_bytes = bytes_of(piece.rows);
  return piece;
}

bool LibraryArray::is_partial(std::uint64_t cell) const {
  bool partial = false;
  for (std::size_t d = info_.grid.size(); d-- > 0; cell /= info_.grid[d])
    partial = partial || (cell % info_.grid[d] + 1) * info_.array.chunk_shape[d] > info_.array.shape[d];
  return partial;
}

std::uint64_t LibraryArray::across() const {
  std::uint64_t across = 1;
  for (std::size_t d = 1; d < info_.grid.size(); ++d) across *= info_.grid[d];
  return across;
}

std::string LibraryArray::piece_name(const Piece& piece) const {
  std::string name = fmt::format("({}", piece.rows.first / info_.array.chunk_shape[0]);
  for (std::size_t d = 1; d < info_.array.shape.size(); ++d) name += ",*";
  return name + ")";
}

ScratchNeed LibraryArray::scratch_need(std::uint64_t max_rows) const {
  const std::uint64_t rows = std::max(max_rows, info_.array.chunk_shape[0]);
  return {std::min(rows, info().rows()) * info_.row_bytes, 0};
}

Status LibraryArray::read(const LibraryLock& library, RowRange rows, std::span<std::byte> out) const {
  const Id space(H5Dget_space(dataset_.get()));
  std::vector<hsize_t> start(info_.array.shape.size(), 0), count(info_.array.shape.begin(), info_.array.shape.end());
  start[0] = rows.first;
  count[0] = rows.count;
  const Id memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr));
  const Id stored_type(H5Dget_type(dataset_.get()));
  const hid_t type = info_.element.memory_type.ok() ? info_.element.memory_type.get() : stored_type.get();
  state_->driver->read_error.reset();
  const bool ok = H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) >= 0 &&
                  H5Dread(dataset_.get(), type, memory.get(), space.get(), H5P_DEFAULT, out.data()) >= 0;
  if (!ok) return library_failure(library, *state_, fmt::format("read rows {} to {}", rows.first, rows.end()));
  return {};
}

Result<DecodedPiece> LibraryArray::decode(const Piece& piece, std::span<const std::byte>,
                                          const DecodeScratch& scratch) const {
  const std::size_t bytes = bytes_of(piece.rows);
  if (scratch.out.size() < bytes)
    return placed(Error(ErrorCode::kInternal, fmt::format("scratch of {} bytes, {} needed", scratch.out.size(), bytes)),
                  piece);
  const std::span<std::byte> out = scratch.out.first(bytes);
  std::ranges::fill(out, std::byte{0});  // libhdf5 leaves rows alone whose fill value is undefined
  slow_pieces_.fetch_add(1, std::memory_order_relaxed);
  if (Status sound = check_streams(piece.rows); !sound.ok()) return placed(std::move(sound.error()), piece);
  {
    const LibraryLock library;
    Status status = read(library, piece.rows, out);
    if (status.ok()) status = state_->driver->file->check_unchanged();  // libhdf5 does not ask
    if (!status.ok()) return placed(std::move(status.error().with_stage("H5Dread")), piece);
  }
  to_native(info_.element, out);
  return DecodedPiece{out.data(), info_.row_bytes};
}

}  // namespace headrace::hdf5
