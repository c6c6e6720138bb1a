// ByteSink: a file that is written from its start to its end, through a buffer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headrace::token_files {

/// Return the bytes of a whole number, the lowest first.
template <class Number>
std::array<std::byte, sizeof(Number)> little_endian(Number number) {
  std::array<std::byte, sizeof(Number)> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(static_cast<std::uint64_t>(number) >> 8 * i & 0xFF);
  return bytes;
}

/// After a write that failed, how much of it is there is not known: every later call returns that error again.
/// Threads: one at a time. Errors: kWriteFailed, with the file.
class ByteSink {
 public:
  ByteSink() = default;
  ~ByteSink();
  ByteSink(const ByteSink&) = delete;
  ByteSink& operator=(const ByteSink&) = delete;

  /// Make an empty file; there must be none of that name.
  Status create(const std::string& path);
  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  /// Write a number little-endian.
  template <class Number>
  Status write_number(Number number) {
    return write(little_endian(number));
  }
  /// Put bytes in place of the first that were written.
  Status rewrite_start(std::string_view text);
  /// Go on with a file of which the first `size` bytes are kept. Errors: also kCorruptData  it is shorter.
  Status reopen(const std::string& path, std::uint64_t size);
  /// Write what is buffered, and wait until it is on the disk.
  Status save();
  /// Return how many bytes the file has, with those that are buffered.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Write what is buffered, wait until it is on the disk, and close the file.
  Status close();
  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }

 private:
  Status flush();
  [[nodiscard]] Error failed(const char* call) const;
  /// Return the same, kept for all later calls.
  Error lost(const char* call);

  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::vector<std::byte> buffer_;
  std::optional<Error> failure_;
};

/// Give a file or a folder its name, on the disk too. \return False, and nothing is done, if something has the name
/// that is no empty folder, also where it was made at the same time. Errors: kWriteFailed.
Result<bool> give_name(const std::string& from, const std::string& to);
/// Give a file or a folder its name, on the disk too; a file that has it goes. Errors: kWriteFailed.
Status replace_name(const std::string& from, const std::string& to);

}  // namespace headrace::token_files
