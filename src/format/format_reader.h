// FormatReader: what a file format must offer. HDF5 is the first (format/hdf5); each format passes the same suite.
//
// A file has arrays; an array is read in pieces (an HDF5 chunk, or a run of rows where rows are addressable). locate()
// says which pieces hold some rows and where their stored bytes lie; the caller reads those bytes however it likes
// (merged, ahead of time) and decode() turns them into rows. Arrays of the slow path have no stored bytes to read:
// their decode() reads through the format's own library, one call at a time in the process.
#pragma once

#include <headrace/attribute.h>
#include <headrace/left_out.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/array_info.h"
#include "catalog/block.h"
#include "catalog/row_geometry.h"
#include "storage/file_range.h"

namespace headrace {

/// A part of an array that is decoded at once.
struct Piece {
  std::uint64_t id = 0;  ///< Chunk number in the array's grid (row-major); the first row where there are no chunks.
  RowRange rows;         ///< Real rows it holds, without padding past the array's end.
  /// Where its bytes lie, in a file that the ArrayReader keeps open; size 0: nothing to read (fill value, compact, slow
  /// path). Pieces of one array may lie in different files.
  FileRange stored;
  std::uint64_t decoded_bytes = 0;  ///< After all filters, padding included.
  std::uint32_t filter_mask = 0;
  std::uint32_t across = 0;    ///< Which chunk across the row, 0 for the first; geometry() depends on it.
  bool is_unreadable = false;  ///< There is a chunk, which cannot be read: decode() tells why.
};

/// Rows of an array that a piece has, and where they lie in it: see ArrayReader::runs().
struct PieceRun {
  std::uint64_t first = 0, count = 0;  ///< Rows of the array.
  std::uint64_t index = 0;             ///< Place of the first among the rows that decode() leaves, one stride apart.
};

/// Rows as decode() leaves them.
struct DecodedPiece {
  const std::byte* data = nullptr;  ///< First row. Lives in the scratch, in `stored`, or in the reader.
  std::size_t row_stride_bytes = 0;
};

/// Buffers of one thread, sized by ArrayReader::scratch_need().
struct DecodeScratch {
  std::span<std::byte> out, ping, pong;
};
struct ScratchNeed {
  std::uint64_t out_bytes = 0;     ///< Largest decoded piece.
  std::uint64_t filter_bytes = 0;  ///< Each of ping and pong.
};

/// A file that an array reads beside the one it is described in, as it was when the array was opened.
struct OutsideFile {
  std::string path;  ///< Canonical.
  FileFingerprint fingerprint;
};

/// The files that hold the chunks of an array.
struct ChunkFiles {
  std::uint64_t there = 0, bytes = 0;  ///< Those that were written.
  std::uint64_t all = 0;               ///< As many as the array's shape has.
};

/// One array of an open file.
/// Threads: all const members from any thread at once. Life time: keeps its file open.
class ArrayReader {
 public:
  virtual ~ArrayReader() = default;
  [[nodiscard]] virtual const ArrayInfo& info() const = 0;
  /// Append the pieces that hold `rows`, by ascending row, then across the row. Where rows are addressable one by one
  /// the piece is exactly `rows`; else the pieces are whole chunks and may hold rows before and after.
  /// The first call may read the file's chunk index (milliseconds). Errors: kCorruptData, kReadFailed.
  virtual Status locate(RowRange rows, std::vector<Piece>& out) const = 0;
  /// As locate(), without the pieces that hold fill values only, since nothing of them was ever written: costs what is
  /// stored, whatever the shape declares. \return How many were left out (contiguous space counts as one, at row 0).
  virtual Result<std::uint64_t> locate_written(RowRange rows, std::vector<Piece>& out) const {
    HEADRACE_TRY(locate(rows, out));
    return std::uint64_t{0};
  }
  /// Append the pieces of the chunks `cells` of the array's grid, one for each in the order given. Cells are numbered
  /// row-major over the whole grid, so Piece.id is that number; a cell that was never written is a piece without stored
  /// bytes. What is addressable row by row, and what only the format's own library reads, has no grid here.
  /// Errors: as locate(); kInvalidArgument for a cell outside the grid; kUnsupported where there is no grid.
  virtual Status locate_cells(std::span<const std::uint64_t> cells, std::vector<Piece>& out) const;
  /// Append the bytes that locate() and decode() read by themselves for `rows`, such as headers and dictionaries, as
  /// far as they are not in memory: where files answer late they are better read ahead. Blocks: never.
  virtual void list_beside(RowRange rows, std::vector<FileRange>& out) const { (void)rows, (void)out; }
  /// Decode a piece. \param stored  The bytes of piece.stored, in order.
  /// Errors: kCorruptData and the like with file, field, chunk, bytes and stage filled in.
  virtual Result<DecodedPiece> decode(const Piece& piece, std::span<const std::byte> stored,
                                      const DecodeScratch& scratch) const = 0;
  /// Return whether the stored bytes of a piece are its decoded ones, so that any part of them can be read by itself.
  [[nodiscard]] virtual bool is_plain(const Piece& /*piece*/) const { return false; }
  /// Return how one row of `column` lies in a piece. Depends on piece.across only; cache it. \param column  In
  /// info().columns.
  [[nodiscard]] virtual RowGeometry geometry(std::uint32_t across, std::size_t column) const = 0;
  /// Return the pieces across one row (1 where a chunk holds whole rows).
  [[nodiscard]] virtual std::uint32_t pieces_across() const = 0;
  /// Append which rows a piece has and where they lie, by ascending row. Nothing appended: all of piece.rows, one
  /// behind the other from DecodedPiece::data on. Where samples are cells of several axes, a chunk has some of the rows
  /// between the first and the last of piece.rows only. Where info().repeats is above 1, all rows of a run are the one
  /// at its index.
  virtual void runs(const Piece& piece, std::vector<PieceRun>& out) const { (void)piece, (void)out; }
  /// Return the array with NaN (floats) or 0 (all else) in the rows that have no value, which are an error without it;
  /// null: every row has one. Errors: as FormatReader::open_array().
  [[nodiscard]] virtual Result<std::shared_ptr<ArrayReader>> filled() const { return std::shared_ptr<ArrayReader>(); }
  /// Return how many elements each row of the file has, where the rows of this array are elements of lists, as
  /// info().list says: their sum is info().rows(). Null lists have 0 in arrays that are filled(). Empty: the rows are
  /// those of the file. Errors: kInvalidArgument  a row has no list, and the array is not filled().
  [[nodiscard]] virtual Result<std::vector<std::uint32_t>> list_lengths() const { return std::vector<std::uint32_t>(); }
  /// Count the files that chunks lie in, where each has one of its own, or one with some others: info().stored_bytes
  /// is 0 then, for nothing but the files says it. Nullopt: chunks lie in the file that describes them.
  /// Errors: kPermission, kReadFailed. Blocks: looks at every file.
  [[nodiscard]] virtual Result<std::optional<ChunkFiles>> chunk_files() const { return std::optional<ChunkFiles>(); }
  /// Return whether chunks lie in files of their own, which are opened one by one.
  [[nodiscard]] virtual bool has_chunk_files() const { return false; }
  /// Return how many rows decode() leaves one stride apart.
  [[nodiscard]] std::uint64_t decoded_rows(const Piece& piece) const;
  /// Return how `column` lies in one element, from its first byte in a decoded piece, dense.
  [[nodiscard]] virtual RowGeometry element_geometry(std::size_t column) const;
  /// Return the array with its first `axes` axes as one, [i][j] at i * size + j, if it can be read row by row like
  /// that; null: it cannot, see flatten(). \param axes  At least 2, at most as many as it has.
  [[nodiscard]] virtual std::shared_ptr<ArrayReader> merged(std::size_t /*axes*/) const { return nullptr; }
  /// Return the scratch for pieces of up to `max_rows` rows (only addressable arrays depend on it).
  [[nodiscard]] virtual ScratchNeed scratch_need(std::uint64_t max_rows) const = 0;
  /// Return the chunk coordinates of a piece for messages, for example "(12,0,0)"; "" where there are no chunks.
  [[nodiscard]] virtual std::string piece_name(const Piece& piece) const = 0;
  /// Return the pieces that decode() has read the slow way so far (see ReadPath::kFallback).
  [[nodiscard]] virtual std::uint64_t slow_pieces() const { return 0; }
  /// Check that the file which describes the array is the one that was opened. Readers of stored bytes ask the files
  /// that they lie in; this is for pieces that have none. Errors: kFileChanged.
  [[nodiscard]] virtual Status check_unchanged() const { return {}; }
  /// Return the other files that rows of this array come from (external raw files, sources of virtual datasets and
  /// theirs), each once, in the order of their first use: what is kept of the array is valid for these versions only.
  /// Empty where all of it lies in the file that was opened. Blocks: never.
  [[nodiscard]] virtual std::vector<OutsideFile> other_files() const { return {}; }
};

/// An open file. Opening reads metadata only.
class FormatReader {
 public:
  virtual ~FormatReader() = default;
  /// Return "HDF5 (superblock 0)" and the like, for inspect.
  [[nodiscard]] virtual std::string format_name() const = 0;
  [[nodiscard]] virtual const std::string& path() const = 0;
  /// Return every array with at least one dimension, sorted by path, also those that cannot be read (read_path says
  /// so).
  [[nodiscard]] virtual const std::vector<ArrayInfo>& arrays() const = 0;
  /// Return whether a '/' in the path of an array divides groups; false: it is part of a name.
  [[nodiscard]] virtual bool has_groups() const { return true; }
  /// Return what arrays() leaves out, sorted by path; the first hundred at most.
  [[nodiscard]] virtual const std::vector<LeftOut>& passed_over() const {
    static const std::vector<LeftOut> none;
    return none;
  }
  /// Return what the file says of itself as a whole: in HDF5, the attributes of its root group.
  [[nodiscard]] virtual const Attributes& attributes() const {
    static const Attributes none;
    return none;
  }
  /// Open an array for reading. \param path  As in arrays(), with or without a leading slash.
  /// In formats whose rows may have no value, "PATH.valid" is an array of bool too, if no other has that name: whether
  /// a row has one. Errors: kFieldMissing (lists what there is, nearest name first), kUnsupported.
  virtual Result<std::shared_ptr<ArrayReader>> open_array(const std::string& path) const = 0;
  /// Return what open_remembered() makes this reader of again, without reading the file, and the arrays `opened`; empty
  /// if it cannot, or if nothing new was learnt since it was made in that way.
  [[nodiscard]] virtual std::string facts(std::span<const std::shared_ptr<ArrayReader>> /*opened*/) const { return {}; }
  /// Return the file that was opened: its size, version and whether it changed. What an array stores may lie in others.
  [[nodiscard]] virtual const RandomAccessFile& file() const = 0;
};

/// Open a file by its content. Errors: as FileSystem::open(), plus kUnsupported for formats we do not read (named) and
/// kCorruptData for truncated or damaged files.
Result<std::shared_ptr<FormatReader>> open_file(const std::string& path);

/// Make the reader of a file that had `fingerprint` when FormatReader::facts() said `facts` of it. Nothing of the file
/// is read: it is opened when bytes of it are needed, and reading fails with kFileChanged if it is another one by then.
/// \return Null if the facts are of another version or make no sense: then open_file() it.
std::shared_ptr<FormatReader> open_remembered(const std::string& path, const FileFingerprint& fingerprint,
                                              std::string_view facts);

}  // namespace headrace
