// Variable-length text, read by ourselves: libhdf5 1.10 follows sizes and indexes of a damaged global heap out of its
// buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "format/hdf5/structure/superblock.h"
#include "storage/random_access_file.h"

namespace headrace::hdf5 {

/// Texts of the global heaps of one file (specification III.E). The heap that was read last is kept, for neighbours lie
/// in one; a file whose texts jump between large heaps gets no more of them once kMostBytes were read.
/// Threads: one at a time.
class HeapTexts {
 public:
  /// Bytes of heaps that are read for one object of this class.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;

  HeapTexts(const RandomAccessFile& file, const Superblock& superblock) : file_(file), superblock_(superblock) {}
  /// Return the first `length` bytes of object `index` in the heap at `address`; nullopt if the heap is damaged or has
  /// no such object, or if too much was read already.
  std::optional<std::string> text(std::uint64_t address, std::uint64_t index, std::uint64_t length);
  /// Return how many bytes of heaps were read so far.
  [[nodiscard]] std::uint64_t read_bytes() const { return read_bytes_; }

 private:
  void load(std::uint64_t address);
  bool read(std::uint64_t at, std::vector<std::byte>& bytes);

  struct Object {
    std::uint64_t offset, size;
  };
  const RandomAccessFile& file_;
  const Superblock& superblock_;
  std::optional<std::uint64_t> address_;  // of what is loaded; damaged heaps are remembered as empty
  std::vector<std::byte> heap_;
  std::unordered_map<std::uint64_t, Object> objects_;
  std::uint64_t read_bytes_ = 0;
};

}  // namespace headrace::hdf5
