#include "format/parquet/compact_reader.h"

#include <fmt/format.h>

namespace headrace::parquet {

void CompactReader::fail(std::string why) {
  if (!ok()) return;
  error_ = fmt::format("{} (byte {} of its metadata)", why, at_);
}

void CompactReader::end_early() {
  if (!ok()) return;
  ended_early_ = true;
  error_ = fmt::format("its metadata end in the middle, after {} bytes", bytes_.size());
}

bool CompactReader::enter() {
  if (++depth_ > kMostDepth) fail(fmt::format("structures nested deeper than {}", kMostDepth));
  if (!ok()) --depth_;
  return ok();
}

std::uint8_t CompactReader::byte() {
  if (at_ >= bytes_.size()) end_early();
  return ok() ? std::to_integer<std::uint8_t>(bytes_[at_++]) : std::uint8_t{0};
}

std::uint64_t CompactReader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const std::uint8_t next = byte();
    value |= std::uint64_t{next & 0x7fU} << shift;
    if ((next & 0x80U) == 0) return value;
  }
  fail("a number longer than ten bytes");
  return 0;
}

std::int64_t CompactReader::zigzag() {
  const std::uint64_t value = varint();
  return static_cast<std::int64_t>(value >> 1 ^ (~(value & 1) + 1));
}

CompactType CompactReader::next_field(int& id) {
  const std::uint8_t head = byte();
  const auto type = static_cast<CompactType>(head & 0x0fU);
  if (type == CompactType::kStop) return type;
  if (type > CompactType::kUuid) fail(fmt::format("a field of the unknown type {}", head & 0x0fU));
  const std::int64_t next = head >> 4 == 0 ? zigzag() : id + (head >> 4);
  if (next < -32768 || next > 32767) fail("a field number beyond 16 bits");
  id = static_cast<int>(next);
  return ok() ? type : CompactType::kStop;
}

std::size_t CompactReader::list_header(CompactType type, CompactType entries) {
  if (type != CompactType::kList && type != CompactType::kSet) fail("no list where one must be");
  const std::uint8_t head = byte();
  const std::uint64_t count = head >> 4 == 15 ? varint() : head >> 4;
  if (count == 0 || !ok()) return 0;
  if (static_cast<CompactType>(head & 0x0fU) != entries) fail("a list of another type than its specification says");
  if (count > bytes_.size() - at_) {
    if (count > bytes_.size() + (std::uint64_t{1} << 24)) fail(fmt::format("a list of {} entries", count));
    end_early();
  }
  return ok() ? static_cast<std::size_t>(count) : 0;
}

std::int64_t CompactReader::integer(CompactType type) {
  switch (type) {
    case CompactType::kByte:
      return static_cast<std::int8_t>(byte());
    case CompactType::kI16:
    case CompactType::kI32:
    case CompactType::kI64: {
      const std::int64_t value = zigzag();
      const int bits = type == CompactType::kI16 ? 16 : type == CompactType::kI32 ? 32 : 64;
      if (bits < 64 && (value < -(std::int64_t{1} << (bits - 1)) || value >= std::int64_t{1} << (bits - 1)))
        fail(fmt::format("a number beyond its {} bits", bits));
      return ok() ? value : 0;
    }
    default:
      fail("no number where one must be");
      return 0;
  }
}

std::uint64_t CompactReader::count(CompactType type, std::uint64_t most) {
  const std::int64_t value = integer(type);
  if (value < 0 || static_cast<std::uint64_t>(value) > most)
    fail(fmt::format("{} where a number from 0 to {} must be", value, most));
  return ok() ? static_cast<std::uint64_t>(value) : 0;
}

bool CompactReader::boolean(CompactType type) {
  if (type != CompactType::kTrue && type != CompactType::kFalse) fail("no truth value where one must be");
  return type == CompactType::kTrue;
}

std::string_view CompactReader::binary(CompactType type) {
  if (type != CompactType::kBinary) fail("no text where one must be");
  const std::uint64_t size = varint();
  if (!ok()) return {};
  const std::size_t from = at_;
  skip_bytes(size);
  return ok() ? std::string_view(reinterpret_cast<const char*>(bytes_.data()) + from, static_cast<std::size_t>(size))
              : std::string_view();
}

void CompactReader::skip_bytes(std::uint64_t count) {
  if (count > bytes_.size() - at_) {
    if (count > std::uint64_t{1} << 31) fail(fmt::format("a text of {} bytes", count));
    end_early();
  }
  if (ok()) at_ += static_cast<std::size_t>(count);
}

/// Truth values take a byte in a list, and none as a field.
void CompactReader::skip_entry(CompactType type) {
  if (type == CompactType::kTrue || type == CompactType::kFalse)
    skip_bytes(1);
  else
    skip(type);
}

void CompactReader::skip(CompactType type) {
  switch (type) {
    case CompactType::kTrue:
    case CompactType::kFalse:
      return;
    case CompactType::kByte:
      return skip_bytes(1);
    case CompactType::kI16:
    case CompactType::kI32:
    case CompactType::kI64:
      varint();
      return;
    case CompactType::kDouble:
      return skip_bytes(8);
    case CompactType::kUuid:
      return skip_bytes(16);
    case CompactType::kBinary:
      binary(type);
      return;
    case CompactType::kStruct:
      return read_struct([](int, CompactType) { return false; });
    case CompactType::kList:
    case CompactType::kSet: {
      if (!enter()) return;
      const std::uint8_t head = byte();
      const std::uint64_t count = head >> 4 == 15 ? varint() : head >> 4;
      for (std::uint64_t i = 0; i < count && ok(); ++i) skip_entry(static_cast<CompactType>(head & 0x0fU));
      return leave();
    }
    case CompactType::kMap: {
      if (!enter()) return;
      const std::uint64_t count = varint();
      const std::uint8_t types = count == 0 ? std::uint8_t{0} : byte();
      for (std::uint64_t i = 0; i < count && ok(); ++i) {
        skip_entry(static_cast<CompactType>(types >> 4));
        skip_entry(static_cast<CompactType>(types & 0x0fU));
      }
      return leave();
    }
    default:
      return fail(fmt::format("a value of the unknown type {}", static_cast<int>(type)));
  }
}

}  // namespace headrace::parquet
