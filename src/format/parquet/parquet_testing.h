// A small writer of Parquet files for tests: it shares nothing with the reader but the names of types.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/parquet/compact_reader.h"
#include "format/parquet/file_metadata.h"
#include "format/parquet/pages/page_header.h"

namespace headrace::parquet {

using Bytes = std::vector<std::byte>;

inline void append(Bytes& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}
/// Return the bytes of a number, little-endian.
template <class T>
Bytes bytes_of(T value) {
  Bytes bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
inline Bytes bytes_of_text(std::string_view text) {
  Bytes bytes(text.size());
  std::transform(text.begin(), text.end(), bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
  return bytes;
}
inline void append_varint(Bytes& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<std::byte>(value | 0x80));
  to.push_back(static_cast<std::byte>(value));
}
inline std::uint64_t zigzag_of(std::int64_t value) {
  return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}

/// Thrift's compact protocol. A struct is open from the start; end() is the end of it.
class CompactWriter {
 public:
  CompactWriter& number(int id, std::int64_t value, CompactType type = CompactType::kI32) {
    return head(id, type).varint(zigzag_of(value));
  }
  CompactWriter& long_number(int id, std::int64_t value) { return number(id, value, CompactType::kI64); }
  CompactWriter& truth(int id, bool value) { return head(id, value ? CompactType::kTrue : CompactType::kFalse); }
  CompactWriter& text(int id, std::string_view value) { return head(id, CompactType::kBinary).entry(value); }
  CompactWriter& list(int id, CompactType entries, std::size_t count) {
    head(id, CompactType::kList);
    bytes.push_back(static_cast<std::byte>(std::min<std::size_t>(count, 15) << 4 | static_cast<unsigned>(entries)));
    return count < 15 ? *this : varint(count);
  }
  /// An entry of a list.
  CompactWriter& entry(std::string_view value) {
    varint(value.size());
    append(bytes, bytes_of_text(value));
    return *this;
  }
  CompactWriter& entry(std::int64_t value) { return varint(zigzag_of(value)); }
  /// A struct that is a field.
  CompactWriter& begin(int id) { return head(id, CompactType::kStruct).begin(); }
  /// A struct that is an entry.
  CompactWriter& begin() {
    last_.push_back(0);
    return *this;
  }
  CompactWriter& end() {
    bytes.push_back(std::byte{0});
    last_.pop_back();
    return *this;
  }
  CompactWriter& head(int id, CompactType type) {
    const int step = id - last_.back();
    bytes.push_back(static_cast<std::byte>((step > 0 && step < 16 ? step << 4 : 0) | static_cast<int>(type)));
    if (step <= 0 || step >= 16) varint(zigzag_of(id));
    last_.back() = id;
    return *this;
  }
  CompactWriter& varint(std::uint64_t value) {
    append_varint(bytes, value);
    return *this;
  }

  Bytes bytes;

 private:
  std::vector<int> last_{0};
};

/// Numbers of `width` bits, one behind the other from the lowest bit on.
template <class T>
Bytes packed_bits(std::span<const T> numbers, std::uint32_t width) {
  Bytes bytes((numbers.size() * width + 7) / 8);
  for (std::size_t i = 0; i < numbers.size() * width; ++i)
    if ((static_cast<std::uint64_t>(numbers[i / width]) >> (i % width) & 1) != 0)
      bytes[i / 8] |= static_cast<std::byte>(1U << i % 8);
  return bytes;
}

inline void append_repeated(Bytes& to, std::uint64_t count, std::uint32_t value, std::uint32_t width) {
  append_varint(to, count << 1);
  const Bytes bytes = bytes_of(value);
  append(to, std::span(bytes).first((width + 7) / 8));
}
/// A bit-packed run; what lacks of its last group is zeros.
inline void append_packed(Bytes& to, std::vector<std::uint32_t> numbers, std::uint32_t width) {
  numbers.resize((numbers.size() + 7) / 8 * 8);
  append_varint(to, numbers.size() / 8 << 1 | 1);
  append(to, packed_bits(std::span<const std::uint32_t>(numbers), width));
}
/// Run of 16: repeated ones where all are the same, else bit-packed.
inline Bytes runs_of(std::span<const std::uint32_t> numbers, std::uint32_t width) {
  Bytes out;
  for (std::size_t i = 0; i < numbers.size(); i += 16) {
    const auto some = numbers.subspan(i, std::min<std::size_t>(16, numbers.size() - i));
    if (std::ranges::all_of(some, [&](std::uint32_t n) { return n == some[0]; }))
      append_repeated(out, some.size(), some[0], width);
    else
      append_packed(out, {some.begin(), some.end()}, width);
  }
  return out;
}

/// DELTA_BINARY_PACKED.
inline Bytes deltas_of(std::span<const std::int64_t> values, std::size_t block = 32, std::size_t miniblocks = 4) {
  Bytes out;
  for (const std::uint64_t n : {block, miniblocks, values.size()}) append_varint(out, n);
  append_varint(out, values.empty() ? 0 : zigzag_of(values[0]));
  const auto delta = [&](std::size_t i) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(values[i]) - static_cast<std::uint64_t>(values[i - 1]));
  };
  const std::size_t mini = block / miniblocks;
  for (std::size_t i = 1; i < values.size(); i += block) {
    const std::size_t end = std::min(i + block, values.size());
    std::int64_t least = delta(i);
    for (std::size_t k = i; k < end; ++k) least = std::min(least, delta(k));
    append_varint(out, zigzag_of(least));
    Bytes widths(miniblocks), packed;
    for (std::size_t m = 0; m < miniblocks && i + m * mini < end; ++m) {
      std::vector<std::uint64_t> numbers(mini);
      std::uint64_t all = 0;
      for (std::size_t k = i + m * mini; k < std::min(i + (m + 1) * mini, end); ++k)
        all |= numbers[k - i - m * mini] = static_cast<std::uint64_t>(delta(k)) - static_cast<std::uint64_t>(least);
      const auto width = static_cast<std::uint32_t>(std::bit_width(all));
      widths[m] = static_cast<std::byte>(width);
      append(packed, packed_bits(std::span<const std::uint64_t>(numbers), width));
    }
    append(out, widths);
    append(out, packed);
  }
  return out;
}

