#include "format/zarr/zarr_array.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/memory/fill_elements.h"
#include "format/zarr/chunk_files.h"
#include "format/zarr/to_c_order.h"
#include "storage/file_system.h"

namespace headrace::zarr {
namespace {

/// The grid of the files that chunks lie in.
ChunkGrid file_grid(const ArrayMetadata& metadata) {
  std::vector<std::uint64_t> extents = metadata.chunk_shape;
  if (metadata.shards)
    for (std::size_t d = 0; d < extents.size(); ++d) extents[d] *= metadata.shards->per_shard[d];
  return {metadata.shape, std::move(extents)};
}

}  // namespace

ArrayInfo describe(const std::string& path, const ArrayMetadata& metadata, const CodecChain& chain) {
  ArrayInfo info;
  info.path = path;
  info.shape = metadata.shape;
  info.record_bytes = metadata.type.record_bytes;
  info.columns = metadata.type.columns;
  info.is_record = metadata.type.is_record;
  info.left_out = metadata.type.left_out;
  info.layout = Layout::kChunked;
  info.chunk_shape = metadata.chunk_shape;
  for (const auto& codec : chain.codecs()) {
    // What the chain calls lz4_sized is "lz4" to people.
    const std::string name = codec->name() == "lz4_sized" ? "lz4" : std::string(codec->name());
    info.filters.push_back({name, codec->setting()});
  }
  if (!metadata.order.empty()) info.filters.insert(info.filters.begin(), {"transpose", ""});
  if (metadata.shards) info.filters.push_back({"sharding", ""});
  return info;
}

ZarrArray::ZarrArray(ArrayPlace place, ArrayMetadata metadata, ArrayInfo info, CodecChain chain)
    : place_(std::move(place)),
      metadata_(std::move(metadata)),
      info_(std::move(info)),
      chain_(std::move(chain)),
      grid_(metadata_.shape, metadata_.chunk_shape),
      files_(file_grid(metadata_)),
      chunk_bytes_(grid_.chunk_elements() * metadata_.type.record_bytes),
      seen_(files_.num_cells()) {}

Error ZarrArray::placed(Error error) const {
  error.with_file(place_.store).with_field(info_.path);
  if (error.code() == ErrorCode::kCorruptData) error.with_hint(fmt::format("Run: headrace verify {}", place_.store));
  return error;
}

Error ZarrArray::placed(Error error, const Piece& piece) const {
  error.with_chunk(piece_name(piece)).with_bytes(piece.stored.range);
  return placed(std::move(error));
}

std::string ZarrArray::piece_name(const Piece& piece) const {
  const std::vector<std::uint64_t> at = grid_.coordinates(piece.id);
  const std::string key = metadata_.keys.key(metadata_.place_of(at).file);
  return metadata_.shards ? fmt::format("({}) of shard {}", fmt::join(at, ","), key) : key;
}

std::string ZarrArray::path_of(const std::vector<std::uint64_t>& file) const {
  return place_.directory + "/" + metadata_.keys.key(file);
}

Result<std::shared_ptr<const Shard>> ZarrArray::shard_at(const std::string& path) const {
  if (auto known = shards_.find(path)) return known;
  HEADRACE_ASSIGN(const PathStatus status, FileSystem::of(path).status(path));
  if (status.kind == PathKind::kNothing) return std::shared_ptr<const Shard>();
  if (status.kind != PathKind::kFile)
    return Error(ErrorCode::kCorruptData, status.kind == PathKind::kDirectory
                                              ? "there is a directory in the place of a shard"
                                              : "the shard is a broken link, or no file");
  HEADRACE_ASSIGN(std::shared_ptr<const Shard> shard, open_shard(FileSystem::of(path).known(path, status.fingerprint),
                                                                 *metadata_.shards, metadata_.chunks_in_file()));
  shards_.add(path, shard);
  return shard;
}

/// Refuse a file that is not there any more: what was never there has the fill value.
Status ZarrArray::check_never_seen(const std::vector<std::uint64_t>& file) const {
  if (!seen_.contains(files_.number(file))) return {};
  return Error(ErrorCode::kFileChanged,
               fmt::format("the file of the {} was there before, and is gone", metadata_.shards ? "shard" : "chunk"))
      .with_hint("Put it back, or open the data set again to read fill values in its place.");
}

/// Fill in where a chunk lies; nothing if it was never written. What is wrong with one chunk is no reason to refuse
/// others: piece_at() marks it, and decode() tells.
Status ZarrArray::locate_file(const std::vector<std::uint64_t>& file, std::uint64_t in_file, Piece& piece) const {
  const std::string path = path_of(file);
  if (metadata_.shards) {
    HEADRACE_ASSIGN(const std::shared_ptr<const Shard> shard, shard_at(path));
    if (shard == nullptr) return check_never_seen(file);
    seen_.add(files_.number(file));
    if (shard->index.at(in_file).size == 0) return {};
    piece.stored = {shard->file, shard->index.at(in_file)};
  } else {
    HEADRACE_ASSIGN(const PathStatus status, FileSystem::of(path).status(path));
    if (status.kind == PathKind::kNothing) return check_never_seen(file);
    seen_.add(files_.number(file));
    if (status.kind != PathKind::kFile)
      return Error(ErrorCode::kCorruptData, status.kind == PathKind::kDirectory
                                                ? "there is a directory in the place of a chunk"
                                                : "the chunk is a broken link, or no file");
    if (status.fingerprint.size_bytes == 0) return Error(ErrorCode::kCorruptData, "the file of the chunk is empty");
    piece.stored = {std::shared_ptr<const RandomAccessFile>(FileSystem::of(path).known(path, status.fingerprint)),
                    {0, status.fingerprint.size_bytes}};
  }
  const std::uint64_t bytes = piece.stored.range.size;
  if (bytes > chain_.max_stored_bytes())
    return Error(ErrorCode::kCorruptData, fmt::format("{} stored bytes for a chunk of {}, at most {} can be", bytes,
                                                      chunk_bytes_, chain_.max_stored_bytes()));
  return {};
}

Result<Piece> ZarrArray::piece_at(std::uint64_t cell) const {
  Piece piece = grid_.piece(cell);
  piece.decoded_bytes = chunk_bytes_;
  const ArrayMetadata::ChunkPlace place = metadata_.place_of(grid_.coordinates(cell));
  const Status status = locate_file(place.file, place.in_file, piece);
  if (status.ok()) return piece;
  if (status.error().code() != ErrorCode::kCorruptData) return placed(Error(status.error()).with_stage("index"), piece);
  piece.stored = {};
  piece.is_unreadable = true;
  return piece;
}

Status ZarrArray::locate(RowRange rows, std::vector<Piece>& out) const {
  if (rows.first > info_.rows() || rows.count > info_.rows() - rows.first)
    return placed(Error(ErrorCode::kInvalidArgument,
                        fmt::format("{} rows from {} on of an array of {}", rows.count, rows.first, info_.rows())));
  if (rows.count == 0) return {};
  HEADRACE_TRY(check_unchanged());  // reading asks the files of chunks alone
  const ChunkGrid::Cells cells = grid_.cells_of(rows);
  for (std::uint64_t cell = cells.first; cell < cells.end; ++cell) {
    HEADRACE_ASSIGN(Piece piece, piece_at(cell));
    out.push_back(std::move(piece));
  }
  return {};
}

Status ZarrArray::locate_cells(std::span<const std::uint64_t> cells, std::vector<Piece>& out) const {
  HEADRACE_TRY(check_unchanged());
  for (const std::uint64_t cell : cells) {
    if (cell >= grid_.num_cells())
      return placed(
          Error(ErrorCode::kInvalidArgument, fmt::format("chunk {} of a grid of {}", cell, grid_.num_cells())));
    HEADRACE_ASSIGN(Piece piece, piece_at(cell));
    out.push_back(std::move(piece));
  }
  return {};
}

/// The files that are there, listed once.
Result<const std::vector<std::uint64_t>*> ZarrArray::written_files() const {
  const std::lock_guard lock(written_mutex_);
  if (!written_) {
    auto listed = list_chunk_files(place_.directory, metadata_.keys, grid_.rank());
    if (!listed.ok()) return placed(std::move(listed.error()));
    std::vector<std::uint64_t> numbers;
    for (const std::vector<std::uint64_t>& file : *listed)
      if (files_.contains(file)) numbers.push_back(files_.number(file));
    std::ranges::sort(numbers);
    written_ = std::move(numbers);
  }
  return &*written_;
}

Result<std::uint64_t> ZarrArray::locate_written(RowRange rows, std::vector<Piece>& out) const {
  std::vector<Piece> none;
  HEADRACE_TRY(locate({rows.first, 0}, none));
  if (rows.count == 0 || rows.end() > info_.rows()) return std::uint64_t{0};
  HEADRACE_ASSIGN(const std::vector<std::uint64_t>* const written, written_files());
  const ChunkGrid::Cells range = grid_.cells_of(rows);
  const ChunkGrid::Cells files = files_.cells_of(rows);
  std::vector<std::uint64_t> cells;
  for (auto at = std::ranges::lower_bound(*written, files.first); at != written->end() && *at < files.end; ++at)
    grid_.cells_inside(files_, *at, range, cells);
  std::ranges::sort(cells);
  std::uint64_t absent = range.end - range.first;
  for (const std::uint64_t cell : cells) {
    HEADRACE_ASSIGN(Piece piece, piece_at(cell));
    if (piece.stored.range.size == 0 && !piece.is_unreadable) continue;
    out.push_back(std::move(piece));
    --absent;
  }
  return absent;
}

Result<DecodedPiece> ZarrArray::decode(const Piece& piece, std::span<const std::byte> stored,
                                       const DecodeScratch& scratch) const {
  if (piece.is_unreadable) {
    Piece again = piece;
    const ArrayMetadata::ChunkPlace place = metadata_.place_of(grid_.coordinates(piece.id));
    Status status = locate_file(place.file, place.in_file, again);
    if (status.ok())
      status = Error(ErrorCode::kFileChanged, "the chunk could not be read when it was looked for, and can be now");
    return placed(std::move(status.error().with_stage("index")), piece);
  }
  auto decoded = decode_values(piece, stored, scratch);
  if (!decoded.ok()) return placed(std::move(decoded.error().with_stage("decode")), piece);
  return decoded;
}

Result<DecodedPiece> ZarrArray::decode_values(const Piece& piece, std::span<const std::byte> stored,
                                              const DecodeScratch& scratch) const {
  const auto row_stride = static_cast<std::size_t>(chunk_bytes_ / metadata_.chunk_shape[0]);
  if (stored.size() != piece.stored.range.size)
    return Error(ErrorCode::kInternal,
                 fmt::format("{} bytes given, {} needed", stored.size(), piece.stored.range.size));
  if (is_plain(piece)) return DecodedPiece{stored.data(), row_stride};
  if (scratch.out.size() < chunk_bytes_)
    return Error(ErrorCode::kInternal, fmt::format("scratch of {} bytes, {} needed", scratch.out.size(), chunk_bytes_));
  const std::span<std::byte> out = scratch.out.first(chunk_bytes_);
  if (stored.empty()) {
    fill_elements(metadata_.fill, metadata_.type.record_bytes, out);
    return DecodedPiece{out.data(), row_stride};
  }
  // What is stored in another order is decoded beside, at the end of one of the buffers.
  const bool moves = !metadata_.order.empty();
  const std::uint64_t beside = moves ? chunk_bytes_ : 0;
  if (scratch.pong.size() < beside)
    return Error(ErrorCode::kInternal, fmt::format("scratch of {} bytes, {} needed", scratch.pong.size(), beside));
  const std::span<std::byte> decoded = moves ? scratch.pong.last(beside) : out;
  HEADRACE_TRY(chain_.decode(stored, 0, decoded, {scratch.ping, scratch.pong.first(scratch.pong.size() - beside)}));
  npy::to_native(metadata_.type, decoded);
  if (moves) to_c_order(decoded, metadata_.chunk_shape, metadata_.order, metadata_.type.record_bytes, out);
  return DecodedPiece{out.data(), row_stride};
}

bool ZarrArray::is_plain(const Piece& piece) const {
  return chain_.empty() && metadata_.order.empty() && metadata_.type.swaps.empty() &&
         piece.stored.range.size == chunk_bytes_ && chunk_bytes_ > 0;
}

RowGeometry ZarrArray::geometry(std::uint32_t across, std::size_t column) const {
  return grid_.geometry(across, info_.record_bytes, element_geometry(column));
}

ScratchNeed ZarrArray::scratch_need(std::uint64_t) const {
  return {chunk_bytes_, chain_.scratch_bytes() + (metadata_.order.empty() ? 0 : chunk_bytes_)};
}

Status ZarrArray::check_unchanged() const {
  Status status = place_.metadata->check_unchanged();
  if (!status.ok()) return placed(std::move(status.error()));
  return {};
}

Result<std::optional<ChunkFiles>> ZarrArray::chunk_files() const {
  HEADRACE_ASSIGN(const std::vector<std::uint64_t>* const written, written_files());
  ChunkFiles files{written->size(), 0, files_.num_cells()};
  for (const std::uint64_t number : *written) {
    const std::string path = path_of(files_.coordinates(number));
    HEADRACE_ASSIGN(const PathStatus status, FileSystem::of(path).status(path));
    if (status.kind == PathKind::kFile) files.bytes += status.fingerprint.size_bytes;
  }
  return std::optional(files);
}

std::vector<OutsideFile> ZarrArray::other_files() const {
  std::vector<OutsideFile> files = chunk_directories(place_.directory, metadata_.keys, grid_.rank());
  files.push_back(
      {FileSystem::of(place_.metadata->name()).canonical(place_.metadata->name()), place_.metadata->fingerprint()});
  return files;
}

}  // namespace headrace::zarr
