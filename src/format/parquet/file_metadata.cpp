#include "format/parquet/file_metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "format/parquet/compact_reader.h"

namespace headrace::parquet {
namespace {

using Type = CompactType;
using Kind = Meaning::Kind;

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62;  // offsets and sizes add up without overflow
constexpr std::uint64_t kMostNodes = 1 << 20;
constexpr std::size_t kMostLevels = 100;
// Bytes of the leaves' paths for a byte of the footer. Where there are row groups the footer has each path once in
// each.
constexpr std::uint64_t kMostPathFactor = 8, kPathSlackBytes = 1 << 20;
// What describes a column once it is open, beside its path and the copies of that.
constexpr std::uint64_t kLeafBytes = 1024, kPathCopies = 3;

using Charge = std::function<void(std::uint64_t bytes)>;

Meaning::Unit read_unit(CompactReader& in) {
  constexpr std::array units{Meaning::Unit::kNone, Meaning::Unit::kMillis, Meaning::Unit::kMicros,
                             Meaning::Unit::kNanos};
  Meaning::Unit unit = Meaning::Unit::kNone;
  in.read_struct([&](int id, Type) {
    if (id >= 1 && id <= 3) unit = units[static_cast<std::size_t>(id)];
    return false;
  });
  return unit;
}

/// The member of the union LogicalType that has the number `id`.
Meaning read_logical(CompactReader& in, int id) {
  constexpr std::array kinds{Kind::kNone, Kind::kText, Kind::kMap,       Kind::kList,   Kind::kText,    Kind::kDecimal,
                             Kind::kDate, Kind::kTime, Kind::kTimestamp, Kind::kOther,  Kind::kInteger, Kind::kNull,
                             Kind::kText, Kind::kText, Kind::kUuid,      Kind::kFloat16};
  Meaning meaning;
  meaning.kind =
      id >= 1 && static_cast<std::size_t>(id) < kinds.size() ? kinds[static_cast<std::size_t>(id)] : Kind::kOther;
  int members = 0;  // that are there, of the two that each kind with members must have
  in.read_struct([&](int field, Type type) {
    members += field == 1 || field == 2 ? 1 : 0;
    switch (meaning.kind) {
      case Kind::kDecimal:
        if (field != 1) return false;
        meaning.scale = static_cast<std::int32_t>(in.integer(type));
        return true;
      case Kind::kInteger:
        if (field == 1)
          meaning.bits = static_cast<std::uint32_t>(in.count(type, 64));
        else if (field == 2)
          meaning.is_signed = in.boolean(type);
        return field == 1 || field == 2;
      case Kind::kTime:
      case Kind::kTimestamp:
        if (field == 1)
          meaning.utc = in.boolean(type);
        else if (field == 2 && type == Type::kStruct)
          meaning.unit = read_unit(in);
        return field == 1 || (field == 2 && type == Type::kStruct);
      default:
        return false;
    }
  });
  const bool has_members = meaning.kind == Kind::kDecimal || meaning.kind == Kind::kInteger ||
                           meaning.kind == Kind::kTime || meaning.kind == Kind::kTimestamp;
  if (has_members && members < 2) in.fail("a logical type without what it must say");
  return meaning;
}

/// The older ConvertedType.
Meaning converted_meaning(std::uint64_t number) {
  using Unit = Meaning::Unit;
  const auto integer = [](std::uint32_t bits, bool is_signed) {
    return Meaning{Kind::kInteger, bits, is_signed, 0, Unit::kNone, false};
  };
  switch (number) {
    case 0:
    case 4:
    case 19:
    case 20:
      return {Kind::kText, 0, true, 0, Unit::kNone, false};
    case 1:
    case 2:
      return {Kind::kMap, 0, true, 0, Unit::kNone, false};
    case 3:
      return {Kind::kList, 0, true, 0, Unit::kNone, false};
    case 5:
      return {Kind::kDecimal, 0, true, 0, Unit::kNone, false};
    case 6:
      return {Kind::kDate, 0, true, 0, Unit::kNone, false};
    case 7:
      return {Kind::kTime, 0, true, 0, Unit::kMillis, true};
    case 8:
      return {Kind::kTime, 0, true, 0, Unit::kMicros, true};
    case 9:
      return {Kind::kTimestamp, 0, true, 0, Unit::kMillis, true};
    case 10:
      return {Kind::kTimestamp, 0, true, 0, Unit::kMicros, true};
    case 11:
    case 12:
    case 13:
    case 14:
      return integer(8U << (number - 11), false);
    case 15:
    case 16:
    case 17:
    case 18:
      return integer(8U << (number - 15), true);
    case 21:
      return {Kind::kInterval, 0, true, 0, Unit::kNone, false};
    default:
      return {Kind::kOther, 0, true, 0, Unit::kNone, false};
  }
}

SchemaNode read_node(CompactReader& in) {
  SchemaNode node;
  node.is_group = true;  // until a physical type is read
  Meaning logical;
  std::int32_t scale = 0;
  in.read_struct([&](int id, Type type) {
    switch (id) {
      case 1:
        node.physical = static_cast<PhysicalType>(in.count(type, 7));
        node.is_group = false;
        return true;
      case 2:
        node.type_length = static_cast<std::uint32_t>(in.count(type, 1U << 30));
        return true;
      case 3:
        node.repetition = static_cast<Repetition>(in.count(type, 2));
        return true;
      case 4:
        node.name = in.binary(type);
        return true;
      case 5:
        node.children = static_cast<std::uint32_t>(in.count(type, kMostNodes));
        return true;
      case 6:
        node.meaning = converted_meaning(in.count(type, 1000));
        return true;
      case 7:
        scale = static_cast<std::int32_t>(in.integer(type));
        return true;
      case 10:
        if (type != Type::kStruct) return false;
        in.read_struct([&](int member, Type member_type) {
          if (member_type != Type::kStruct) return false;
          logical = read_logical(in, member);
          return true;
        });
        return true;
      default:
        return false;
    }
  });
  node.meaning.scale = scale;
  if (logical.kind != Kind::kNone) node.meaning = logical;
  return node;
}

/// Statistics: nothing but the number of nulls.
std::int64_t read_nulls(CompactReader& in) {
  std::int64_t nulls = -1;
  in.read_struct([&](int id, Type type) {
    if (id == 3) nulls = in.integer(type);
    return id == 3;
  });
  return nulls;
}

void read_column_metadata(CompactReader& in, ColumnChunk& chunk) {
  in.read_struct([&](int id, Type type) {
    switch (id) {
      case 1:
        chunk.physical = static_cast<PhysicalType>(in.count(type, 7));
        return true;
      case 2:
        in.read_list(type, Type::kI32, [&](std::size_t) { chunk.encodings |= 1U << in.count(Type::kI32, 31); });
        return true;
      case 4:
        chunk.codec = static_cast<std::uint32_t>(in.count(type, 255));
        return true;
      case 5:
        chunk.num_values = in.count(type, kMostBytes);
        return true;
      case 6:
        chunk.decoded_bytes = in.count(type, kMostBytes);
        return true;
      case 7:
        chunk.stored_bytes = in.count(type, kMostBytes);
        return true;
      case 9:
        chunk.data_page_offset = in.count(type, kMostBytes);
        return true;
      case 11:
        chunk.dictionary_offset = in.count(type, kMostBytes);
        return true;
      case 12:
        chunk.nulls = read_nulls(in);
        return true;
      default:
        return false;
    }
  });
}

ColumnChunk read_chunk(CompactReader& in) {
  ColumnChunk chunk;
  bool described = false;
  in.read_struct([&](int id, Type type) {
    switch (id) {
      case 1:
        chunk.other_file = in.binary(type);
        return true;
      case 3:
        if (type != Type::kStruct) return false;
        read_column_metadata(in, chunk);
        described = true;
        return true;
      case 8:
        chunk.encrypted = true;
        return false;
      default:
        return false;
    }
  });
  if (!described && !chunk.encrypted) in.fail("a column without a description");
  return chunk;
}

/// \param charge  What is called with the bytes that the group will take, before it has them.
RowGroup read_row_group(CompactReader& in, std::size_t num_leaves, const Charge& charge) {
  RowGroup group;
  in.read_struct([&](int id, Type type) {
    if (id == 1)
      in.read_list(type, Type::kStruct, [&](std::size_t i) {
        if (i == 0) charge(num_leaves * sizeof(ColumnChunk));
        if (!in.ok()) return;
        if (i == 0) group.columns.reserve(num_leaves);
        if (i >= num_leaves)
          return in.fail(fmt::format("a row group with more than the schema's {} columns", num_leaves));
        group.columns.push_back(read_chunk(in));
      });
    else if (id == 3)
      group.num_rows = in.count(type, kMostBytes);
    return id == 1 || id == 3;
  });
  if (in.ok() && group.columns.size() != num_leaves)
    in.fail(fmt::format("a row group of {} columns, where the schema has {}", group.columns.size(), num_leaves));
  return group;
}

/// The tree must have as many nodes as it says. \param most_path_bytes  Of all leaves: a long name of a group is in the
/// path of each leaf below, so that a small footer could ask for memory by the square of its size.
Status check_tree(const std::vector<SchemaNode>& schema, std::uint64_t most_path_bytes, std::size_t& leaves,
                  std::uint64_t& path_bytes) {
  if (schema.empty() || !schema[0].is_group) return Error(ErrorCode::kCorruptData, "its schema has no root");
  std::vector<std::uint32_t> open{1};   // nodes that are still to come, for each level
  std::vector<std::uint64_t> paths{0};  // and bytes of the path down to it
  for (const SchemaNode& node : schema) {
    while (!open.empty() && open.back() == 0) open.pop_back(), paths.pop_back();
    if (open.empty()) return Error(ErrorCode::kCorruptData, "its schema has nodes below no group");
    --open.back();
    if (!node.is_group && node.children != 0)
      return Error(ErrorCode::kCorruptData, fmt::format("column '{}' of its schema has children", node.name));
    if (open.size() > kMostLevels)
      return Error(ErrorCode::kCorruptData, fmt::format("its schema is nested deeper than {} levels", kMostLevels));
    const std::uint64_t path = open.size() == 1 ? 0 : paths.back() + 1 + node.name.size();
    if (node.is_group) {
      open.push_back(node.children);
      paths.push_back(path);
      continue;
    }
    ++leaves;
    path_bytes += path;
    if (path_bytes > most_path_bytes)
      return Error(ErrorCode::kCorruptData, "its schema has long names that far too many columns repeat");
  }
  if (std::ranges::any_of(open, [](std::uint32_t nodes) { return nodes > 0; }))
    return Error(ErrorCode::kCorruptData, "its schema ends before all the nodes that it announces");
  return {};
}

/// Columns of row groups may be anywhere, but not in each other. Some writers store equal ones once.
Status check_places(const FileMetadata& file) {
  std::vector<ByteRange> places;
  for (const RowGroup& group : file.row_groups)
    for (const ColumnChunk& chunk : group.columns)
      if (chunk.stored_bytes > 0 && !chunk.encrypted && chunk.other_file.empty())
        places.push_back({chunk.begin(), chunk.stored_bytes});
  std::ranges::sort(places, {}, [](const ByteRange& place) { return std::pair(place.offset, place.size); });
  for (std::size_t i = 1; i < places.size(); ++i)
    if (places[i].offset < places[i - 1].end() && places[i] != places[i - 1])
      return Error(
          ErrorCode::kCorruptData,
          fmt::format("the footer is damaged: a column of {} bytes from {} on lies in another, of {} from {} on",
                      places[i].size, places[i].offset, places[i - 1].size, places[i - 1].offset));
  return {};
}

}  // namespace

Result<FileMetadata> parse_file_metadata(std::span<const std::byte> bytes) {
  CompactReader in(bytes);
  FileMetadata file;
  Status tree, memory;
  const Charge charge = [&](std::uint64_t more) {
    if (memory = file.memory.add(more); !memory.ok()) in.fail("there is no memory for it");
  };
  bool has_schema = false;
  in.read_struct([&](int id, Type type) {
    switch (id) {
      case 2:
        if (has_schema) in.fail("a second schema");
        in.read_list(type, Type::kStruct, [&](std::size_t) {
          file.schema.push_back(read_node(in));
          charge(sizeof(SchemaNode) + file.schema.back().name.size());
        });
        if (in.ok()) {
          std::uint64_t path_bytes = 0;
          tree = check_tree(file.schema, bytes.size() * kMostPathFactor + kPathSlackBytes, file.num_leaves, path_bytes);
          charge(file.num_leaves * kLeafBytes + kPathCopies * path_bytes);
        }
        if (!tree.ok()) in.fail(tree.error().message());
        has_schema = true;
        return true;
      case 3:
        file.num_rows = in.count(type, kMostBytes);
        return true;
      case 4:
        if (!has_schema) in.fail("row groups before the schema");
        in.read_list(type, Type::kStruct,
                     [&](std::size_t) { file.row_groups.push_back(read_row_group(in, file.num_leaves, charge)); });
        return true;
      case 6:
        file.created_by = in.binary(type);
        return true;
      case 8:
        file.encrypted = true;
        return false;
      default:
        return false;
    }
  });
  if (!memory.ok()) return std::move(memory.error());
  if (!in.ok()) return Error(ErrorCode::kCorruptData, "the footer is damaged: " + in.error());
  if (!has_schema) return Error(ErrorCode::kCorruptData, "the footer is damaged: it has no schema");
  HEADRACE_TRY(check_places(file));
  std::uint64_t rows = 0;
  for (const RowGroup& group : file.row_groups)
    if (__builtin_add_overflow(rows, group.num_rows, &rows)) rows = ~std::uint64_t{0};
  if (rows != file.num_rows)
    return Error(
        ErrorCode::kCorruptData,
        fmt::format("the footer is damaged: it says {} rows, and its row groups have {}", file.num_rows, rows));
  return file;
}

std::string codec_name(std::uint32_t codec) {
  constexpr std::array names{"UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW"};
  return codec < names.size() ? names[codec] : fmt::format("codec {}", codec);
}

std::string physical_name(PhysicalType type) {
  constexpr std::array names{"BOOLEAN", "INT32",  "INT64",      "INT96",
                             "FLOAT",   "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"};
  return names[static_cast<std::size_t>(type)];
}

std::string encoding_name(std::uint32_t encoding) {
  constexpr std::array names{"PLAIN",          "encoding 1",          "PLAIN_DICTIONARY",        "RLE",
                             "BIT_PACKED",     "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY",
                             "RLE_DICTIONARY", "BYTE_STREAM_SPLIT"};
  return encoding < names.size() ? names[encoding] : fmt::format("encoding {}", encoding);
}

}  // namespace headrace::parquet
