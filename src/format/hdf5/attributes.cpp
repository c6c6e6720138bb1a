#include "format/hdf5/attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "format/hdf5/structure/attribute_message.h"
#include "format/hdf5/structure/fractal_heap.h"
#include "format/hdf5/structure/tree2.h"

namespace headrace::hdf5 {
namespace {

constexpr std::uint64_t kEntriesLimit = 1024, kTextLimitBytes = 64 << 10;
constexpr std::size_t kLookedAtLimit = 1000;          // attributes of an object: 65,000 fit one
constexpr std::uint64_t kDenseLimitBytes = 16 << 20;  // of one object's attributes outside its header
constexpr const char* kBareDimension = "This is a netCDF dimension but not a netCDF variable.";

/// Head of a datatype message: class, class bits, bytes.
struct TypeHead {
  std::uint64_t kind = 0, bits = 0, size = 0;
};

TypeHead type_head(ByteCursor& fields) {
  TypeHead head;
  head.kind = fields.number(1) & 0x0F;
  head.bits = fields.number(3);
  head.size = fields.number(4);
  return head;
}

std::uint64_t number_of(std::span<const std::byte> bytes, bool big_endian) {
  std::vector<std::byte> ordered(bytes.begin(), bytes.end());
  if (big_endian) std::ranges::reverse(ordered);
  return ByteCursor(ordered).number(ordered.size());
}

/// One entry of an attribute.
using Entry = std::variant<bool, std::int64_t, std::uint64_t, double, std::string>;

std::optional<Entry> integer(const TypeHead& type, std::span<const std::byte> bytes) {
  if (type.size > 8 || !std::has_single_bit(type.size)) return {};
  const std::uint64_t raw = number_of(bytes, (type.bits & 1) != 0);
  const bool is_signed = (type.bits & 8) != 0;
  const unsigned unused = static_cast<unsigned>(64 - 8 * type.size);
  if (is_signed) return static_cast<std::int64_t>(raw << unused) >> unused;
  if (raw <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return static_cast<std::int64_t>(raw);
  return raw;
}

/// IEEE 754 only: other floats of 4 and 8 bytes are rare, and no attribute needs them.
std::optional<Entry> floating(const TypeHead& type, std::span<const std::byte> bytes) {
  const std::uint64_t raw = number_of(bytes, (type.bits & 1) != 0);
  if (type.size == 4) return double{std::bit_cast<float>(static_cast<std::uint32_t>(raw))};
  if (type.size == 8) return std::bit_cast<double>(raw);
  return {};
}

/// Up to the first null, or all of it; without the spaces that pad it (padding 2).
std::string fixed_text(std::span<const std::byte> bytes, std::uint64_t padding = 0) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  text.resize(std::min(text.find('\0'), text.size()));
  if (padding == 2) text.resize(text.find_last_not_of(' ') + 1);
  return text;
}

std::string_view name_of_kind(std::uint64_t kind) {
  static constexpr std::array<std::string_view, 12> kNames = {
      "integers",     "floats",         "times",      "text",    "bit fields",
      "opaque bytes", "records",        "references", "an enum", "a list of variable length",
      "arrays",       "complex numbers"};
  return kind < kNames.size() ? kNames[kind] : "an unknown type";
}

/// Entries of one type, as a list.
template <class T>
std::optional<std::vector<T>> all_as(const std::vector<Entry>& entries) {
  std::vector<T> out;
  for (const Entry& entry : entries) {
    if (!std::holds_alternative<T>(entry)) return {};
    out.push_back(std::get<T>(entry));
  }
  return out;
}

class Reader {
 public:
  Reader(const RandomAccessFile& file, const Superblock& superblock, HeapTexts& heaps)
      : file_(file), superblock_(superblock), heaps_(heaps) {}

  Attributes take() { return std::move(found_); }

