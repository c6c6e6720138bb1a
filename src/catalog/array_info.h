// What a file says of one array: shape, type, how it is laid out, and which path will read it. No I/O here.
#pragma once

#include <headrace/attribute.h>
#include <headrace/dtype.h>
#include <headrace/left_out.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace {

/// One member of a record (compound) type, or the whole element for a plain array.
struct Column {
  std::string name;  ///< Member path, "" for a plain array, "pos.x" for nested members.
  DType dtype;
  std::vector<std::uint64_t> inner_shape;  ///< Array members: dimensions inside the element.
  std::uint64_t offset = 0;                ///< Bytes from the start of the record.
};

/// How the bytes of an array come off the disk.
enum class ReadPath : std::uint8_t {
  kNative,       ///< Read by offset and decoded by us, on every thread.
  kConverted,    ///< As kNative, and then the format's own library converts the numbers, one thread at a time.
  kFallback,     ///< Read by the format's own library, one call at a time in the process.
  kUnsupported,  ///< Refused.
};

enum class Layout : std::uint8_t {
  kContiguous,  ///< Row after row in one run of bytes.
  kChunked,     ///< In chunks of a grid, each encoded for itself.
  kCompact,     ///< Inside the file's metadata.
  kVirtual,     ///< Put together of other arrays' rows.
  kExternal,    ///< In raw files beside the one that describes it.
};

/// One step of the filter pipeline, as stored.
struct FilterInfo {
  std::string name;     ///< For example "deflate".
  std::string setting;  ///< For people: "4" for gzip-4, "zstd-3 + shuffle" for Blosc.
};

/// What a file says an axis of an array is.
struct NamedAxis {
  std::string name;  ///< As it is written: "z".
  std::string kind;  ///< "space", "time" or "channel"; empty: not said.
};
/// Return "z, y, x".
std::string names_text(const std::vector<NamedAxis>& axes);

/// Where the voxels of an array lie in the world.
struct Voxel {
  std::vector<double> size;        ///< Along each axis.
  std::vector<double> origin;      ///< Centre of the first.
  std::vector<std::string> units;  ///< Unit of both along each axis: "nanometer"; may be empty.
  /// Return the unit of all axes that have one; empty where none has, or they differ.
  [[nodiscard]] std::string unit() const;
  /// Return "8 x 8 x 8 nanometer", or "40 pixel x 8 nanometer x 8 nanometer".
  [[nodiscard]] std::string text() const;
};

/// An array of a file whose first axis is rows.
struct ArrayInfo {
  std::string path;                  ///< Inside the file, without a leading slash.
  std::vector<std::uint64_t> shape;  ///< Whole array; shape[0] is rows. Never empty.
  /// Where a row of the file has a list, and the rows of this array are the elements of all lists: the name of that
  /// list, by which arrays whose lists have equal lengths are found. FormatReader::arrays() may then give too many
  /// rows, since nothing but the levels says how many there are. Empty: a row is a row of the file.
  std::string list;
  std::uint64_t record_bytes = 0;  ///< Stored bytes an element (a whole record for compounds).
  std::vector<Column> columns;     ///< One for a plain array; one per leaf member of a compound.
  bool is_record = false;
  Layout layout = Layout::kContiguous;
  std::vector<std::uint64_t> chunk_shape;  ///< Empty unless chunked; same rank as shape.
  /// Where chunks differ in rows (row groups): rows up to the end of each; chunk_shape[0] is then the most of one.
  /// Empty: all have chunk_shape[0], but for the last.
  std::vector<std::uint64_t> chunk_ends;
  /// Where chunks are decoded in parts: rows that a part usually has. locate() then gives the rows asked for and no
  /// others, and cuts between parts cost least. 0: chunks are decoded whole.
  std::uint64_t page_rows = 0;
  bool nullable = false;            ///< Rows may have no value, as far as the format goes.
  bool is_filled = false;           ///< Rows without a value are filled: ArrayReader::filled().
  bool has_checksums = false;       ///< Where chunks are decoded in parts: these have checksums.
  std::vector<FilterInfo> filters;  ///< In the order they were applied when writing.
  std::uint64_t stored_bytes = 0;   ///< Bytes on disk, as far as the file's metadata says.
  /// Rows that have the same stored bytes, one after the other: a value a recording, which each of its segments has.
  std::uint64_t repeats = 1;
  ReadPath read_path = ReadPath::kNative;
  std::string library;  ///< Unless kNative: which library converts or reads it: "libhdf5".
  std::string reason;   ///< Why not kNative; empty for kNative.
  /// With kUnsupported: its elements are of a kind that is known, and are no numbers (text, references, lists of
  /// lists).
  bool no_numbers = false;
  std::vector<LeftOut> left_out;      ///< Members of its records that are no columns, by name, and why.
  std::string notice;                 ///< What its reader should know of it; empty: nothing.
  Attributes attributes;              ///< What the file says of it.
  std::vector<NamedAxis> named_axes;  ///< One for each axis of `shape`, where that is said; else empty.
  std::optional<Voxel> voxel;         ///< Where that is said.

  [[nodiscard]] std::uint64_t rows() const { return shape.empty() ? 0 : shape[0]; }
  /// Return the stored-form bytes a row after decoding (all columns).
  [[nodiscard]] std::uint64_t row_record_bytes() const;
  /// Return the same of what is stored and decoded, at least 1 where a row has bytes: see `repeats`.
  [[nodiscard]] std::uint64_t distinct_row_bytes() const {
    return repeats == 1 ? row_record_bytes() : (row_record_bytes() + repeats - 1) / repeats;
  }
  /// Return the rows that must be decoded together: the chunk's rows, 1 where rows are addressable one by one.
  [[nodiscard]] std::uint64_t chunk_rows() const { return chunk_shape.empty() ? 1 : chunk_shape[0]; }
  /// Return the rows that are decoded for a single one.
  [[nodiscard]] std::uint64_t rows_for_one() const { return page_rows > 0 ? page_rows : chunk_rows(); }
  /// Let the first `axes` axes be one. Errors (false): it would have more than 2^64 rows.
  bool merge_axes(std::size_t axes);
  /// Return "native", "converted", the library's name, or "refused".
  [[nodiscard]] std::string read_path_name() const;
  /// Return "gzip-4 + shuffle", "none", in words a user knows.
  [[nodiscard]] std::string codec_text() const;
};

/// Return true if more threads do not read the array faster, because a library does part of the work, one call at a
/// time.
[[nodiscard]] inline bool is_slow(const ArrayInfo& array) {
  return array.read_path == ReadPath::kConverted || array.read_path == ReadPath::kFallback;
}

/// Return true if there is anything to decode in the array.
[[nodiscard]] inline bool is_decoded(const ArrayInfo& array) {
  return !array.filters.empty() || array.read_path != ReadPath::kNative;
}

}  // namespace headrace
