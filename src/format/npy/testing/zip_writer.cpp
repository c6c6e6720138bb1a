#include "format/npy/testing/zip_writer.h"

#include <zlib.h>

#include <cstdint>
#include <cstring>

namespace headrace::npy {
namespace {

/// Bytes that grow by little-endian numbers.
class Out {
 public:
  std::vector<std::byte> bytes;
  void u16(std::uint64_t value) { number(value, 2); }
  void u32(std::uint64_t value) { number(value, 4); }
  void u64(std::uint64_t value) { number(value, 8); }
  void text(const std::string& text) {
    for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  }
  void append(const std::vector<std::byte>& more) { bytes.insert(bytes.end(), more.begin(), more.end()); }

 private:
  void number(std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i, value >>= 8) bytes.push_back(static_cast<std::byte>(value & 0xFF));
  }
};

std::vector<std::byte> deflate_raw(const std::vector<std::byte>& in) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::vector<std::byte> out(deflateBound(&stream, static_cast<uLong>(in.size())));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

std::vector<std::byte> write_zip(const std::vector<ZipInput>& members, bool zip64) {
  Out archive, directory;
  for (const ZipInput& member : members) {
    const std::vector<std::byte> stored = member.deflated ? deflate_raw(member.bytes) : member.bytes;
    const auto crc =
        crc32(0, reinterpret_cast<const Bytef*>(member.bytes.data()), static_cast<uInt>(member.bytes.size()));
    const std::uint64_t offset = archive.bytes.size();
    const auto describe = [&](Out& out) {  // what both headers hold
      out.u16(zip64 ? 45 : 20), out.u16(0), out.u16(member.deflated ? 8 : 0), out.u16(0), out.u16(0x21);
      out.u32(crc);
      out.u32(zip64 ? 0xFFFFFFFF : stored.size()), out.u32(zip64 ? 0xFFFFFFFF : member.bytes.size());
      out.u16(member.name.size());
    };
    archive.text("PK\x03\x04");
    describe(archive);
    archive.u16(zip64 ? 20 : 0);
    archive.text(member.name);
    if (zip64) archive.u16(1), archive.u16(16), archive.u64(member.bytes.size()), archive.u64(stored.size());
    archive.append(stored);
    directory.text("PK\x01\x02");
    directory.u16(45);
    describe(directory);
    directory.u16(zip64 ? 28 : 0), directory.u16(0), directory.u16(0), directory.u16(0), directory.u32(0);
    directory.u32(zip64 ? 0xFFFFFFFF : offset);
    directory.text(member.name);
    if (zip64)
      directory.u16(1), directory.u16(24), directory.u64(member.bytes.size()), directory.u64(stored.size()),
          directory.u64(offset);
  }
  const std::uint64_t start = archive.bytes.size(), size = directory.bytes.size();
  archive.append(directory.bytes);
  if (zip64) {
    const std::uint64_t end64 = archive.bytes.size();
    archive.text("PK\x06\x06");
    archive.u64(44), archive.u16(45), archive.u16(45), archive.u32(0), archive.u32(0);
    archive.u64(members.size()), archive.u64(members.size()), archive.u64(size), archive.u64(start);
    archive.text("PK\x06\x07");
    archive.u32(0), archive.u64(end64), archive.u32(1);
  }
  archive.text("PK\x05\x06");
  archive.u16(0), archive.u16(0), archive.u16(zip64 ? 0xFFFF : members.size());
  archive.u16(zip64 ? 0xFFFF : members.size()), archive.u32(zip64 ? 0xFFFFFFFF : size);
  archive.u32(zip64 ? 0xFFFFFFFF : start), archive.u16(0);
  return archive.bytes;
}

}  // namespace headrace::npy
