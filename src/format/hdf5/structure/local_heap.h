// Local heaps (specification III.D): the names of an old group, and of external raw files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/hdf5/structure/superblock.h"
#include "storage/random_access_file.h"

namespace headrace::hdf5 {

class LocalHeap {
 public:
  /// Read and check the heap at `address` (as in the file). Errors: kCorruptData; those of reading.
  static Result<LocalHeap> read(const RandomAccessFile& file, const Superblock& superblock, std::uint64_t address);
  /// Return true if a text begins at `offset` that ends within the heap. libhdf5 looks for its end without a limit.
  [[nodiscard]] bool has_text(std::uint64_t offset) const { return offset < text_end_; }
  /// Return a text that has_text(), without the zero at its end. It lives as long as the heap does.
  [[nodiscard]] std::string_view text(std::uint64_t offset) const;

 private:
  std::vector<std::byte> data_;
  std::uint64_t text_end_ = 0;  // behind the last zero
};

}  // namespace headrace::hdf5
