#include "format/npy/zip_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>

namespace headrace::npy {
namespace {

constexpr std::uint64_t kEndBytes = 22, kLocatorBytes = 20, kEnd64Bytes = 56, kEntryBytes = 46, kLocalBytes = 30;
constexpr std::uint64_t kMostCommentBytes = 0xFFFF;
constexpr std::uint64_t kMostDirectoryBytes = std::uint64_t{64} << 20;
constexpr std::string_view kEndMagic = "PK\x05\x06", kLocatorMagic = "PK\x06\x07", kEnd64Magic = "PK\x06\x06",
                           kEntryMagic = "PK\x01\x02", kLocalMagic = "PK\x03\x04";

Error zip_damaged(std::string what) {
  return Error(ErrorCode::kCorruptData, std::move(what));
}

/// Bytes with little-endian numbers in them.
class View {
 public:
  explicit View(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] bool starts_with(std::string_view magic) const { return bytes_.starts_with(magic); }
  [[nodiscard]] std::uint16_t u16(std::size_t at) const { return static_cast<std::uint16_t>(number(at, 2)); }
  [[nodiscard]] std::uint32_t u32(std::size_t at) const { return static_cast<std::uint32_t>(number(at, 4)); }
  [[nodiscard]] std::uint64_t u64(std::size_t at) const { return number(at, 8); }

