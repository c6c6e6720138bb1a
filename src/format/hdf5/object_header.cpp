#include "format/hdf5/object_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_set>

#include "format/hdf5/chunk_layout.h"
#include "format/hdf5/datatype_check.h"
#include "format/hdf5/fill_check.h"
#include "format/hdf5/global_heap.h"
#include "format/hdf5/link_check.h"

namespace headrace::hdf5 {
namespace {

constexpr std::size_t kBlockLimit = 4096, kMessageLimit = 65'536;
constexpr std::uint64_t kBlockLimitBytes =
    64 << 20;  // all blocks: attributes are at most 64 KiB each, but there may be many

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
        size > kBlockLimitBytes - read_bytes_)
      return damaged(fmt::format("{} bytes at {} in a file of {}", size, address, file_.size()));
    read_bytes_ += size;
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    HEADRACE_TRY(file_.read_at(at, bytes));
    return bytes;
  }

  Status parse_prefix(std::uint64_t address) {
    HEADRACE_ASSIGN(const std::vector<std::byte> start, read(address, 16));
    ByteCursor fields(start);
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
                    read(address + prefix + size_bytes, ByteCursor(size).number(size_bytes)));
    return parse_messages(bytes);
  }

  Status parse_messages(std::span<const std::byte> block) {
    ByteCursor fields(block);
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
        ByteCursor place(bytes);
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
  std::uint64_t read_bytes_ = 0;  // so that blocks that continue in themselves come to an end soon
};

Status check_compact(std::span<const std::byte> layout) {
  ByteCursor fields(layout);
  const std::uint64_t version = fields.number(1), kind = fields.number(1);
  if ((version == 3 || version == 4) && kind == 0 && fields.number(2) > fields.left())
    return damaged("compact data longer than its message");
  return {};
}

/// Check a datatype message; its size, or nullopt for versions that are left to the library.
Result<std::optional<std::uint64_t>> checked_size(std::span<const std::byte> datatype) {
  HEADRACE_TRY(check_datatype(datatype));
  ByteCursor fields(datatype);
  fields.skip(4);  // class, version, class bits: the same in all versions
  const std::uint64_t size = fields.number(4);
  return fields.ok() ? std::optional(size) : std::nullopt;
}

// A message that objects share has a header of its own (specification IV.A.2, "Shared Message", versions 1 to 3).
// \return The header's address; nullopt if it lies in a heap.
std::optional<std::uint64_t> shared_header(std::span<const std::byte> message, const Superblock& superblock) {
  ByteCursor fields(message);
  const std::uint64_t version = fields.number(1), kind = fields.number(1);
  if (version == 1) fields.skip(6);
  if (version < 1 || version > 3 || (version == 3 && kind == 1)) return {};
  return fields.number(superblock.address_bytes);
}

Result<std::optional<std::uint64_t>> checked_named_size(const RandomAccessFile& file, const Superblock& superblock,
                                                        std::span<const std::byte> message) {
  const std::optional<std::uint64_t> address = shared_header(message, superblock);
  if (!address) return std::optional<std::uint64_t>();  // the heap's blocks have checksums
  HEADRACE_ASSIGN(const std::vector<HeaderMessage> messages, read_object_header(file, superblock, *address));
  std::optional<std::uint64_t> size;
  for (const HeaderMessage& m : messages) {
    if (!m.is(MessageType::kDatatype) || m.shared()) continue;
    HEADRACE_ASSIGN(size, checked_size(m.bytes));
  }
  return size;
}

Status check_fill(const RandomAccessFile& file, const Superblock& superblock, const HeaderMessage& message,
                  std::optional<std::uint64_t> element_bytes) {
  const bool is_old = message.is(MessageType::kOldFillValue);
  if (!message.shared()) return check_fill_value(message.bytes, is_old, element_bytes);
  const std::optional<std::uint64_t> address = shared_header(message.bytes, superblock);
  if (!address)
    return Error(ErrorCode::kUnsupported, "its fill value lies in a heap of messages that objects share")
        .with_hint("Copy the file with h5repack, which writes it into the object's own header.");
  HEADRACE_ASSIGN(const std::vector<HeaderMessage> messages, read_object_header(file, superblock, *address));
  for (const HeaderMessage& m : messages)
    if (m.type == message.type && !m.shared()) HEADRACE_TRY(check_fill_value(m.bytes, is_old, element_bytes));
  return {};
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
  ByteCursor fields(head);
  fields.skip(8);
  const std::uint64_t size = fields.number(length);
  std::uint64_t block = fields.number(length);
  const std::uint64_t data = fields.number(superblock.address_bytes);
  if (data > file.size() || size > file.size() - data)
    return damaged(fmt::format("a local heap of {} bytes at {} in a file of {}", size, data, file.size()));
  const std::uint64_t none = 1;  // H5HL_FREE_NULL
  std::unordered_set<std::uint64_t> seen;
  while (block != none) {
    if (block > size || size - block < 2 * length || !seen.insert(block).second)
      return damaged("the free list of a local heap leads nowhere");
    HEADRACE_ASSIGN(const std::vector<std::byte> free_block, read(data + block, 2 * length));
    ByteCursor entry(free_block);
    const std::uint64_t next = entry.number(length), bytes = entry.number(length);
    if (bytes > size - block) return damaged("a free block of a local heap reaches past it");
    block = next;
  }
  return {};
}

// The B-tree of an old group (specification III.A.1, node type 0). libhdf5 1.10 follows children without looking at
// their level: one that is its own ancestor would end the stack.
class GroupTree {
 public:
  GroupTree(const RandomAccessFile& file, const Superblock& superblock) : file_(file), superblock_(superblock) {}

