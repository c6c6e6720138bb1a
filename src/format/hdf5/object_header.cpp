#include "format/hdf5/object_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "format/hdf5/datatype_check.h"

namespace headrace::hdf5 {
namespace {

constexpr std::size_t kBlockLimit = 4096, kMessageLimit = 65'536;
constexpr std::uint64_t kBlockLimitBytes = 64 << 20;  // attributes are at most 64 KiB each, but there may be many

Error damaged(std::string why) {
  return Error(ErrorCode::kCorruptData, "the object header is damaged: " + why);
}

bool begins_with(std::span<const std::byte> bytes, const char* signature) {
  return bytes.size() >= 4 && std::memcmp(bytes.data(), signature, 4) == 0;
}

class HeaderParser {
 public:
  HeaderParser(const RandomAccessFile& file, const Superblock& superblock) : file_(file), superblock_(superblock) {}

  Result<std::vector<HeaderMessage>> parse(std::uint64_t address) {
    HEADRACE_TRY(parse_prefix(address));
    for (std::size_t i = 0; i < continued_.size(); ++i) {  // grows while it is walked
      if (i >= kBlockLimit) return damaged("more continuation blocks than any writer makes");
      const ByteRange block = continued_[i];
      HEADRACE_ASSIGN(const std::vector<std::byte> bytes, read(block.offset, block.size));
      std::span<const std::byte> messages = bytes;
      if (version_ == 2) {
        if (!begins_with(messages, "OCHK") || messages.size() < 8) return damaged("a continuation without signature");
        messages = messages.subspan(4, messages.size() - 8);  // signature, checksum
      }
      HEADRACE_TRY(parse_messages(messages));
    }
    return std::move(messages_);
  }

 private:
  Result<std::vector<std::byte>> read(std::uint64_t address, std::uint64_t size) {
    std::uint64_t at = 0;
    if (__builtin_add_overflow(address, superblock_.at, &at) || at > file_.size() || size > file_.size() - at ||
        size > kBlockLimitBytes)
      return damaged(fmt::format("{} bytes at {} in a file of {}", size, address, file_.size()));
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    HEADRACE_TRY(file_.read_at(at, bytes));
    return bytes;
  }

  Status parse_prefix(std::uint64_t address) {
    HEADRACE_ASSIGN(const std::vector<std::byte> start, read(address, 16));
    Fields fields(start);
    if (!begins_with(start, "OHDR")) {  // version 1: version, 0, count, references, size, 0
      version_ = static_cast<unsigned>(fields.number(1));
      fields.skip(7);
      if (version_ != 1) return damaged(fmt::format("version {}", version_));
      HEADRACE_ASSIGN(const std::vector<std::byte> bytes, read(address + 16, fields.number(4)));
      return parse_messages(bytes);
    }
    fields.skip(4);
    version_ = static_cast<unsigned>(fields.number(1));
    const auto flags = static_cast<unsigned>(fields.number(1));
    if (version_ != 2) return damaged(fmt::format("version {}", version_));
    has_order_ = (flags & 0x04) != 0;
    const std::uint64_t prefix = 6 + ((flags & 0x20) != 0 ? 16U : 0U) + ((flags & 0x10) != 0 ? 4U : 0U);
    const std::size_t size_bytes = std::size_t{1} << (flags & 0x03);
    HEADRACE_ASSIGN(const std::vector<std::byte> size, read(address + prefix, size_bytes));
    HEADRACE_ASSIGN(const std::vector<std::byte> bytes,
                    read(address + prefix + size_bytes, Fields(size).number(size_bytes)));
    return parse_messages(bytes);
  }

