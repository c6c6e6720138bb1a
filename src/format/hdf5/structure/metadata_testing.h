// Pieces of a file's metadata, put together byte by byte, so that tests can say what no library writes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/hdf5/structure/checksum.h"
#include "format/hdf5/structure/superblock.h"
#include "storage/testing/memory_file.h"

namespace headrace::hdf5 {

/// A block of metadata. Numbers are little-endian.
class Block {
 public:
  explicit Block(const Superblock& sizes, std::string_view signature = "") : sizes_(sizes) { text(signature); }
  Block& number(std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) bytes_.push_back(static_cast<std::byte>(i < 8 ? value >> 8 * i : 0));
    return *this;
  }
  Block& address(std::uint64_t value) { return number(value, sizes_.address_bytes); }
  Block& length(std::uint64_t value) { return number(value, sizes_.length_bytes); }
  Block& zeros(std::size_t count) { return number(0, count); }
  Block& text(std::string_view value) {
    for (const char c : value) bytes_.push_back(static_cast<std::byte>(c));
    return *this;
  }
  /// Append the checksum of all before it.
  Block& sign() { return number(metadata_checksum(bytes_), 4); }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
  [[nodiscard]] std::vector<std::byte>& bytes() { return bytes_; }

 private:
  const Superblock& sizes_;
  std::vector<std::byte> bytes_;
};

/// A file in the making. Blocks lie behind each other, after the user block and 64 bytes.
class Disk {
 public:
  explicit Disk(unsigned address_bytes = 8, unsigned length_bytes = 8, std::uint64_t user_block = 0) {
    superblock.at = user_block;
    superblock.address_bytes = address_bytes, superblock.length_bytes = length_bytes;
    bytes.resize(static_cast<std::size_t>(user_block) + 64);
  }
  [[nodiscard]] Block block(std::string_view signature = "") const { return Block(superblock, signature); }
  /// Return where the next block is going to lie, as in the file.
  [[nodiscard]] std::uint64_t end() const { return bytes.size() - superblock.at; }
  std::uint64_t add(const Block& block) {
    const std::uint64_t at = end();
    bytes.insert(bytes.end(), block.bytes().begin(), block.bytes().end());
    return at;
  }
  void put(std::uint64_t at, const Block& block) {
    std::ranges::copy(block.bytes(), bytes.begin() + static_cast<std::ptrdiff_t>(at + superblock.at));
  }
  /// Add `difference` to the byte at `offset` of the block at `at`. \param size  Of a block whose checksum is to fit.
  void change(std::uint64_t at, std::uint64_t offset, unsigned difference, std::uint64_t size = 0) {
    const std::span<std::byte> all = std::span(bytes).subspan(static_cast<std::size_t>(at + superblock.at));
    std::byte& byte = all[static_cast<std::size_t>(offset)];
    byte = static_cast<std::byte>(std::to_integer<unsigned>(byte) + difference);
    if (size == 0) return;
    const std::span<std::byte> signed_bytes = all.first(static_cast<std::size_t>(size - 4));
    put(at + size - 4, block().number(metadata_checksum(signed_bytes), 4));
  }
  [[nodiscard]] MemoryFile file() const { return {"memory.h5", bytes}; }
  [[nodiscard]] std::shared_ptr<MemoryFile> share() const { return std::make_shared<MemoryFile>("memory.h5", bytes); }

  Superblock superblock;
  std::vector<std::byte> bytes;
};

/// Expect damage, of which the text says `why`.
template <class T>
void expect_damaged(const Result<T>& result, std::string_view why) {
  ASSERT_FALSE(result.ok()) << why;
  Result<T> copy = result;
  EXPECT_EQ(copy.error().code(), ErrorCode::kCorruptData) << copy.error().what();
  EXPECT_NE(std::string_view(copy.error().what()).find(why), std::string_view::npos) << copy.error().what();
}

struct SizesOfNumbers {
  unsigned address, length;
};
inline constexpr SizesOfNumbers kAllSizes[] = {{8, 8}, {4, 8}, {8, 4}, {4, 4}, {2, 2}};

}  // namespace headrace::hdf5
