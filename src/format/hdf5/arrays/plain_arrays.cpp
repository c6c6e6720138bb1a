#include "format/hdf5/arrays/plain_arrays.h"
#include "base/memory/fill_elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "format/hdf5/types/element_conversion.h"
#include "format/hdf5/types/native_bytes.h"
#include "format/outside_files.h"
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
  const bool converts = info_.element.memory_type.ok();
  if (!converts && info_.element.is_native()) return DecodedPiece{stored.data(), info_.row_bytes};
  auto out = room(scratch, bytes_of(piece.rows));
  if (!out.ok()) return placed(std::move(out.error()), piece);
  if (converts) {
    Status status = convert(info_.element, stored, *out, {scratch.ping, scratch.pong});
    if (!status.ok()) return placed(std::move(status.error()), piece);
  } else {
    std::memcpy(out->data(), stored.data(), stored.size());
    to_native(info_.element, *out);
  }
  return DecodedPiece{out->data(), info_.row_bytes};
}

ScratchNeed ContiguousArray::scratch_need(std::uint64_t max_rows) const {
  const std::uint64_t rows = std::min(max_rows, info().rows());
  const bool as_stored = !info_.element.memory_type.ok() && info_.element.is_native();
  return {as_stored ? 0 : rows * info_.row_bytes, conversion_bytes(info_.element, elements_of(rows))};
}

std::shared_ptr<ArrayReader> ContiguousArray::merged(std::size_t axes) const {
  const ElementType& element = info_.element;
  DatasetInfo info;
  info.array = info_.array;
  if (element.memory_type.ok() || !info.array.merge_axes(axes)) return nullptr;
  info.header_address = info_.header_address;
  info.element.record_bytes = element.record_bytes;
  info.element.stored_bytes = element.stored_bytes;
  info.element.leaves = element.leaves;
  info.element.swaps = element.swaps;
  info.element.texts = element.texts;
  info.element.left_out = element.left_out;
  info.element.is_record = element.is_record;
  info.element.path = element.path;
  info.element.reason = element.reason;
  info.row_bytes = info.array.row_record_bytes();
  return std::make_shared<ContiguousArray>(state_, std::move(info), address_);
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
  fill_elements(fill_element_, fill_element_.size(), *out);
  return DecodedPiece{out->data(), info_.row_bytes};
}

ScratchNeed FillArray::scratch_need(std::uint64_t max_rows) const {
  return {std::min(max_rows, info().rows()) * info_.row_bytes, 0};
}

Result<DecodedPiece> MemoryArray::decode(const Piece& piece, std::span<const std::byte>, const DecodeScratch&) const {
  return DecodedPiece{bytes_.data() + piece.rows.first * info_.row_bytes, info_.row_bytes};
}

Result<std::shared_ptr<ArrayBase>> ExternalArray::open(std::shared_ptr<FileState> state, DatasetInfo info) {
  std::shared_ptr<ExternalArray> array(new ExternalArray(std::move(state), std::move(info)));
  for (const RawSegment& segment : array->info_.external) {
    HEADRACE_ASSIGN(auto file, FileSystem::of(segment.path).open(segment.path));
    array->files_.push_back(std::move(file));
  }
  return std::shared_ptr<ArrayBase>(std::move(array));
}

Result<DecodedPiece> ExternalArray::decode(const Piece& piece, std::span<const std::byte>,
                                           const DecodeScratch& scratch) const {
  auto out = room(scratch, bytes_of(piece.rows));
  if (!out.ok()) return placed(std::move(out.error()), piece);
  const bool converts = info_.element.memory_type.ok();
  const std::span<std::byte> raw = converts ? stored_room(info_.element, *out, scratch.pong) : *out;
  if (raw.size() != piece.rows.count * info_.stored_row_bytes())
    return placed(Error(ErrorCode::kInternal, fmt::format("scratch of {} bytes aside", scratch.pong.size())), piece);
  std::uint64_t skip = piece.rows.first * info_.stored_row_bytes();
  std::span<std::byte> left = raw;
  for (std::size_t i = 0; i < files_.size() && !left.empty(); ++i) {
    const RawSegment& segment = info_.external[i];
    if (skip >= segment.size_bytes) {
      skip -= segment.size_bytes;
      continue;
    }
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(segment.size_bytes - skip, left.size()));
    Status status = files_[i]->read_at(segment.offset_bytes + skip, left.first(n));
    if (status.ok()) status = files_[i]->check_unchanged();  // the caller asks of the file that it knows only
    if (!status.ok()) return placed(std::move(status.error().with_stage("read")), piece);
    left = left.subspan(n);
    skip = 0;
  }
  if (converts) {
    Status status = convert(info_.element, raw, *out, {scratch.ping, scratch.pong});
    if (!status.ok()) return placed(std::move(status.error()), piece);
  } else {
    to_native(info_.element, *out);
  }
  return DecodedPiece{out->data(), info_.row_bytes};
}

ScratchNeed ExternalArray::scratch_need(std::uint64_t max_rows) const {
  const std::uint64_t rows = std::min(max_rows, info().rows()), elements = elements_of(rows);
  return {rows * info_.row_bytes,
          conversion_bytes(info_.element, elements) + stored_room_bytes(info_.element, elements)};
}

std::vector<OutsideFile> ExternalArray::other_files() const {
  OutsideFiles others;
  for (std::size_t i = 0; i < files_.size(); ++i) others.add({info_.external[i].path, files_[i]->fingerprint()});
  return std::move(others).take();
}

}  // namespace headrace::hdf5