 private:
  [[nodiscard]] std::uint64_t number(std::size_t at, std::size_t size) const {
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes_.at(at + i));
    return value;
  }
  std::string_view bytes_;
};

Result<std::vector<char>> read_text(const RandomAccessFile& file, ByteRange range) {
  std::vector<char> text(range.size);
  HEADRACE_TRY(file.read_at(range.offset, std::as_writable_bytes(std::span(text))));
  return text;
}

std::string_view text_of(const std::vector<char>& bytes) {
  return {bytes.data(), bytes.size()};
}

struct DirectoryPlace {
  ByteRange range;
  std::uint64_t num_members = 0;
};

/// Replace a place that does not fit 32 bits by that of the ZIP64 records before the end record.
Status read_place64(const RandomAccessFile& file, std::uint64_t end_offset, DirectoryPlace& place) {
  if (end_offset < kLocatorBytes) return {};
  HEADRACE_ASSIGN(const std::vector<char> locator_text, read_text(file, {end_offset - kLocatorBytes, kLocatorBytes}));
  const View locator(text_of(locator_text));
  if (!locator.starts_with(kLocatorMagic)) return {};
  const std::uint64_t offset = locator.u64(8);
  if (offset > end_offset - kLocatorBytes || end_offset - kLocatorBytes - offset < kEnd64Bytes)
    return zip_damaged("the archive's ZIP64 record lies outside the file");
  HEADRACE_ASSIGN(const std::vector<char> end_text, read_text(file, {offset, kEnd64Bytes}));
  const View end(text_of(end_text));
  if (!end.starts_with(kEnd64Magic)) return zip_damaged("the archive's ZIP64 record is not where it should be");
  place = {{end.u64(48), end.u64(40)}, end.u64(32)};
  return {};
}

Result<DirectoryPlace> find_directory(const RandomAccessFile& file) {
  const std::uint64_t size = file.size();
  const std::uint64_t tail_bytes = std::min(size, kEndBytes + kMostCommentBytes);
  HEADRACE_ASSIGN(const std::vector<char> tail_text, read_text(file, {size - tail_bytes, tail_bytes}));
  const std::string_view tail = text_of(tail_text);
  for (std::size_t at = tail.rfind(kEndMagic); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : tail.rfind(kEndMagic, at - 1)) {
    if (tail.size() - at < kEndBytes) continue;
    const View end(tail.substr(at));
    if (end.u16(20) != tail.size() - at - kEndBytes) continue;  // its comment ends the file
    if (end.u16(4) != 0 || end.u16(6) != 0 || end.u16(8) != end.u16(10))
      return Error(ErrorCode::kUnsupported, "a zip archive in several files");
    DirectoryPlace place{{end.u32(16), end.u32(12)}, end.u16(10)};
    const std::uint64_t end_offset = size - tail_bytes + at;
    HEADRACE_TRY(read_place64(file, end_offset, place));
    if (place.range.offset > end_offset || place.range.size > end_offset - place.range.offset)
      return zip_damaged("the archive's directory lies outside the file");
    if (place.range.size > kMostDirectoryBytes)
      return Error(ErrorCode::kUnsupported, fmt::format("an archive whose directory has {} bytes", place.range.size));
    return place;
  }
  return zip_damaged("the archive's directory, which ends it, is missing: a truncated copy?")
      .with_hint("Copy it again and compare the sizes.");
}

/// Sizes and offset that do not fit 32 bits stand in an extra field, in this order, those that do not fit only.
bool read_sizes64(std::string_view extra, std::uint64_t& decoded, std::uint64_t& stored, std::uint64_t& offset) {
  std::uint64_t* const wide[] = {&decoded, &stored, &offset};
  if (decoded != 0xFFFFFFFF && stored != 0xFFFFFFFF && offset != 0xFFFFFFFF) return true;
  while (extra.size() >= 4) {
    const std::size_t size = View(extra).u16(2);
    if (extra.size() - 4 < size) return false;
    if (View(extra).u16(0) == 1) {
      std::string_view field = extra.substr(4, size);
      for (std::uint64_t* value : wide) {
        if (*value != 0xFFFFFFFF) continue;
        if (field.size() < 8) return false;
        *value = View(field).u64(0);
        field.remove_prefix(8);
      }
      return true;
    }
    extra.remove_prefix(4 + size);
  }
  return false;
}

/// One entry of the directory. \param rest  What is left of it; the entry is taken away.
Result<ZipMember> parse_entry(std::string_view& rest, std::uint64_t& local_offset) {
  const View entry(rest);
  if (rest.size() < kEntryBytes || !entry.starts_with(kEntryMagic))
    return zip_damaged("the archive's directory is damaged: a member's entry is expected");
  const std::size_t name_bytes = entry.u16(28), extra_bytes = entry.u16(30), comment_bytes = entry.u16(32);
  if (rest.size() - kEntryBytes < name_bytes + extra_bytes + comment_bytes)
    return zip_damaged("the archive's directory ends within a member's entry");
  ZipMember member;
  member.name = rest.substr(kEntryBytes, name_bytes);
  member.encrypted = (entry.u16(8) & 1) != 0;
  member.method = entry.u16(10);
  member.crc32 = entry.u32(16);
  member.stored.size = entry.u32(20);
  member.decoded_bytes = entry.u32(24);
  local_offset = entry.u32(42);
  if (!read_sizes64(rest.substr(kEntryBytes + name_bytes, extra_bytes), member.decoded_bytes, member.stored.size,
                    local_offset))
    return zip_damaged("the archive's directory is damaged: a member's sizes are missing");
  rest.remove_prefix(kEntryBytes + name_bytes + extra_bytes + comment_bytes);
  return member;
}

/// The header before a member's bytes repeats its name; where it ends the bytes begin.
Status find_bytes(const RandomAccessFile& file, std::uint64_t offset, std::uint64_t end, ZipMember& member) {
  if (offset > end || end - offset < kLocalBytes) return zip_damaged("its header lies outside the archive");
  HEADRACE_ASSIGN(const std::vector<char> text, read_text(file, {offset, kLocalBytes}));
  const View local(text_of(text));
  if (!local.starts_with(kLocalMagic)) return zip_damaged("its header is not where the archive's directory says");
  const std::uint64_t name_bytes = local.u16(26), extra_bytes = local.u16(28);
  const std::uint64_t left = end - offset - kLocalBytes;
  if (name_bytes + extra_bytes > left || member.stored.size > left - name_bytes - extra_bytes)
    return zip_damaged(fmt::format("its {} bytes reach past the end of the archive", member.stored.size));
  HEADRACE_ASSIGN(const std::vector<char> name, read_text(file, {offset + kLocalBytes, name_bytes}));
  if (text_of(name) != member.name || local.u16(8) != member.method)
    return zip_damaged("its header is not that of the archive's directory");
  member.stored.offset = offset + kLocalBytes + name_bytes + extra_bytes;
  return {};
}

}  // namespace

Result<std::vector<ZipMember>> read_zip_directory(const RandomAccessFile& file) {
  HEADRACE_ASSIGN(const DirectoryPlace place, find_directory(file));
  HEADRACE_ASSIGN(const std::vector<char> text, read_text(file, place.range));
  std::vector<ZipMember> members;
  std::set<std::string_view> names;
  for (std::string_view rest = text_of(text); !rest.empty();) {
    std::uint64_t local_offset = 0;
    HEADRACE_ASSIGN(ZipMember member, parse_entry(rest, local_offset));
    Status found = find_bytes(file, local_offset, place.range.offset, member);
    if (!found.ok()) return std::move(found.error().with_field(member.name));
    members.push_back(std::move(member));
  }
  if (members.size() != place.num_members)
    return zip_damaged(
        fmt::format("the archive's directory has {} members, not {}", members.size(), place.num_members));
  for (const ZipMember& member : members)
    if (!names.insert(member.name).second)
      return zip_damaged("the archive has two members of this name").with_field(member.name);
  return members;
}

}  // namespace headrace::npy
