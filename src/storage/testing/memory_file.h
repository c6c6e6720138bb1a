// Test double: a file in memory.
#pragma once

#include <string>
#include <vector>

#include "storage/random_access_file.h"

namespace headrace {

class MemoryFile final : public RandomAccessFile {
 public:
  MemoryFile(std::string name, std::vector<std::byte> bytes) : name_(std::move(name)), bytes_(std::move(bytes)) {}
  /// `size` bytes of which every one tells its offset: see pattern_byte.
  static std::shared_ptr<MemoryFile> pattern(std::uint64_t size, std::string name = "pattern");
  /// The byte that a pattern file has at `offset`; no short period.
  static std::byte pattern_byte(std::uint64_t offset);

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  Status read_at(std::uint64_t offset, std::span<std::byte> out) const override;
  Status check_unchanged() const override { return {}; }

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::string name_;
  std::vector<std::byte> bytes_;
};

}  // namespace headrace
