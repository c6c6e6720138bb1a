#include "format/parquet/pages/page_header.h"

#include "codec/coded_bytes.h"
#include "format/parquet/compact_reader.h"

namespace headrace::parquet {
namespace {

using Type = CompactType;

constexpr std::uint64_t kMost32 = 0x7fffffff;

/// All numbers of a page header are i32: one of another type says that its bytes are something else.
std::uint64_t count32(CompactReader& in, Type type, std::uint64_t most = kMost32) {
  if (type != Type::kI32) in.fail("a number of another type than its specification says");
  return in.count(type, most);
}

Encoding read_encoding(CompactReader& in, Type type) {
  return static_cast<Encoding>(count32(in, type, 255));
}

/// The part of a data page of the first version, or of a dictionary, which has the first two fields only.
void read_data_header(CompactReader& in, PageHeader& header, bool levels) {
  in.read_struct([&](int id, Type type) {
    switch (id) {
      case 1:
        header.num_values = count32(in, type);
        return true;
      case 2:
        header.encoding = read_encoding(in, type);
        return true;
      case 3:
        if (levels) header.definition_encoding = read_encoding(in, type);
        return levels;
      case 4:
        if (levels) header.repetition_encoding = read_encoding(in, type);
        return levels;
      default:
        return false;
    }
  });
}

void read_data_header_v2(CompactReader& in, PageHeader& header) {
  in.read_struct([&](int id, Type type) {
    switch (id) {
      case 1:
        header.num_values = count32(in, type);
        return true;
      case 2:
        header.num_nulls = count32(in, type);
        return true;
      case 3:
        header.num_rows = count32(in, type);
        return true;
      case 4:
        header.encoding = read_encoding(in, type);
        return true;
      case 5:
        header.definition_bytes = count32(in, type);
        return true;
      case 6:
        header.repetition_bytes = count32(in, type);
        return true;
      case 7:
        header.is_compressed = in.boolean(type);
        return true;
      default:
        return false;
    }
  });
}

}  // namespace

Result<std::optional<PageHeader>> parse_page_header(std::span<const std::byte> bytes) {
  CompactReader in(bytes);
  PageHeader header;
  bool described = false;
  std::uint32_t required = 0;  // a bit each of the fields 1 to 3, without which zeros would be a page
  in.read_struct([&](int id, Type type) {
    if (id >= 5 && id <= 8 && type != Type::kStruct) in.fail("a page header without its kind's part");
    if (id >= 1 && id <= 3) required |= 1U << id;
    switch (id) {
      case 1:
        header.kind = static_cast<PageKind>(count32(in, type, 255));
        return true;
      case 2:
        header.decoded_bytes = count32(in, type);
        return true;
      case 3:
        header.stored_bytes = count32(in, type);
        return true;
      case 4:
        header.crc32 = static_cast<std::uint32_t>(in.integer(type));
        return true;
      case 5:
      case 7:
        read_data_header(in, header, id == 5);
        described = described || header.kind == (id == 5 ? PageKind::kData : PageKind::kDictionary);
        return true;
      case 8:
        read_data_header_v2(in, header);
        described = described || header.kind == PageKind::kDataV2;
        return true;
      default:
        return false;
    }
  });
  if (in.ended_early()) return std::optional<PageHeader>();
  if (!in.ok()) return corrupt("a page header is damaged: " + in.error());
  if (required != 0b1110) return corrupt("a page header without the kind or the size of its page");
  if (!described && (header.is_data() || header.kind == PageKind::kDictionary))
    return corrupt("a page header does not describe its page");
  if (header.kind == PageKind::kDataV2 && (header.definition_bytes + header.repetition_bytes > header.stored_bytes ||
                                           header.definition_bytes + header.repetition_bytes > header.decoded_bytes ||
                                           header.num_nulls > header.num_values))
    return corrupt("a page header contradicts itself");
  if (header.kind != PageKind::kDataV2) header.definition_bytes = header.repetition_bytes = 0;  // another kind's part
  header.header_bytes = in.position();
  return std::optional<PageHeader>(header);
}

}  // namespace headrace::parquet
