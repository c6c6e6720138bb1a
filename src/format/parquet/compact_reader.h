// CompactReader: Thrift's compact protocol, in which Parquet writes its metadata, read from bytes that cannot be
// trusted.
//
// Source: the Apache Thrift specification "Thrift Compact protocol encoding". A failure is sticky: from then on every
// number is 0, every text empty and every struct over, so that callers ask once at the end.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace headrace::parquet {

/// Types of the compact protocol, as they stand in field and list headers.
enum class CompactType : std::uint8_t {
  kStop = 0,
  kTrue = 1,
  kFalse = 2,
  kByte = 3,
  kI16 = 4,
  kI32 = 5,
  kI64 = 6,
  kDouble = 7,
  kBinary = 8,
  kList = 9,
  kSet = 10,
  kMap = 11,
  kStruct = 12,
  kUuid = 13
};

/// Threads: one. Memory: what it reads from must live as long as the texts that binary() gives.
class CompactReader {
 public:
  explicit CompactReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  /// Read a struct: `on_field(id, type)` for each of its fields. It returns whether it has read the field's value; what
  /// it has not is skipped.
  template <std::predicate<int, CompactType> F>
  void read_struct(F&& on_field) {
    if (!enter()) return;
    int id = 0;
    for (CompactType type = next_field(id); type != CompactType::kStop && ok(); type = next_field(id))
      if (!on_field(id, type)) skip(type);
    leave();
  }
  /// Read a list or set: `on_entry(index)` must read one entry. Lists of another type than `entries` are failures.
  /// A list cannot say that it has more entries than there are bytes left.
  template <std::invocable<std::size_t> F>
  void read_list(CompactType type, CompactType entries, F&& on_entry) {
    if (!enter()) return;
    const std::size_t count = list_header(type, entries);
    for (std::size_t i = 0; i < count && ok(); ++i) on_entry(i);
    leave();
  }

  /// Read a number of one of the integer types; another type is a failure.
  std::int64_t integer(CompactType type);
  /// Read an integer that must be in [0, most].
  std::uint64_t count(CompactType type, std::uint64_t most);
  /// Read a truth value of a struct's field.
  bool boolean(CompactType type);
  std::string_view binary(CompactType type);
  void skip(CompactType type);

  /// Take what follows for damaged, for a reason of the caller's.
  void fail(std::string why);
  [[nodiscard]] bool ok() const { return error_.empty(); }
  /// Return true if the bytes end in the middle: more of them might make sense.
  [[nodiscard]] bool ended_early() const { return ended_early_; }
  [[nodiscard]] const std::string& error() const { return error_; }
  /// Return how many bytes were read.
  [[nodiscard]] std::size_t position() const { return at_; }

 private:
  static constexpr int kMostDepth = 32;
  bool enter();
  void leave() { --depth_; }
  void end_early();
  std::uint8_t byte();
  std::uint64_t varint();
  std::int64_t zigzag();
  CompactType next_field(int& id);
  std::size_t list_header(CompactType type, CompactType entries);
  void skip_bytes(std::uint64_t count);
  void skip_entry(CompactType type);

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool ended_early_ = false;
  std::string error_;
};

}  // namespace headrace::parquet
