// PackedWriter, PackedReader: numbers and texts as bytes that another run of the program reads back. Small numbers take
// one byte. A reader of damaged bytes never reads past them and never asks for more memory than they could fill.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

class PackedWriter {
 public:
  /// Append a number: 7 bits a byte, the lowest first.
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }
  void signed_number(std::int64_t value) {
    number(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
  }
  void flag(bool value) { number(value ? 1 : 0); }
  void text(std::string_view value) {
    number(value.size());
    bytes_.append(value);
  }
  void numbers(std::span<const std::uint64_t> values) {
    number(values.size());
    for (const std::uint64_t value : values) number(value);
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads in the order of writing. What is asked for after the bytes ended, or made no sense, is 0 or empty, and ok() is
/// false from then on: look at it before anything that was read is used.
class PackedReader {
 public:
  explicit PackedReader(std::string_view bytes) : left_(bytes) {}

  [[nodiscard]] bool ok() const { return ok_; }
  /// Return true if all was read and nothing is left.
  [[nodiscard]] bool complete() const { return ok_ && left_.empty(); }
  /// Let ok() be false from now on.
  void fail() {
    ok_ = false;
    left_ = {};
  }

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !left_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(left_[0]);
      left_.remove_prefix(1);
      if (shift > 63 || (shift == 63 && (byte & 0x7F) > 1)) break;  // more than 64 bits
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    fail();
    return 0;
  }
  /// Read a number of at most `most`.
  std::uint64_t number_up_to(std::uint64_t most) {
    const std::uint64_t value = number();
    if (value <= most) return value;
    fail();
    return 0;
  }
  std::int64_t signed_number() {
    const std::uint64_t value = number();
    return static_cast<std::int64_t>(value >> 1 ^ (~(value & 1) + 1));
  }
  bool flag() { return number_up_to(1) == 1; }
  /// Read how many items follow, each of a byte at least: never more than there are bytes.
  std::size_t count() {
    const std::uint64_t value = number();
    if (value <= left_.size()) return static_cast<std::size_t>(value);
    fail();
    return 0;
  }
  /// Read a text, which is valid as long as the bytes that are read.
  std::string_view text() {
    const std::size_t size = count();
    const std::string_view value = left_.substr(0, size);
    left_.remove_prefix(value.size());
    return value;
  }
  std::vector<std::uint64_t> numbers() {
    std::vector<std::uint64_t> values(count());
    for (std::uint64_t& value : values) value = number();
    return ok_ ? values : std::vector<std::uint64_t>{};
  }

 private:
  std::string_view left_;
  bool ok_ = true;
};

}  // namespace headrace
