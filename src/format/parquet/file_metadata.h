// What the footer of a Parquet file says: its schema, its row groups and where their columns lie. No I/O here.
//
// Source: parquet.thrift of apache/parquet-format (FileMetaData, RowGroup, ColumnChunk, SchemaElement).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/memory/unplanned_memory.h"
#include "base/result.h"

namespace headrace::parquet {

enum class PhysicalType : std::uint8_t {
  kBoolean = 0,
  kInt32 = 1,
  kInt64 = 2,
  kInt96 = 3,
  kFloat = 4,
  kDouble = 5,
  kByteArray = 6,
  kFixedLenByteArray = 7
};
enum class Repetition : std::uint8_t { kRequired = 0, kOptional = 1, kRepeated = 2 };

/// What a column's values mean beside their physical type: the logical type, or the older converted type.
struct Meaning {
  enum class Kind : std::uint8_t {
    kNone,
    kText,  ///< Strings, enums, JSON, BSON.
    kInteger,
    kDecimal,
    kDate,
    kTime,
    kTimestamp,
    kFloat16,
    kUuid,
    kInterval,
    kMap,
    kList,
    kNull,  ///< A column in which nothing but nulls can be.
    kOther,
  };
  enum class Unit : std::uint8_t { kNone, kMillis, kMicros, kNanos };
  Kind kind = Kind::kNone;
  std::uint32_t bits = 0;  ///< kInteger.
  bool is_signed = true;   ///< kInteger.
  std::int32_t scale = 0;  ///< kDecimal: digits behind the point.
  Unit unit = Unit::kNone;
  bool utc = false;  ///< kTime, kTimestamp: in UTC rather than in a local time that is not said.
};

/// A node of the schema tree, which is stored in depth-first order.
struct SchemaNode {
  std::string name;
  bool is_group = false;
  PhysicalType physical = PhysicalType::kInt32;
  std::uint32_t type_length = 0;  ///< Bytes a value of kFixedLenByteArray.
  Repetition repetition = Repetition::kRequired;
  std::uint32_t children = 0;
  Meaning meaning;
};

/// A column of a row group.
struct ColumnChunk {
  PhysicalType physical = PhysicalType::kInt32;
  std::uint32_t codec = 0;      ///< As parquet.thrift numbers them.
  std::uint32_t encodings = 0;  ///< Bit i: encoding i of parquet.thrift is used.
  std::uint64_t num_values = 0;
  std::uint64_t decoded_bytes = 0, stored_bytes = 0;  ///< All its pages, with their headers.
  std::uint64_t data_page_offset = 0;
  std::uint64_t dictionary_offset = 0;  ///< 0: none.
  std::int64_t nulls = -1;              ///< -1: not said.
  bool encrypted = false;
  std::string other_file;  ///< Where its bytes are in another file; empty: in this one.

  /// Return where its first page is. Some writers give a dictionary's offset of 0, or one behind the data, where there
  /// is none.
  [[nodiscard]] std::uint64_t begin() const {
    return dictionary_offset > 0 && dictionary_offset < data_page_offset ? dictionary_offset : data_page_offset;
  }
};

struct RowGroup {
  std::uint64_t num_rows = 0;
  std::vector<ColumnChunk> columns;  ///< One for each leaf of the schema, in its order.
};

struct FileMetadata {
  /// What it and the descriptions of its columns take. A few bytes of a footer may announce thousands; an ordinary one
  /// takes less than what is free, and no part of a budget.
  GrowingReservation memory{MemoryTag::kIndex, std::uint64_t{256} << 10};
  std::vector<SchemaNode> schema;  ///< The root first.
  std::size_t num_leaves = 0;
  std::uint64_t num_rows = 0;
  std::vector<RowGroup> row_groups;
  std::string created_by;
  bool encrypted = false;  ///< Its footer is plain, but some of its columns are encrypted.
};

/// Read the footer's structure. Errors: kCorruptData  it is damaged or contradicts itself, such as by columns that lie
/// in each other; kOutOfBudget.
Result<FileMetadata> parse_file_metadata(std::span<const std::byte> bytes);

/// Return the name of a compression that the footer has the number of: "SNAPPY"; "codec 9" if it is not known.
std::string codec_name(std::uint32_t codec);
/// Return the name of a physical type: "INT64".
std::string physical_name(PhysicalType type);
/// Return the name of an encoding: "PLAIN".
std::string encoding_name(std::uint32_t encoding);

}  // namespace headrace::parquet