/// Snappy of literals alone.
inline Bytes snappy_of(std::span<const std::byte> plain) {
  Bytes out;
  append_varint(out, plain.size());
  for (std::size_t i = 0; i < plain.size(); i += 60) {
    const auto some = plain.subspan(i, std::min<std::size_t>(60, plain.size() - i));
    out.push_back(static_cast<std::byte>((some.size() - 1) << 2));
    append(out, some);
  }
  return out;
}

/// A value as PLAIN stores it, without the length of byte arrays; truth values are a byte. Nothing: a null.
using StoredValue = std::optional<Bytes>;

struct TestColumn {
  std::string name = "x";
  PhysicalType physical = PhysicalType::kInt32;
  std::uint32_t type_length = 0;
  bool optional = false;
  std::function<void(CompactWriter&)> meaning = nullptr;  ///< Writes fields 6 to 10 of its SchemaElement.
  Encoding encoding = Encoding::kPlain;
  bool snappy = false, version2 = false, checksums = false;
  std::size_t page_rows = 10;
  std::vector<StoredValue> values = {};
};

struct TestPage {
  PageHeader header;  ///< Without header_bytes.
  Bytes body;         ///< Decompressed.
};

/// The values that are there, in an encoding. \param dictionary  Grows by what it lacks.
inline Bytes encoded_values(const TestColumn& column, std::span<const Bytes> values, std::vector<Bytes>& dictionary) {
  Bytes out;
  std::vector<std::uint32_t> numbers;
  switch (column.encoding) {
    case Encoding::kPlain:
      for (const Bytes& value : values) {
        numbers.push_back(std::to_integer<std::uint32_t>(value.empty() ? std::byte{0} : value[0]));
        if (column.physical == PhysicalType::kByteArray)
          append(out, bytes_of(static_cast<std::uint32_t>(value.size())));
        append(out, value);
      }
      return column.physical == PhysicalType::kBoolean ? packed_bits(std::span<const std::uint32_t>(numbers), 1) : out;
    case Encoding::kRle:
      for (const Bytes& value : values) numbers.push_back(std::to_integer<std::uint32_t>(value[0]));
      append(out, runs_of(numbers, 1));
      numbers = {static_cast<std::uint32_t>(out.size())};
      out.insert(out.begin(), reinterpret_cast<std::byte*>(numbers.data()),
                 reinterpret_cast<std::byte*>(numbers.data()) + 4);
      return out;
    case Encoding::kDeltaBinaryPacked: {
      std::vector<std::int64_t> integers;
      for (const Bytes& value : values) {
        std::int32_t narrow = 0;
        std::memcpy(&narrow, value.data(), 4);
        integers.push_back(narrow);
        if (value.size() == 8) std::memcpy(&integers.back(), value.data(), 8);
      }
      return deltas_of(integers);
    }
    case Encoding::kByteStreamSplit:
      for (std::size_t i = 0; !values.empty() && i < values[0].size(); ++i)
        for (const Bytes& value : values) out.push_back(value[i]);
      return out;
    default:
      for (const Bytes& value : values) {
        const auto found = std::ranges::find(dictionary, value);
        numbers.push_back(static_cast<std::uint32_t>(found - dictionary.begin()));
        if (found == dictionary.end()) dictionary.push_back(value);
      }
      out.push_back(static_cast<std::byte>(std::bit_width(dictionary.size())));
      append(out, runs_of(numbers, static_cast<std::uint32_t>(std::bit_width(dictionary.size()))));
      return out;
  }
}

inline TestPage data_page(const TestColumn& column, std::span<const StoredValue> rows, std::vector<Bytes>& dictionary) {
  std::vector<Bytes> values;
  std::vector<std::uint32_t> levels;
  for (const StoredValue& row : rows) {
    levels.push_back(row ? 1 : 0);
    if (row) values.push_back(*row);
  }
  TestPage page;
  page.header.kind = column.version2 ? PageKind::kDataV2 : PageKind::kData;
  page.header.encoding = column.encoding;
  page.header.num_values = page.header.num_rows = rows.size();
  page.header.num_nulls = rows.size() - values.size();
  if (column.optional) {
    const Bytes runs = runs_of(levels, 1);
    if (!column.version2) append(page.body, bytes_of(static_cast<std::uint32_t>(runs.size())));
    append(page.body, runs);
    page.header.definition_bytes = column.version2 ? runs.size() : 0;
  }
  append(page.body, encoded_values(column, values, dictionary));
  page.header.decoded_bytes = page.body.size();
  return page;
}

inline TestPage dictionary_page(const TestColumn& column, std::span<const Bytes> dictionary) {
  TestColumn plain = column;
  plain.encoding = Encoding::kPlain;
  std::vector<Bytes> none;
  TestPage page;
  page.header.kind = PageKind::kDictionary;
  page.header.num_values = dictionary.size();
  page.body = encoded_values(plain, dictionary, none);
  page.header.decoded_bytes = page.body.size();
  return page;
}

}  // namespace headrace::parquet
