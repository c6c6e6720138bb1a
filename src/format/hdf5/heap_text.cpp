#include "format/hdf5/heap_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace headrace::hdf5 {
namespace {

constexpr std::uint64_t kCountLimit = 16, kTextLimitBytes = 4096, kHeapLimitBytes = 64 << 20;
constexpr std::size_t kAttributesLimit = 64;

std::uint64_t padded(std::uint64_t n) {
  return (n + 7) / 8 * 8;
}

struct Attribute {
  std::string name;
  std::uint64_t count = 1;
  bool scalar = true;
  std::span<const std::byte> data;
};

// Attribute message, versions 1 to 3 (specification IV.A.2.m); nullopt unless it is variable-length text.
std::optional<Attribute> text_attribute(std::span<const std::byte> message, const Superblock& superblock) {
  Fields fields(message);
  const std::uint64_t version = fields.number(1);
  const std::uint64_t flags = fields.number(1);
  if (version < 1 || version > 3 || (version > 1 && flags != 0)) return {};  // shared parts lie elsewhere
  const std::uint64_t name_bytes = fields.number(2), type_bytes = fields.number(2), space_bytes = fields.number(2);
  if (version == 3) fields.skip(1);
  const auto part = [&](std::uint64_t n) { return fields.take(version == 1 ? padded(n) : n); };
  const std::span<const std::byte> name = part(name_bytes), type = part(type_bytes), space = part(space_bytes);
  if (!fields.ok() || name.empty()) return {};

  Fields type_fields(type);
  const std::uint64_t kind = type_fields.number(1), bits = type_fields.number(3), size = type_fields.number(4);
  const bool is_text = (kind & 0x0F) == 9 && (bits & 0x0F) == 1 && size == 8U + superblock.address_bytes;
  Fields space_fields(space);
  const std::uint64_t space_version = space_fields.number(1), rank = space_fields.number(1);
  space_fields.skip(1);
  const std::uint64_t space_kind = space_fields.number(1);
  if (space_version == 1) space_fields.skip(4);
  if (!is_text || rank > 1 || (space_version == 2 && space_kind == 2)) return {};
  Attribute out;
  out.scalar = rank == 0;
  if (rank == 1) out.count = space_fields.number(superblock.length_bytes);
  if (!space_fields.ok() || out.count > kCountLimit) return {};
  out.data = fields.take(out.count * size);
  if (!fields.ok()) return {};
  const char* text = reinterpret_cast<const char*>(name.data());
  out.name.assign(text, ::strnlen(text, name.size()));
  return out;
}

// Object `index` of the global heap at `address` (specification III.E).
std::optional<std::string> heap_object(const RandomAccessFile& file, const Superblock& superblock,
                                       std::uint64_t address, std::uint64_t index, std::uint64_t length) {
  std::uint64_t at = 0;
  const std::size_t prefix = 8 + superblock.length_bytes;
  std::vector<std::byte> head(prefix);
  if (__builtin_add_overflow(address, superblock.at, &at) || at > file.size() || prefix > file.size() - at ||
      !file.read_at(at, head).ok() || std::memcmp(head.data(), "GCOL", 4) != 0)
    return {};
  Fields head_fields(std::span<const std::byte>(head).subspan(8));
  const std::uint64_t heap_bytes = head_fields.number(superblock.length_bytes);
  if (heap_bytes < prefix || heap_bytes > kHeapLimitBytes || heap_bytes > file.size() - at) return {};
  std::vector<std::byte> heap(static_cast<std::size_t>(heap_bytes));
  if (!file.read_at(at, heap).ok()) return {};
  Fields fields(heap);
  fields.skip(padded(prefix));
  while (fields.left() >= padded(8 + superblock.length_bytes)) {
    const std::uint64_t number = fields.number(2);
    fields.skip(6);
    const std::uint64_t bytes = fields.number(superblock.length_bytes);
    fields.skip(padded(8 + superblock.length_bytes) - 8 - superblock.length_bytes);
    if (number == 0 || bytes > heap_bytes) return {};  // free space comes last
    const std::span<const std::byte> object = fields.take(padded(bytes));
    if (!fields.ok()) return {};
    if (number != index) continue;
    if (length > bytes) return {};
    return std::string(reinterpret_cast<const char*>(object.data()), static_cast<std::size_t>(length));
  }
  return {};
}

std::optional<std::string> text_of(const RandomAccessFile& file, const Superblock& superblock,
                                   const Attribute& attribute) {
  Fields fields(attribute.data);
  std::vector<std::string> parts;
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < attribute.count; ++i) {
    const std::uint64_t length = fields.number(4), address = fields.number(superblock.address_bytes);
    const std::uint64_t index = fields.number(4);
    if (length > kTextLimitBytes || (total += length) > kTextLimitBytes) return {};
    std::optional<std::string> part =
        length == 0 ? std::string() : heap_object(file, superblock, address, index, length);
    if (!part) return {};
    part->resize(std::strlen(part->c_str()));
    parts.push_back(std::move(*part));
  }
  if (attribute.scalar) return parts.at(0);
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

}  // namespace

std::map<std::string, std::string> heap_texts(const RandomAccessFile& file, const Superblock& superblock,
                                              const std::vector<HeaderMessage>& messages) {
  std::map<std::string, std::string> texts;
  for (const HeaderMessage& m : messages) {
    if (!m.is(MessageType::kAttribute) || m.shared()) continue;
    const std::optional<Attribute> attribute = text_attribute(m.bytes, superblock);
    if (!attribute) continue;
    if (auto text = text_of(file, superblock, *attribute)) texts.emplace(attribute->name, std::move(*text));
    if (texts.size() >= kAttributesLimit) break;
  }
  return texts;
}

}  // namespace headrace::hdf5
