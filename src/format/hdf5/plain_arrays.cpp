#include "format/hdf5/plain_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "format/hdf5/native_bytes.h"
#include "storage/file_system.h"

namespace headrace::hdf5 {
namespace {

/// The first `bytes` of scratch.out, or kInternal if the caller gave less than scratch_need() says.
Result<std::span<std::byte>> room(const DecodeScratch& scratch, std::size_t bytes) {
  if (scratch.out.size() < bytes)
    return Error(ErrorCode::kInternal, fmt::format("scratch of {} bytes, {} needed", scratch.out.size(), bytes));
  return scratch.out.first(bytes);
}

}  // namespace

Result<DecodedPiece> ContiguousArray::decode(const Piece& piece, std::span<const std::byte> stored,
                                             const DecodeScratch& scratch) const {
  if (stored.size() != piece.stored.range.size)
    return placed(
        Error(ErrorCode::kInternal, fmt::format("{} bytes given, {} needed", stored.size(), piece.stored.range.size)),
        piece);
  if (info_.element.swaps.empty()) return DecodedPiece{stored.data(), info_.row_bytes};
  auto out = room(scratch, stored.size());
  if (!out.ok()) return placed(std::move(out.error()), piece);
  std::memcpy(out->data(), stored.data(), stored.size());
  to_native(info_.element, *out);
  return DecodedPiece{out->data(), info_.row_bytes};
}

ScratchNeed ContiguousArray::scratch_need(std::uint64_t max_rows) const {
  return {info_.element.swaps.empty() ? 0 : std::min(max_rows, info().rows()) * info_.row_bytes, 0};
}

// The space that was never taken counts once, where it begins.
Result<std::uint64_t> FillArray::locate_written(RowRange rows, std::vector<Piece>&) const {
  HEADRACE_TRY(check_rows(rows));
  return std::uint64_t{rows.first == 0 && rows.count > 0 && info_.row_bytes > 0 ? 1U : 0U};
}

Result<DecodedPiece> FillArray::decode(const Piece& piece, std::span<const std::byte>,
                                       const DecodeScratch& scratch) const {
  if (info_.row_bytes == 0) return empty_rows();
  auto out = room(scratch, bytes_of(piece.rows));
  if (!out.ok()) return placed(std::move(out.error()), piece);
  fill_with(fill_element_, *out);
  return DecodedPiece{out->data(), info_.row_bytes};
}

ScratchNeed FillArray::scratch_need(std::uint64_t max_rows) const {
  return {std::min(max_rows, info().rows()) * info_.row_bytes, 0};
}

Result<DecodedPiece> MemoryArray::decode(const Piece& piece, std::span<const std::byte>, const DecodeScratch&) const {
  return DecodedPiece{bytes_.data() + piece.rows.first * info_.row_bytes, info_.row_bytes};
}

Result<std::shared_ptr<ArrayReader>> ExternalArray::open(std::shared_ptr<FileState> state, DatasetInfo info) {
  std::shared_ptr<ExternalArray> array(new ExternalArray(std::move(state), std::move(info)));
  for (const RawSegment& segment : array->info_.external) {
    HEADRACE_ASSIGN(auto file, FileSystem::of(segment.path).open(segment.path));
    array->files_.push_back(std::move(file));
  }
  return std::shared_ptr<ArrayReader>(std::move(array));
}

Result<DecodedPiece> ExternalArray::decode(const Piece& piece, std::span<const std::byte>,
                                           const DecodeScratch& scratch) const {
  auto out = room(scratch, bytes_of(piece.rows));
  if (!out.ok()) return placed(std::move(out.error()), piece);
  std::uint64_t skip = piece.rows.first * info_.row_bytes;
  std::span<std::byte> left = *out;
  for (std::size_t i = 0; i < files_.size() && !left.empty(); ++i) {
    const RawSegment& segment = info_.external[i];
    if (skip >= segment.size_bytes) {
      skip -= segment.size_bytes;
      continue;
    }
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(segment.size_bytes - skip, left.size()));
    Status status = files_[i]->read_at(segment.offset_bytes + skip, left.first(n));
    if (!status.ok()) return placed(std::move(status.error().with_stage("read")), piece);
    left = left.subspan(n);
    skip = 0;
  }
  to_native(info_.element, *out);
  return DecodedPiece{out->data(), info_.row_bytes};
}

ScratchNeed ExternalArray::scratch_need(std::uint64_t max_rows) const {
  return {std::min(max_rows, info().rows()) * info_.row_bytes, 0};
}

}  // namespace headrace::hdf5
