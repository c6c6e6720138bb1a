#include "format/testing/skeleton_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/text/nearest_name.h"
#include "codec/elements/byteswap.h"

namespace headrace::skeleton {
namespace {

constexpr std::string_view kMagic = "SKELETON";
constexpr std::uint64_t kHeaderBytes = 24;
constexpr std::uint64_t kValueBytes = 4;
constexpr const char* kArrayName = "values";

std::uint64_t big_endian(std::span<const std::byte> bytes) {
  std::uint64_t number = 0;
  for (const std::byte byte : bytes) number = number << 8 | std::to_integer<std::uint64_t>(byte);
  return number;
}

/// What the array is, as the header says it; nothing of it is believed before it was compared with the file's size.
Result<ArrayInfo> read_header(const RandomAccessFile& file) {
  if (file.size() < kHeaderBytes)
    return Error(ErrorCode::kCorruptData,
                 fmt::format("the file has {} bytes, its header alone {}", file.size(), kHeaderBytes));
  std::vector<std::byte> header(kHeaderBytes);
  HEADRACE_TRY(file.read_at(0, header));
  if (!is_skeleton(header)) return Error(ErrorCode::kCorruptData, "the file does not begin with SKELETON");
  const std::uint64_t rows = big_endian(std::span(header).subspan(8, 8));
  const std::uint64_t width = big_endian(std::span(header).subspan(16, 8));
  std::uint64_t row_bytes = 0, value_bytes = 0;
  if (width == 0) return Error(ErrorCode::kUnsupported, "its rows have no values");
  if (__builtin_mul_overflow(width, kValueBytes, &row_bytes) || __builtin_mul_overflow(rows, row_bytes, &value_bytes) ||
      value_bytes != file.size() - kHeaderBytes)
    return Error(ErrorCode::kCorruptData, fmt::format("{} bytes follow the header, which says {} rows of {} values",
                                                      file.size() - kHeaderBytes, rows, width));
  ArrayInfo info;
  info.path = kArrayName;
  info.shape = {rows, width};
  info.record_bytes = kValueBytes;
  info.columns = {{"", {DType::Kind::kFloat, kValueBytes}, {}, 0}};
  info.stored_bytes = value_bytes;
  return info;
}

class SkeletonArray final : public ArrayReader {
 public:
  SkeletonArray(ArrayInfo info, std::shared_ptr<const RandomAccessFile> file, std::string file_name)
      : info_(std::move(info)),
        file_(std::move(file)),
        file_name_(std::move(file_name)),
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
    piece.id = rows.first;
    piece.rows = rows;
    piece.stored = {file_.get(), {kHeaderBytes + rows.first * row_bytes_, rows.count * row_bytes_}};
    piece.decoded_bytes = rows.count * row_bytes_;
    out.push_back(piece);
    return {};
  }

  Result<DecodedPiece> decode(const Piece& piece, std::span<const std::byte> stored,
                              const DecodeScratch& scratch) const override {
    const std::uint64_t bytes = piece.rows.count * row_bytes_;
    if (stored.size() != bytes || scratch.out.size() < bytes)
      return placed(Error(ErrorCode::kInternal, fmt::format("{} stored bytes and scratch of {} given, {} needed",
                                                            stored.size(), scratch.out.size(), bytes)));
    std::memcpy(scratch.out.data(), stored.data(), bytes);
    swap_bytes(scratch.out.first(bytes), kValueBytes);
    return DecodedPiece{scratch.out.data(), row_bytes_};
  }

  [[nodiscard]] RowGeometry geometry(std::uint32_t, std::size_t column) const override {
    const std::vector<std::uint64_t> row_shape(info_.shape.begin() + 1, info_.shape.end());
    const std::vector<std::uint64_t> zeros(row_shape.size(), 0);
    const Column& c = info_.columns[column];
    return row_box(row_shape, row_shape, zeros, zeros, row_shape, info_.record_bytes, c.offset, c.dtype.itemsize);
  }

  [[nodiscard]] ScratchNeed scratch_need(std::uint64_t max_rows) const override {
    return {std::min(max_rows, info_.rows()) * row_bytes_, 0};
  }

 private:
  [[nodiscard]] Error placed(Error error) const {
    return std::move(error.with_file(file_name_).with_field(info_.path).with_stage("decode"));
  }

  const ArrayInfo info_;
  const std::shared_ptr<const RandomAccessFile> file_;
  const std::string file_name_;
  const std::size_t row_bytes_;
};

class SkeletonReader final : public FormatReader {
 public:
  SkeletonReader(ArrayInfo info, std::shared_ptr<RandomAccessFile> file, std::string path)
      : arrays_{std::move(info)}, file_(std::move(file)), path_(std::move(path)) {}

  [[nodiscard]] std::string format_name() const override { return "Skeleton"; }
  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] const std::vector<ArrayInfo>& arrays() const override { return arrays_; }
  [[nodiscard]] const RandomAccessFile& file() const override { return *file_; }

  Result<std::shared_ptr<ArrayReader>> open_array(const std::string& asked) const override {
    const std::string name = asked.substr(std::min(asked.find_first_not_of('/'), asked.size()));
    for (const ArrayInfo& info : arrays_)
      if (info.path == name) return std::shared_ptr<ArrayReader>(std::make_shared<SkeletonArray>(info, file_, path_));
    std::vector<std::string> names;
    for (const ArrayInfo& info : arrays_) names.push_back(info.path);
    return Error(ErrorCode::kFieldMissing, fmt::format("the file has no array '{}'", name))
        .with_file(path_)
        .with_field(name)
        .with_hint("It has: " + list_names(nearest_names(name, names)) + ".");
  }

 private:
  const std::vector<ArrayInfo> arrays_;
  const std::shared_ptr<RandomAccessFile> file_;
  const std::string path_;
};

}  // namespace

bool is_skeleton(std::span<const std::byte> head) {
  return head.size() >= kMagic.size() && std::memcmp(head.data(), kMagic.data(), kMagic.size()) == 0;
}

Result<std::shared_ptr<FormatReader>> open_skeleton(std::shared_ptr<RandomAccessFile> file, const std::string& path) {
  HEADRACE_ASSIGN(ArrayInfo info, read_header(*file));
  return std::shared_ptr<FormatReader>(std::make_shared<SkeletonReader>(std::move(info), std::move(file), path));
}

}  // namespace headrace::skeleton
