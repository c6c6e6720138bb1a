#include "format/npy/npy_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "codec/compression/raw_deflate.h"
#include "storage/file_system.h"

namespace headrace::npy {
namespace {

class NpyArray final : public ArrayReader {
 public:
  NpyArray(ArrayInfo info, NpyHeader header, NpyValues values)
      : info_(std::move(info)),
        header_(std::move(header)),
        values_(std::move(values)),
        row_bytes_(static_cast<std::size_t>(info_.row_record_bytes())) {}

  [[nodiscard]] const ArrayInfo& info() const override { return info_; }
  [[nodiscard]] std::uint32_t pieces_across() const override { return 1; }
  [[nodiscard]] std::string piece_name(const Piece&) const override { return {}; }

  Status locate(RowRange rows, std::vector<Piece>& out) const override {
    if (rows.first > info_.rows() || rows.count > info_.rows() - rows.first)
      return placed(Error(ErrorCode::kInvalidArgument,
                          fmt::format("{} rows from {} on of an array of {}", rows.count, rows.first, info_.rows())));
    if (rows.count == 0) return {};
    Piece piece;
    if (values_.deflated) {
      piece.rows = {0, info_.rows()};
      piece.stored = {values_.file.get(), values_.stored};
      piece.decoded_bytes = header_.header_bytes + header_.value_bytes;  // the header is decoded with the values
    } else {
      piece.id = rows.first;
      piece.rows = rows;
      piece.stored = {values_.file.get(), {values_.stored.offset + rows.first * row_bytes_, rows.count * row_bytes_}};
      piece.decoded_bytes = rows.count * row_bytes_;
    }
    out.push_back(piece);
    return {};
  }

  /// A deflated member is a grid of one chunk.
  Status locate_cells(std::span<const std::uint64_t> cells, std::vector<Piece>& out) const override {
    if (!values_.deflated) return ArrayReader::locate_cells(cells, out);
    for (const std::uint64_t cell : cells)
      if (cell != 0 || info_.rows() == 0)
        return placed(Error(ErrorCode::kInvalidArgument, fmt::format("chunk number {} of one", cell)));
    for (std::size_t i = 0; i < cells.size(); ++i) HEADRACE_TRY(locate({0, info_.rows()}, out));
    return {};
  }

  Result<DecodedPiece> decode(const Piece& piece, std::span<const std::byte> stored,
                              const DecodeScratch& scratch) const override {
    auto decoded = values_.deflated ? inflate(stored, scratch) : plain(piece, stored, scratch);
    if (!decoded.ok()) return placed(std::move(decoded.error().with_bytes(piece.stored.range)));
    return decoded;
  }

  [[nodiscard]] bool is_plain(const Piece&) const override { return !values_.deflated && header_.type.swaps.empty(); }

  [[nodiscard]] RowGeometry geometry(std::uint32_t, std::size_t column) const override {
    const Column& c = info_.columns[column];
    const std::vector<std::uint64_t> row_shape(info_.shape.begin() + 1, info_.shape.end());
    const std::vector<std::uint64_t> zeros(row_shape.size(), 0);
    std::uint64_t entry_bytes = c.dtype.itemsize;
    for (const std::uint64_t n : c.inner_shape) entry_bytes *= n;
    return row_box(row_shape, row_shape, zeros, zeros, row_shape, info_.record_bytes, c.offset, entry_bytes);
  }

  [[nodiscard]] ScratchNeed scratch_need(std::uint64_t max_rows) const override {
    if (values_.deflated) return {header_.header_bytes + header_.value_bytes, 0};
    return {header_.type.swaps.empty() ? 0 : std::min(max_rows, info_.rows()) * row_bytes_, 0};
  }

  [[nodiscard]] std::vector<OutsideFile> other_files() const override {
    if (!values_.is_beside) return {};
    return {{FileSystem::of(values_.file_name).canonical(values_.file_name), values_.file->fingerprint()}};
  }

  /// A deflated member is one chunk, which cannot be had row by row.
  [[nodiscard]] std::shared_ptr<ArrayReader> merged(std::size_t axes) const override {
    ArrayInfo info = info_;
    if (values_.deflated || !info.merge_axes(axes)) return nullptr;
    return std::make_shared<NpyArray>(std::move(info), header_, values_);
  }

 private:
  Result<DecodedPiece> plain(const Piece& piece, std::span<const std::byte> stored,
                             const DecodeScratch& scratch) const {
    const std::uint64_t bytes = piece.rows.count * row_bytes_;
    if (stored.size() != bytes)
      return Error(ErrorCode::kInternal, fmt::format("{} bytes given, {} needed", stored.size(), bytes));
    if (header_.type.swaps.empty()) return DecodedPiece{stored.data(), row_bytes_};
    HEADRACE_ASSIGN(const std::span<std::byte> out, room(scratch, bytes));
    std::memcpy(out.data(), stored.data(), stored.size());
    to_native(header_.type, out);
    return DecodedPiece{out.data(), row_bytes_};
  }

  Result<DecodedPiece> inflate(std::span<const std::byte> stored, const DecodeScratch& scratch) const {
    HEADRACE_ASSIGN(const std::span<std::byte> out, room(scratch, header_.header_bytes + header_.value_bytes));
    HEADRACE_TRY(inflate_raw(stored, out));
    if (const std::uint32_t crc = crc32_of(out); crc != values_.crc32)
      return Error(ErrorCode::kCorruptData,
                   fmt::format("the CRC-32 of the {} decoded bytes is {:08x}, the archive says "
                               "{:08x}",
                               out.size(), crc, values_.crc32));
    const std::span<std::byte> values = out.subspan(header_.header_bytes);
    to_native(header_.type, values);
    return DecodedPiece{values.data(), row_bytes_};
  }

  static Result<std::span<std::byte>> room(const DecodeScratch& scratch, std::uint64_t bytes) {
    if (scratch.out.size() < bytes)
      return Error(ErrorCode::kInternal, fmt::format("scratch of {} bytes, {} needed", scratch.out.size(), bytes));
    return scratch.out.first(bytes);
  }

  [[nodiscard]] Error placed(Error error) const {
    error.with_file(values_.file_name).with_field(info_.path);
    if (error.code() == ErrorCode::kCorruptData)
      error.with_stage("decode").with_hint(fmt::format("Run: headrace verify {}", values_.file_name));
    return error;
  }

  const ArrayInfo info_;
  const NpyHeader header_;
  const NpyValues values_;
  const std::size_t row_bytes_;
};

}  // namespace

ArrayInfo describe(const std::string& path, const NpyHeader& header, const NpyValues& values) {
  ArrayInfo info;
  info.path = path;
  info.shape = header.shape;
  info.record_bytes = header.type.record_bytes;
  info.columns = header.type.columns;
  info.is_record = header.type.is_record;
  info.left_out = header.type.left_out;
  info.stored_bytes = values.stored.size;
  if (values.deflated) {
    info.layout = Layout::kChunked;
    info.chunk_shape = info.shape;
    info.filters.push_back({"deflate", ""});
  }
  if (!header.type.refusal.empty()) {
    info.read_path = ReadPath::kUnsupported;
    info.reason = header.type.refusal;
    info.no_numbers = header.type.no_numbers;
  }
  return info;
}

std::shared_ptr<ArrayReader> open_npy_array(ArrayInfo info, NpyHeader header, NpyValues values) {
  return std::make_shared<NpyArray>(std::move(info), std::move(header), std::move(values));
}

}  // namespace headrace::npy
