// NumberStream: little-endian numbers of a file, one after the other, through a small buffer.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "storage/random_access_file.h"

namespace headrace::token_files {

template <class Number>
class NumberStream {
 public:
  /// \param offset  Byte of the first number. \param count  The caller has checked that so many lie in the file.
  NumberStream(const RandomAccessFile& file, std::uint64_t offset, std::uint64_t count)
      : file_(file), offset_(offset), left_(count) {}

  /// Return the next number; there must be one. Errors: those of reading.
  Result<Number> next() {
    if (at_ == held_.size()) {
      constexpr std::uint64_t kMostHeld = 1 << 16;
      held_.resize(std::min(kMostHeld, left_));
      HEADRACE_TRY(file_.read_at(offset_ + taken_ * sizeof(Number), std::as_writable_bytes(std::span(held_))));
      left_ -= held_.size();
      at_ = 0;
    }
    ++taken_;
    return native(held_[at_++]);
  }
  /// Return where the number lies that next() returned last.
  [[nodiscard]] ByteRange place() const { return {offset_ + (taken_ - 1) * sizeof(Number), sizeof(Number)}; }

 private:
  static Number native(Number number) {
    if constexpr (std::endian::native == std::endian::big) {
      auto* const bytes = reinterpret_cast<std::byte*>(&number);
      std::reverse(bytes, bytes + sizeof(Number));
    }
    return number;
  }

  const RandomAccessFile& file_;
  std::uint64_t offset_, left_, taken_ = 0;
  std::size_t at_ = 0;
  std::vector<Number> held_;
};

/// Return one little-endian number of a file. Errors: those of reading.
template <class Number>
Result<Number> number_at(const RandomAccessFile& file, std::uint64_t offset) {
  return NumberStream<Number>(file, offset, 1).next();
}

}  // namespace headrace::token_files
