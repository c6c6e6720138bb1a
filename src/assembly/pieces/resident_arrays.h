// ResidentArrays: side arrays that are kept decoded, so that no block decodes their chunks again.
//
// They lie as a batch has them, column after column and row after row; of rows that repeat (ArrayInfo::repeats), one.
// What they take follows from their rows alone, however small the chunks are that a file cuts them into.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "assembly/source.h"
#include "assembly/window/window_slot.h"
#include "base/memory/page_buffer.h"

namespace headrace {

struct BlockLayout;

/// Filled once, before the first block; read by all threads from then on.
class ResidentArrays {
 public:
  /// Return the bytes of an array's columns in a file, each from a 64-byte boundary.
  static std::uint64_t bytes_of(const Source& source, std::size_t file, std::size_t array);

  /// Take the memory of every array that is resident in `layout`: BlockLayout::resident_bytes of it. What was here is
  /// dropped. Errors: kOutOfBudget.
  Status allocate(const Source& source, const BlockLayout& layout);
  /// Give the memory back.
  void clear();
  /// Return what is allocated, as a budget counts it.
  [[nodiscard]] std::uint64_t charged_bytes() const;

  /// Rows of an array that a thread decodes at once.
  struct ArrayPart {
    std::uint32_t file, array;
    RowRange rows;
  };
  /// Return the parts that make up an array in a file, of at most some thousand pieces each.
  static std::vector<ArrayPart> parts_of(const Source& source, const BlockLayout& layout, std::uint32_t file,
                                         std::uint32_t array);

  /// Return the first distinct row of each column of the array in a file, in the order of the source's columns.
  [[nodiscard]] const std::vector<std::byte*>& columns(std::uint32_t file, std::uint32_t array) const {
    return arrays_.at({file, array}).columns;
  }
  /// Note that rows of a part could not be decoded. Threads: any, until seal().
  void fail(const ArrayPart& part, RowRange rows, const Error& error);
  /// Call it once everything is loaded.
  void seal();
  /// Return the failures that meet `rows`.
  [[nodiscard]] std::span<const RowFailure> failures(std::uint32_t file, std::uint32_t array, RowRange rows) const;

 private:
  struct Array {
    std::vector<std::byte*> columns;
    std::vector<RowFailure> failures;  // once sealed: by rows, and none within another
  };
  std::vector<PageBuffer> memory_;                                   // one for each array, of all files
  std::map<std::pair<std::uint32_t, std::uint32_t>, Array> arrays_;  // (file, array)
  std::mutex mutex_;                                                 // of failures
};

}  // namespace headrace
