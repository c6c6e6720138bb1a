#include "format/hdf5/structure/object_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "format/hdf5/structure/chunk_layout.h"
#include "format/hdf5/structure/datatype_check.h"
#include "format/hdf5/structure/fill_check.h"
#include "format/hdf5/structure/global_heap.h"
#include "format/hdf5/structure/local_heap.h"

namespace headrace::hdf5 {
namespace {

constexpr std::size_t kBlockLimit = 4096, kMessageLimit = 65'536;
constexpr std::uint64_t kBlockLimitBytes =
    64 << 20;  // all blocks: attributes are at most 64 KiB each, but there may be many

bool begins_with(std::span<const std::byte> bytes, const char* signature) {
  return bytes.size() >= 4 && std::memcmp(bytes.data(), signature, 4) == 0;
}

/// libhdf5 frees what it has not read of a message that says that it lies elsewhere, and cannot.
bool may_be_shared(const HeaderMessage& m) {
  for (const MessageType never : {MessageType::kLinkInfo, MessageType::kLink, MessageType::kExternalFiles,
                                  MessageType::kLayout, MessageType::kContinuation, MessageType::kSymbolTable})
    if (m.is(never)) return false;
  return true;
}

class HeaderParser {
 public:
  HeaderParser(const RandomAccessFile& file, const Superblock& superblock) : file_(file), superblock_(superblock) {}

  Result<std::vector<HeaderMessage>> parse(std::uint64_t address) {
    HEADRACE_TRY(parse_prefix(address));
    for (std::size_t i = 0; i < continued_.size(); ++i) {  // grows while it is walked
      if (i >= kBlockLimit) return header_damaged("more continuation blocks than any writer makes");
      const ByteRange block = continued_[i];
      HEADRACE_ASSIGN(const std::vector<std::byte> bytes, read(block.offset, block.size));
      std::span<const std::byte> messages = bytes;
      if (version_ == 2) {
        if (!begins_with(messages, "OCHK") || messages.size() < 8)
          return header_damaged("a continuation without signature");
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
      return header_damaged(fmt::format("{} bytes at {} in a file of {}", size, address, file_.size()));
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
      if (version_ != 1) return header_damaged(fmt::format("version {}", version_));
      HEADRACE_ASSIGN(const std::vector<std::byte> bytes, read(address + 16, fields.number(4)));
      return parse_messages(bytes);
    }
    fields.skip(4);
    version_ = static_cast<unsigned>(fields.number(1));
    const auto flags = static_cast<unsigned>(fields.number(1));
    if (version_ != 2) return header_damaged(fmt::format("version {}", version_));
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
      if (!fields.ok()) return header_damaged(fmt::format("a message of {} bytes reaches past its block", size));
      if (messages_.size() >= kMessageLimit) return header_damaged("more messages than there can be");
      m.bytes.assign(bytes.begin(), bytes.end());
      if (m.shared() && !may_be_shared(m)) return header_damaged(fmt::format("a shared message of type {}", m.type));
      if (m.is(MessageType::kContinuation)) {
        ByteCursor place(bytes);
        const std::uint64_t at = place.number(superblock_.address_bytes);
        continued_.push_back({at, place.number(superblock_.length_bytes)});
        if (!place.ok()) return header_damaged("a continuation that is cut short");
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
    return header_damaged("compact data longer than its message");
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

/// The list of external raw files (specification IV.A.2.h). libhdf5 believes how many there are, and follows their
/// names without a limit.
Status check_external_files(const RandomAccessFile& file, const Superblock& superblock,
                            std::span<const std::byte> message) {
  ByteCursor fields(message);
  fields.skip(4);  // the version is for libhdf5 to refuse
  const std::uint64_t room = fields.number(2), count = fields.number(2);
  HEADRACE_ASSIGN(const LocalHeap names, LocalHeap::read(file, superblock, fields.number(superblock.address_bytes)));
  if (count > room) return header_damaged(fmt::format("{} external files in a list of {}", count, room));
  std::uint64_t name_bytes = 0;  // each has its own: libhdf5 copies them all
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t name = fields.number(superblock.length_bytes);
    fields.skip(2 * superblock.length_bytes);
    if (!fields.ok() || !names.has_text(name)) return header_damaged("the name of an external file leads nowhere");
    if ((name_bytes += names.text(name).size()) > 2 * file.size()) return header_damaged("names longer than the file");
  }
  return {};
}

}  // namespace

Error header_damaged(const std::string& why) {
  return Error(ErrorCode::kCorruptData, "the object header is damaged: " + why);
}

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

Status check_dataset(const RandomAccessFile& file, const Superblock& superblock,
                     const std::vector<HeaderMessage>& messages) {
  for (const HeaderMessage& m : messages) {  // the heaps that opening it reads
    ByteCursor fields(m.bytes);
    if (m.is(MessageType::kExternalFiles)) {
      HEADRACE_TRY(check_external_files(file, superblock, m.bytes));
    } else if (m.is(MessageType::kLayout) && !m.shared() && fields.number(1) == 4 && fields.number(1) == 3) {
      const std::uint64_t none = ~std::uint64_t{0} >> (64 - 8 * superblock.address_bytes);
      const std::uint64_t mappings = fields.number(superblock.address_bytes);
      if (mappings != none) HEADRACE_TRY(check_global_heap(file, superblock, mappings, fields.number(4)));
    }
  }
  for (const MessageType needed : {MessageType::kDataspace, MessageType::kDatatype, MessageType::kLayout})
    if (std::ranges::none_of(messages, [&](const HeaderMessage& m) { return m.is(needed); }))
      return header_damaged("a dataset without shape, type or layout");
  std::optional<std::uint64_t> size;
  std::optional<ChunkLayout> chunks;
  std::optional<std::size_t> rank;
  for (const HeaderMessage& m : messages) {
    if (m.is(MessageType::kDataspace) && !m.shared()) {
      rank = largest_shape(m.bytes, superblock).size();
    } else if (m.is(MessageType::kDatatype)) {
      HEADRACE_ASSIGN(size, m.shared() ? checked_named_size(file, superblock, m.bytes) : checked_size(m.bytes));
    } else if (m.is(MessageType::kLayout) && !m.shared()) {
      HEADRACE_TRY(check_compact(m.bytes));
      HEADRACE_ASSIGN(chunks, chunk_layout(m.bytes, superblock));
    }
  }
  for (const HeaderMessage& m : messages)
    if (m.is(MessageType::kFillValue) || m.is(MessageType::kOldFillValue))
      HEADRACE_TRY(check_fill(file, superblock, m, size));
  // 1.10 looks for the chunks of a scalar until its memory ends.
  if (rank && chunks && *rank != chunks->lengths.size())
    return header_damaged(fmt::format("chunks of {} axes for a shape of {}", chunks->lengths.size(), *rank));
  // 1.10 takes the datatype's word, and would convert what the chunks hold (HDF5 2.0 compares them as well).
  if (size && chunks && *size != chunks->element_bytes)
    return header_damaged(fmt::format("elements of {} bytes in chunks made for {}", *size, chunks->element_bytes));
  return {};
}

}  // namespace headrace::hdf5
