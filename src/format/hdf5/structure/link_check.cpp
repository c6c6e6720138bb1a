#include "format/hdf5/structure/link_check.h"

#include "format/hdf5/structure/object_header.h"

namespace headrace::hdf5 {
namespace {

Error link_damaged(const char* why) {
  return Error(ErrorCode::kCorruptData, std::string("a link is damaged: ") + why);
}

}  // namespace

Result<std::string_view> check_link(std::span<const std::byte> message, const Superblock& superblock) {
  enum : std::uint64_t { kHard = 0, kSoft = 1, kFirstOfUser = 64 };
  ByteCursor fields(message);
  const std::uint64_t version = fields.number(1), flags = fields.number(1);
  if (version != 1 || flags > 0x1F) return link_damaged("its version or flags");
  const std::uint64_t kind = (flags & 0x08) != 0 ? fields.number(1) : kHard;
  if (kind > kSoft && kind < kFirstOfUser) return link_damaged("its kind");
  if ((flags & 0x04) != 0) fields.skip(8);  // when it was made
  if ((flags & 0x10) != 0 && fields.number(1) > 1) return link_damaged("its character set");
  const std::uint64_t name_bytes = fields.number(std::size_t{1} << (flags & 0x03));
  if (name_bytes == 0) return link_damaged("it has no name");
  const std::span<const std::byte> text = fields.take(name_bytes);
  if (kind == kHard) {
    fields.skip(superblock.address_bytes);
  } else {
    const std::uint64_t value_bytes = fields.number(2);
    if (value_bytes == 0)
      return link_damaged("it leads nowhere");  // 1.10 asks an external link's null pointer for its file
    fields.skip(value_bytes);
  }
  if (!fields.ok()) return link_damaged("it is cut short");
  const std::string_view name(reinterpret_cast<const char*>(text.data()), text.size());
  return name.substr(0, name.find('\0'));
}

Status check_link_info(std::span<const std::byte> message, const Superblock& superblock) {
  ByteCursor fields(message);
  fields.skip(1);  // the version is for libhdf5 to refuse
  const std::uint64_t flags = fields.number(1), none = ~std::uint64_t{0} >> (64 - 8 * superblock.address_bytes);
  if ((flags & 0x01) != 0) fields.skip(8);  // the largest order
  const std::uint64_t heap = fields.number(superblock.address_bytes), names = fields.number(superblock.address_bytes);
  if (!fields.ok()) return link_damaged("where they are is cut short");
  if (heap != none && names == none) return link_damaged("the index of their names has no address");
  return {};
}

}  // namespace headrace::hdf5