  /// Add the attribute of a message.
  void add(std::span<const std::byte> message) {
    if (++looked_at_ > kLookedAtLimit) {
      if (looked_at_ == kLookedAtLimit + 1)
        found_.left_out.emplace("…", fmt::format("more than {} attributes: the others are not read", kLookedAtLimit));
      return;
    }
    const std::optional<AttributeParts> parts = attribute_parts(message);
    if (!parts) return unnamed("damaged, or of a type that is stored elsewhere in the file");
    std::string name = fixed_text(parts->name);
    if (is_dimension_scale(name)) return;
    std::string why;
    if (auto value = read(*parts, why))
      found_.values.emplace(std::move(name), std::move(*value));
    else
      found_.left_out.emplace(std::move(name), std::move(why));
  }

  void unnamed(const std::string& why) { found_.left_out.emplace("?", "an attribute that is " + why); }

  /// Add those of an attribute info message (specification IV.A.2.v): a heap has them, a B-tree their names.
  Status add_dense(std::span<const std::byte> info) {
    ByteCursor fields(info);
    const std::uint64_t version = fields.number(1), flags = fields.number(1), none = superblock_.undefined_address();
    if ((flags & 0x01) != 0) fields.skip(2);
    const std::uint64_t heap_at = fields.number(superblock_.address_bytes),
                        names = fields.number(superblock_.address_bytes);
    if (version != 0 || !fields.ok()) return Error(ErrorCode::kCorruptData, "where its attributes are is damaged");
    if (heap_at == none || names == none) return {};
    HEADRACE_ASSIGN(const FractalHeap heap, FractalHeap::read(file_, superblock_, heap_at));
    if (heap.id_bytes() != kIdBytes)
      return Error(ErrorCode::kCorruptData, fmt::format("identifiers of {} bytes", heap.id_bytes()));
    std::uint64_t bytes = 0;
    return read_tree2(file_, superblock_, names, {kNameRecord, kNameRecordBytes}, file_.size(),
                      [&](std::span<const std::byte> record) -> Status {
                        if ((std::to_integer<unsigned>(record[kIdBytes]) & kSharedFlag) != 0) {
                          unnamed("stored once for several objects");
                          return {};
                        }
                        HEADRACE_ASSIGN(const std::vector<std::byte> message, heap.object(record.first(kIdBytes)));
                        if ((bytes += message.size()) > kDenseLimitBytes)
                          return Error(ErrorCode::kUnsupported, "its attributes are too large");
                        add(message);
                        return {};
                      });
  }

 private:
  static constexpr std::uint64_t kIdBytes = 8, kNameRecord = 8, kNameRecordBytes = 17;
  static constexpr unsigned kSharedFlag = 0x02;

  static bool is_dimension_scale(const std::string& name) {
    static constexpr std::array<const char*, 7> kNames = {"CLASS",
                                                          "NAME",
                                                          "DIMENSION_LIST",
                                                          "REFERENCE_LIST",
                                                          "DIMENSION_LABELS",
                                                          "_Netcdf4Dimid",
                                                          "_Netcdf4Coordinates"};
    return std::ranges::find(kNames, name) != kNames.end();
  }

