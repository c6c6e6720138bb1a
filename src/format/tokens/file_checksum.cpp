#include "format/tokens/file_checksum.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/checksum/crc32c.h"
#include "storage/file_system.h"

namespace headrace::token_files {
namespace {

constexpr std::uint64_t kReadBytes = 1 << 20;

}  // namespace

Result<std::uint32_t> crc32c_of(const std::string& path, std::uint64_t offset, std::uint64_t size_bytes,
                                const GoOn& go_on) {
  HEADRACE_ASSIGN(const auto file, FileSystem::of(path).open(path));
  std::vector<std::byte> bytes(std::min(kReadBytes, size_bytes));
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < size_bytes; done += bytes.size()) {
    bytes.resize(std::min(kReadBytes, size_bytes - done));
    HEADRACE_TRY(file->read_at(offset + done, bytes));
    crc = crc32c(bytes, crc);
    if (go_on && !go_on(bytes.size())) return Error(ErrorCode::kCancelled, "stopped while bytes were checked");
  }
  return crc;
}

Status check_file(const FileChecksum& file, const GoOn& go_on) {
  HEADRACE_ASSIGN(const PathStatus status, FileSystem::of(file.path).status(file.path));
  HEADRACE_ASSIGN(const std::uint32_t found, crc32c_of(file.path, 0, status.fingerprint.size_bytes, go_on));
  if (found != file.crc32c) return bytes_changed(file.path, found, file.crc32c);
  return {};
}

Error bytes_changed(const std::string& path, std::uint32_t found, std::uint32_t expected) {
  return Error(ErrorCode::kCorruptData,
               fmt::format("its bytes are not those that were written: their CRC-32C is {:08x}, and was {:08x}", found,
                           expected))
      .with_file(path)
      .with_stage("checksum")
      .with_hint("Copy them again from where they are whole, or write them anew.");
}

}  // namespace headrace::token_files
