// Fractal heaps (specification III.E), in which newer groups keep many links.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "format/hdf5/structure/superblock.h"
#include "storage/random_access_file.h"

namespace headrace::hdf5 {

class FractalHeap {
 public:
  /// Read the heap whose header is at `address` (as in the file), and check all of its blocks.
  /// Errors: kCorruptData; kUnsupported for a heap with filters; those of reading.
  static Result<FractalHeap> read(const RandomAccessFile& file, const Superblock& superblock, std::uint64_t address);
  /// Return the object of an identifier. Errors: kCorruptData; those of reading.
  [[nodiscard]] Result<std::vector<std::byte>> object(std::span<const std::byte> id) const;
  /// Return the bytes of an identifier.
  [[nodiscard]] std::uint64_t id_bytes() const { return id_bytes_; }

 private:
  FractalHeap(const RandomAccessFile& file, const Superblock& superblock, std::uint64_t address)
      : file_(file), superblock_(superblock), address_(address) {}
  Status read_header();
  Status read_huge(std::uint64_t tree);
  Status count(std::uint64_t block, std::uint64_t size);
  Status visit_direct(std::uint64_t block, std::uint64_t offset, std::uint64_t size);
  Status visit_indirect(std::uint64_t block, std::uint64_t offset, std::uint64_t rows);
  Status check_prefix(std::span<const std::byte> block, const char* signature, std::uint64_t offset) const;
  /// Return the size of the blocks of a row.
  [[nodiscard]] std::uint64_t row_bytes(std::uint64_t row) const { return row == 0 ? start_ : start_ << (row - 1); }

  const RandomAccessFile& file_;
  const Superblock& superblock_;
  const std::uint64_t address_;
  std::uint64_t id_bytes_ = 0, width_ = 0, start_ = 0, most_direct_ = 0, offset_bytes_ = 0, length_bytes_ = 0;
  std::uint64_t most_bits_ = 0, all_bytes_ = 0;
  bool has_checksums_ = false, direct_huge_ = false;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> blocks_;  // by offset: address and size
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> huge_;    // by number: address and size
  std::unordered_set<std::uint64_t> seen_;                                   // addresses of blocks
};

}  // namespace headrace::hdf5