  Status parse_messages(std::span<const std::byte> block) {
    Fields fields(block);
    const std::size_t prefix = version_ == 1 ? 8 : has_order_ ? 6 : 4;
    while (fields.left() >= prefix) {
      HeaderMessage m;
      m.type = static_cast<std::uint16_t>(fields.number(version_ == 1 ? 2 : 1));
      const std::uint64_t size = fields.number(2);
      m.flags = static_cast<std::uint8_t>(fields.number(1));
      fields.skip(prefix - (version_ == 1 ? 5 : 4));
      const std::span<const std::byte> bytes = fields.take(size);
      if (!fields.ok()) return damaged(fmt::format("a message of {} bytes reaches past its block", size));
      if (messages_.size() >= kMessageLimit) return damaged("more messages than there can be");
      m.bytes.assign(bytes.begin(), bytes.end());
      if (m.is(MessageType::kContinuation)) {
        Fields place(bytes);
        const std::uint64_t at = place.number(superblock_.address_bytes);
        continued_.push_back({at, place.number(superblock_.length_bytes)});
        if (!place.ok()) return damaged("a continuation that is cut short");
      }
      messages_.push_back(std::move(m));
    }
    return {};
  }

  const RandomAccessFile& file_;
  const Superblock& superblock_;
  unsigned version_ = 1;
  bool has_order_ = false;
  std::vector<HeaderMessage> messages_;
  std::vector<ByteRange> continued_;
};

// Chunk lengths of layout messages 1 to 4; none may be 0. The last one, which is returned, is the element size; 0 where
// there are no chunks.
Result<std::uint64_t> check_layout(std::span<const std::byte> bytes, const Superblock& superblock) {
  Fields fields(bytes);
  const std::uint64_t version = fields.number(1);
  std::uint64_t rank = 0, width = 4;
  if (version == 1 || version == 2) {
    rank = fields.number(1);
    const std::uint64_t kind = fields.number(1);
    if (kind != 2) return 0;
    fields.skip(5 + superblock.address_bytes);
  } else if (version == 3 || version == 4) {
    const std::uint64_t kind = fields.number(1);
    if (kind == 0 && fields.number(2) > fields.left()) return damaged("compact data longer than its message");
    if (kind != 2) return 0;
    if (version == 4) fields.skip(1);
    rank = fields.number(1);
    if (version == 4) width = fields.number(1);
    if (version == 3) fields.skip(superblock.address_bytes);
  } else {
    return 0;  // for libhdf5 to refuse
  }
  if (rank < 2 || rank > 33 || width < 1 || width > 8) return damaged(fmt::format("chunks of {} axes", rank));
  std::uint64_t length = 0;
  for (std::uint64_t d = 0; d < rank; ++d) {
    length = fields.number(static_cast<std::size_t>(width));
    if (length == 0) return damaged("a chunk of length 0");
  }
  return length;
}

// Returns the size of the type's elements.
Result<std::uint64_t> check_type(std::span<const std::byte> message) {
  HEADRACE_TRY(check_datatype(message));
  Fields fields(message);
  fields.skip(4);
  return fields.number(4);
}

// A datatype that other objects share has a header of its own (specification IV.A.2, "Shared Message", versions 1 to
// 3). Returns the size of its elements, or 0 where it is not looked for.
Result<std::uint64_t> check_named_type(const RandomAccessFile& file, const Superblock& superblock,
                                       std::span<const std::byte> message) {
  Fields fields(message);
  const std::uint64_t version = fields.number(1), kind = fields.number(1);
  if (version == 1) fields.skip(6);
  if (version < 1 || version > 3 || (version == 3 && kind == 1)) return 0;  // 1: in a heap, whose blocks have checksums
  HEADRACE_ASSIGN(const std::vector<HeaderMessage> messages,
                  read_object_header(file, superblock, fields.number(superblock.address_bytes)));
  for (const HeaderMessage& m : messages)
    if (m.is(MessageType::kDatatype) && !m.shared()) return check_type(m.bytes);
  return 0;
}

// The names of an old group lie in a local heap, whose free blocks form a list (specification III.D): one that runs in
// circles would have libhdf5 allocate for ever.
Status check_local_heap(const RandomAccessFile& file, const Superblock& superblock, std::uint64_t address) {
  const auto read = [&](std::uint64_t from, std::uint64_t size) -> Result<std::vector<std::byte>> {
    std::uint64_t at = 0;
    if (__builtin_add_overflow(from, superblock.at, &at) || at > file.size() || size > file.size() - at)
      return damaged(fmt::format("a local heap at {} in a file of {} bytes", from, file.size()));
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    HEADRACE_TRY(file.read_at(at, bytes));
    return bytes;
  };
  const unsigned length = superblock.length_bytes;
  HEADRACE_ASSIGN(const std::vector<std::byte> head, read(address, 8 + 2 * length + superblock.address_bytes));
  if (!begins_with(head, "HEAP")) return damaged("a local heap without signature");
  Fields fields(head);
  fields.skip(8);
  const std::uint64_t size = fields.number(length);
  std::uint64_t block = fields.number(length);
  const std::uint64_t data = fields.number(superblock.address_bytes);
  HEADRACE_ASSIGN(const std::vector<std::byte> names, read(data, size));
  const std::uint64_t none = 1;  // H5HL_FREE_NULL
  for (std::uint64_t seen = 0; block != none; ++seen) {
    if (block > size || size - block < 2 * length || seen > size / (2 * length))
      return damaged("the free list of a local heap leads nowhere");
    Fields entry(std::span<const std::byte>(names).subspan(static_cast<std::size_t>(block)));
    const std::uint64_t next = entry.number(length), bytes = entry.number(length);
    if (bytes > size - block) return damaged("a free block of a local heap reaches past it");
    block = next;
  }
  return {};
}

}  // namespace

std::uint64_t Fields::number(std::size_t size) {
  const std::span<const std::byte> bytes = take(size);
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

std::span<const std::byte> Fields::take(std::uint64_t size) {
  if (size > bytes_.size()) {
    ok_ = false;
    bytes_ = {};
    return {};
  }
  const std::span<const std::byte> taken = bytes_.first(static_cast<std::size_t>(size));
  bytes_ = bytes_.subspan(taken.size());
  return taken;
}

Result<std::vector<HeaderMessage>> read_object_header(const RandomAccessFile& file, const Superblock& superblock,
                                                      std::uint64_t address) {
  return HeaderParser(file, superblock).parse(address);
}

Status check_dataset(const RandomAccessFile& file, const Superblock& superblock,
                     const std::vector<HeaderMessage>& messages) {
  for (const MessageType needed : {MessageType::kDataspace, MessageType::kDatatype, MessageType::kLayout})
    if (std::ranges::none_of(messages, [&](const HeaderMessage& m) { return m.is(needed); }))
      return damaged("a dataset without shape, type or layout");
  std::uint64_t chunk_element = 0, type_element = 0;  // bytes, 0: none, or not looked for
  for (const HeaderMessage& m : messages) {
    if (m.is(MessageType::kDatatype) && m.shared()) {
      HEADRACE_ASSIGN(type_element, check_named_type(file, superblock, m.bytes));
    }
    if (m.shared()) continue;
    if (m.is(MessageType::kLayout)) {
      HEADRACE_ASSIGN(chunk_element, check_layout(m.bytes, superblock));
    }
    if (m.is(MessageType::kDatatype)) {
      HEADRACE_ASSIGN(type_element, check_type(m.bytes));
    }
  }
  if (chunk_element != 0 && type_element != 0 && chunk_element != type_element)  // libhdf5 reads past the chunk
    return damaged(fmt::format("elements of {} bytes in chunks made for {}", type_element, chunk_element));
  return {};
}

Status check_group(const RandomAccessFile& file, const Superblock& superblock,
                   const std::vector<HeaderMessage>& messages) {
  for (const HeaderMessage& m : messages) {
    if (!m.is(MessageType::kSymbolTable)) continue;
    Fields fields(m.bytes);
    fields.skip(superblock.address_bytes);  // the B-tree
    HEADRACE_TRY(check_local_heap(file, superblock, fields.number(superblock.address_bytes)));
  }
  return {};
}

}  // namespace headrace::hdf5