  std::optional<AttributeValue> read(const AttributeParts& parts, std::string& why) {
    ByteCursor space(parts.dataspace), type_fields(parts.datatype);
    const std::uint64_t version = space.number(1), rank = space.number(1);
    space.skip(1);
    const std::uint64_t space_kind = space.number(1);
    if (version == 1) space.skip(4);
    const TypeHead type = type_head(type_fields);
    const std::uint64_t count = rank == 0 ? 1 : space.number(superblock_.length_bytes);
    if (!space.ok() || !type_fields.ok() || type.size == 0)
      why = "it is damaged";
    else if (version == 2 && space_kind == 2)
      why = "it has no value";
    else if (rank > 1)
      why = fmt::format("a table of {} axes", rank);
    else if (count > kEntriesLimit || type.size > kTextLimitBytes)
      why = fmt::format("{} entries of {} bytes: too large for an attribute", count, type.size);
    if (!why.empty()) return {};
    ByteCursor data(parts.data);
    std::vector<Entry> entries;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::span<const std::byte> bytes = data.take(type.size);
      std::optional<Entry> one;
      if (data.ok()) one = entry(type, type_fields, bytes);
      if (!one) {
        why = data.ok() ? fmt::format("{} of {} bytes are not read", name_of_kind(type.kind), type.size)
                        : std::string("it is damaged");
        return {};
      }
      entries.push_back(std::move(*one));
    }
    if (entries.size() == 1) return std::visit([](auto& v) -> AttributeValue { return std::move(v); }, entries[0]);
    if (auto texts = all_as<std::string>(entries)) {
      if (entries.empty()) return AttributeValue(std::vector<std::int64_t>{});
      return AttributeValue(std::move(*texts));
    }
    for (Entry& one : entries)
      if (const bool* const flag = std::get_if<bool>(&one)) one = std::int64_t{*flag};
    if (auto numbers = all_as<std::int64_t>(entries)) return AttributeValue(std::move(*numbers));
    if (auto numbers = all_as<double>(entries)) return AttributeValue(std::move(*numbers));
    why = "a list with integers above 2^63";
    return {};
  }

  std::optional<Entry> entry(const TypeHead& type, ByteCursor after_head, std::span<const std::byte> bytes) {
    switch (type.kind) {
      case 0:
        return integer(type, bytes);
      case 1:
        return floating(type, bytes);
      case 3:
        return fixed_text(bytes, type.bits & 0x0F);
      case 8: {  // h5py's bool is an enum of one byte with two members
        const TypeHead base = type_head(after_head);
        if (type.size == 1 && (type.bits & 0xFFFF) == 2) return bytes[0] != std::byte{0};
        return base.kind == 0 && base.size == type.size ? integer(base, bytes) : std::nullopt;
      }
      case 9:
        if ((type.bits & 0x0F) != 1) return {};
        if (auto text = variable_text(bytes)) return std::move(*text);
        return {};
      default:
        return {};
    }
  }

  std::optional<std::string> variable_text(std::span<const std::byte> bytes) {
    ByteCursor fields(bytes);
    const std::uint64_t length = fields.number(4), address = fields.number(superblock_.address_bytes);
    const std::uint64_t index = fields.number(4);
    if (!fields.ok() || length > kTextLimitBytes) return {};
    if (length == 0) return "";
    auto text = heaps_.text(address, index, length);
    if (text) text->resize(std::min(text->find('\0'), text->size()));
    return text;
  }

  const RandomAccessFile& file_;
  const Superblock& superblock_;
  HeapTexts& heaps_;
  Attributes found_;
  std::size_t looked_at_ = 0;  // counts those that fail as well
};

}  // namespace

Result<Attributes> read_attributes(const RandomAccessFile& file, const Superblock& superblock,
                                   const std::vector<HeaderMessage>& messages, HeapTexts& heaps) {
  Reader reader(file, superblock, heaps);
  for (const HeaderMessage& m : messages) {
    if (m.is(MessageType::kAttribute)) {
      if (m.shared())
        reader.unnamed("stored once for several objects");
      else
        reader.add(m.bytes);
    }
    if (!m.is(MessageType::kAttributeInfo) || m.shared()) continue;
    Status status = reader.add_dense(m.bytes);
    if (!status.ok() && status.error().code() != ErrorCode::kCorruptData &&
        status.error().code() != ErrorCode::kUnsupported)
      return std::move(status.error());
    if (!status.ok()) reader.unnamed("outside the object's header, where reading failed: " + status.error().message());
  }
  return reader.take();
}

bool is_bare_dimension(const std::vector<HeaderMessage>& messages) {
  for (const HeaderMessage& m : messages) {
    if (!m.is(MessageType::kAttribute) || m.shared()) continue;
    const std::optional<AttributeParts> parts = attribute_parts(m.bytes);
    if (parts && fixed_text(parts->name) == "NAME" && fixed_text(parts->data).starts_with(kBareDimension)) return true;
  }
  return false;
}

}  // namespace headrace::hdf5