  Status check(std::uint64_t address, std::optional<std::uint64_t> parent_level) {
    if (!seen_.insert(address).second) return damaged("a node of a group's tree is met twice");
    const std::size_t head_bytes = 8 + 2 * superblock_.address_bytes;
    const std::size_t entry_bytes = superblock_.length_bytes + superblock_.address_bytes;
    HEADRACE_ASSIGN(const std::vector<std::byte> head, read(address, head_bytes));
    ByteCursor fields(head);
    const bool signed_tree = begins_with(fields.take(4), "TREE") && fields.number(1) == 0;
    const std::uint64_t level = fields.number(1), entries = fields.number(2);
    if (!signed_tree || (parent_level && level + 1 != *parent_level))
      return damaged(fmt::format("no node of a group's tree at {}", address));
    if (level == 0) return {};
    HEADRACE_ASSIGN(const std::vector<std::byte> bytes, read(address + head_bytes, entries * entry_bytes));
    ByteCursor children(bytes);
    for (std::uint64_t i = 0; i < entries; ++i) {
      children.skip(superblock_.length_bytes);
      HEADRACE_TRY(check(children.number(superblock_.address_bytes), level));
    }
    return {};
  }

 private:
  Result<std::vector<std::byte>> read(std::uint64_t address, std::uint64_t size) const {
    std::uint64_t at = 0;
    if (__builtin_add_overflow(address, superblock_.at, &at) || at > file_.size() || size > file_.size() - at)
      return damaged(fmt::format("a node of a group's tree at {} in a file of {} bytes", address, file_.size()));
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    HEADRACE_TRY(file_.read_at(at, bytes));
    return bytes;
  }

  const RandomAccessFile& file_;
  const Superblock& superblock_;
  std::unordered_set<std::uint64_t> seen_;
};

}  // namespace

std::uint64_t ByteCursor::number(std::size_t size) {
  const std::span<const std::byte> bytes = take(size);
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

std::span<const std::byte> ByteCursor::take(std::uint64_t size) {
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

Result<std::optional<ChunkLayout>> chunk_layout_at(const RandomAccessFile& file, const Superblock& superblock,
                                                   std::uint64_t address) {
  HEADRACE_ASSIGN(const std::vector<HeaderMessage> header, read_object_header(file, superblock, address));
  for (const HeaderMessage& m : header)
    if (m.is(MessageType::kLayout) && !m.shared()) return chunk_layout(m.bytes, superblock);
  return std::optional<ChunkLayout>();
}

Status check_dataset(const RandomAccessFile& file, const Superblock& superblock,
                     const std::vector<HeaderMessage>& messages) {
  for (const HeaderMessage& m : messages) {  // the heaps that opening it reads
    ByteCursor fields(m.bytes);
    if (m.is(MessageType::kExternalFiles) && !m.shared()) {
      fields.skip(8);  // version, 0, slots
      HEADRACE_TRY(check_local_heap(file, superblock, fields.number(superblock.address_bytes)));
    } else if (m.is(MessageType::kLayout) && !m.shared() && fields.number(1) == 4 && fields.number(1) == 3) {
      const std::uint64_t none = ~std::uint64_t{0} >> (64 - 8 * superblock.address_bytes);
      const std::uint64_t mappings = fields.number(superblock.address_bytes);
      if (mappings != none) HEADRACE_TRY(check_global_heap(file, superblock, mappings, fields.number(4)));
    }
  }
  for (const MessageType needed : {MessageType::kDataspace, MessageType::kDatatype, MessageType::kLayout})
    if (std::ranges::none_of(messages, [&](const HeaderMessage& m) { return m.is(needed); }))
      return damaged("a dataset without shape, type or layout");
  std::optional<std::uint64_t> size;
  std::optional<ChunkLayout> chunks;
  for (const HeaderMessage& m : messages) {
    if (m.is(MessageType::kDatatype)) {
      HEADRACE_ASSIGN(size, m.shared() ? checked_named_size(file, superblock, m.bytes) : checked_size(m.bytes));
    } else if (m.is(MessageType::kLayout) && !m.shared()) {
      HEADRACE_TRY(check_compact(m.bytes));
      HEADRACE_ASSIGN(chunks, chunk_layout(m.bytes, superblock));
    }
  }
  for (const HeaderMessage& m : messages)
    if (m.is(MessageType::kFillValue) || m.is(MessageType::kOldFillValue))
      HEADRACE_TRY(check_fill(file, superblock, m, size));
  // 1.10 takes the datatype's word, and would convert what the chunks hold (HDF5 2.0 compares them as well).
  if (size && chunks && *size != chunks->element_bytes)
    return damaged(fmt::format("elements of {} bytes in chunks made for {}", *size, chunks->element_bytes));
  return {};
}

Status check_group(const RandomAccessFile& file, const Superblock& superblock,
                   const std::vector<HeaderMessage>& messages) {
  for (const HeaderMessage& m : messages) {
    if (m.is(MessageType::kLink) && !m.shared()) HEADRACE_TRY(check_link(m.bytes, superblock));
    if (m.is(MessageType::kLinkInfo) && !m.shared()) HEADRACE_TRY(check_link_info(m.bytes, superblock));
    if (!m.is(MessageType::kSymbolTable)) continue;
    ByteCursor fields(m.bytes);
    const std::uint64_t tree = fields.number(superblock.address_bytes);
    if (m.shared() || !fields.ok()) continue;
    HEADRACE_TRY(GroupTree(file, superblock).check(tree, std::nullopt));
    HEADRACE_TRY(check_local_heap(file, superblock, fields.number(superblock.address_bytes)));
  }
  return {};
}

}  // namespace headrace::hdf5
