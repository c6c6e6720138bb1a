#include "format/hdf5/attributes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "format/hdf5/attribute_message.h"

namespace headrace::hdf5 {
namespace {

constexpr std::uint64_t kEntriesLimit = 16, kTextLimitBytes = 4096;
constexpr std::size_t kAttributesLimit = 64, kLookedAtLimit = 1000;

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

std::optional<std::string> integer_text(const TypeHead& type, std::span<const std::byte> bytes) {
  if (type.size > 8 || !std::has_single_bit(type.size)) return {};
  const std::uint64_t raw = number_of(bytes, (type.bits & 1) != 0);
  const bool is_signed = (type.bits & 8) != 0;
  const unsigned unused = static_cast<unsigned>(64 - 8 * type.size);
  return is_signed ? fmt::format("{}", static_cast<std::int64_t>(raw << unused) >> unused) : fmt::format("{}", raw);
}

std::optional<std::string> float_text(const TypeHead& type, std::span<const std::byte> bytes) {
  const std::uint64_t raw = number_of(bytes, (type.bits & 1) != 0);
  if (type.size == 4) return fmt::format("{}", std::bit_cast<float>(static_cast<std::uint32_t>(raw)));
  if (type.size == 8) return fmt::format("{}", std::bit_cast<double>(raw));
  return {};
}

/// Up to the first null, or all of it.
std::string fixed_text(std::span<const std::byte> bytes) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

class Entries {
 public:
  Entries(const Superblock& superblock, HeapTexts& heaps) : superblock_(superblock), heaps_(heaps) {}

  std::optional<std::string> text(const AttributeParts& parts) {
    ByteCursor space(parts.dataspace), type_fields(parts.datatype);
    const std::uint64_t version = space.number(1), rank = space.number(1);
    space.skip(1);
    const std::uint64_t space_kind = space.number(1);
    if (version == 1) space.skip(4);
    if (rank > 1 || (version == 2 && space_kind == 2)) return {};
    const std::uint64_t count = rank == 0 ? 1 : space.number(superblock_.length_bytes);
    const TypeHead type = type_head(type_fields);
    if (!space.ok() || !type_fields.ok() || count > kEntriesLimit || type.size == 0 || type.size > kTextLimitBytes)
      return {};
    ByteCursor data(parts.data);
    std::vector<std::string> entries;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::span<const std::byte> bytes = data.take(type.size);
      std::optional<std::string> one;
      if (data.ok()) one = entry(type, type_fields, bytes);
      if (!one) return {};
      entries.push_back(std::move(*one));
    }
    std::string all = rank == 0 || count == 1 ? entries.at(0) : fmt::format("[{}]", fmt::join(entries, ", "));
    if (all.size() > kTextLimitBytes) return {};
    return all;
  }

 private:
  std::optional<std::string> entry(const TypeHead& type, ByteCursor after_head, std::span<const std::byte> bytes) {
    switch (type.kind) {
      case 0:
        return integer_text(type, bytes);
      case 1:
        return float_text(type, bytes);
      case 3:
        return fixed_text(bytes);
      case 8: {  // h5py's bool is an enum of one byte with two members
        const TypeHead base = type_head(after_head);
        if (type.size == 1 && (type.bits & 0xFFFF) == 2) return bytes[0] == std::byte{0} ? "false" : "true";
        return base.kind == 0 && base.size == type.size ? integer_text(base, bytes) : std::nullopt;
      }
      case 9:
        return (type.bits & 0x0F) == 1 ? variable_text(bytes) : std::nullopt;
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

  const Superblock& superblock_;
  HeapTexts& heaps_;
};

bool is_dimension_scale(const std::string& name) {
  static constexpr std::array<const char*, 7> kNames = {
      "CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS", "_Netcdf4Dimid", "_Netcdf4Coordinates"};
  return std::ranges::find(kNames, name) != kNames.end();
}

}  // namespace

std::map<std::string, std::string> attribute_texts(const Superblock& superblock,
                                                   const std::vector<HeaderMessage>& messages, HeapTexts& heaps) {
  std::map<std::string, std::string> texts;
  std::size_t looked_at = 0;  // counts those that fail as well: 65,000 fit one object
  for (const HeaderMessage& m : messages) {
    if (!m.is(MessageType::kAttribute) || m.shared()) continue;
    if (texts.size() >= kAttributesLimit || ++looked_at > kLookedAtLimit) break;
    const std::optional<AttributeParts> parts = attribute_parts(m.bytes);
    if (!parts) continue;
    std::string name = fixed_text(parts->name);
    if (is_dimension_scale(name)) continue;
    if (auto text = Entries(superblock, heaps).text(*parts)) texts.emplace(std::move(name), std::move(*text));
  }
  return texts;
}

}  // namespace headrace::hdf5
