#include "storage/testing/memory_file.h"

#include <cstring>

#include "storage/range_check.h"

namespace headrace {

std::byte MemoryFile::pattern_byte(std::uint64_t offset) {
  return static_cast<std::byte>((offset * 0x9E3779B97F4A7C15u) >> 56);
}

std::shared_ptr<MemoryFile> MemoryFile::pattern(std::uint64_t size, std::string name) {
  std::vector<std::byte> bytes(size);
  for (std::uint64_t i = 0; i < size; ++i) bytes[i] = pattern_byte(i);
  return std::make_shared<MemoryFile>(std::move(name), std::move(bytes));
}

Status MemoryFile::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  HEADRACE_TRY(check_range(name_, size(), offset, out.size()));
  if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
  return {};
}

}  // namespace headrace
