#include "format/parquet/pages/conversion.h"

#include <gtest/gtest.h>

#include <cmath>

#include "format/parquet/page_testing.h"

namespace headrace::parquet {
namespace {

using Kind = Meaning::Kind;

/// Elements of a page of values, with a meaning.
template <class T>
std::vector<T> converted_values(TestColumn column, const Meaning& meaning, const std::vector<Bytes>& values) {
  column.values.assign(values.begin(), values.end());
  const LeafColumn leaf = leaf_of(column, meaning);
  EXPECT_EQ(leaf.row_bytes(), sizeof(T));
  std::vector<T> out(values.size());
  for (const Encoding encoding : {Encoding::kPlain, Encoding::kRleDictionary}) {
    column.encoding = encoding;
    const auto read = read_slice(leaf, ready_page(leaf, column), {0, values.size()});
    EXPECT_TRUE(read.ok()) << read.error().what();
    if (!read.ok() || read->size() != out.size() * sizeof(T)) return {};
    std::memcpy(out.data(), read->data(), read->size());
    expect_slices(leaf, column, *read);
  }
  return out;
}

Bytes big_endian_value(std::int64_t value, std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[size - 1 - i] = static_cast<std::byte>(value >> std::min<std::size_t>(8 * i, 63));
  return bytes;
}

TEST(ParquetConversion, NarrowIntegersAndDecimals) {
  const Meaning narrow{.kind = Kind::kInteger, .bits = 8};
  EXPECT_EQ(converted_values<std::int8_t>({}, narrow, {bytes_of(-128), bytes_of(127)}),
            (std::vector<std::int8_t>{-128, 127}));
  const Meaning word{.kind = Kind::kInteger, .bits = 16, .is_signed = false};
  EXPECT_EQ(converted_values<std::uint16_t>({}, word, {bytes_of(65535), bytes_of(7)}),
            (std::vector<std::uint16_t>{65535, 7}));
  const Meaning decimal{.kind = Kind::kDecimal, .scale = 2};
  const std::vector<double> expected{-123.45, 0, 0.01};
  EXPECT_EQ(converted_values<double>({}, decimal, {bytes_of(-12345), bytes_of(0), bytes_of(1)}), expected);
  EXPECT_EQ(converted_values<double>({.physical = PhysicalType::kInt64}, decimal,
                                     {bytes_of(INT64_C(-12345)), bytes_of(INT64_C(0)), bytes_of(INT64_C(1))}),
            expected);
  for (const std::uint32_t size : {2U, 3U, 8U, 9U, 16U})
    EXPECT_EQ(converted_values<double>(
                  {.physical = PhysicalType::kFixedLenByteArray, .type_length = size}, decimal,
                  {big_endian_value(-12345, size), big_endian_value(0, size), big_endian_value(1, size)}),
              expected)
        << size;
  EXPECT_EQ(converted_values<double>({.physical = PhysicalType::kByteArray}, decimal,
                                     {big_endian_value(-12345, 5), Bytes(), big_endian_value(1, 1)}),
            expected);
  const Meaning smallest{.kind = Kind::kDecimal, .scale = INT32_MIN};
  EXPECT_TRUE(std::isinf(converted_values<double>({}, smallest, {bytes_of(3)}).at(0)));
}

TEST(ParquetConversion, ValuesMayBecomeElementsInPlace) {
  const Meaning decimal{.kind = Kind::kDecimal, .scale = 1};
  for (std::uint32_t size = 1; size <= 16; ++size) {
    const TestColumn column{.physical = PhysicalType::kFixedLenByteArray, .type_length = size};
    Bytes values;
    for (int i = 0; i < 20; ++i) append(values, big_endian_value(i * 5 - 30, size));
    Bytes apart(20 * 8), room = values;
    room.resize(std::max<std::size_t>(room.size(), apart.size()));
    ASSERT_TRUE(convert_values(leaf_of(column, decimal), values.data(), 20, apart.data()).ok());
    ASSERT_TRUE(convert_values(leaf_of(column, decimal), room.data(), 20, room.data()).ok());
    room.resize(apart.size());
    EXPECT_EQ(room, apart) << size;
    double last = 0;
    std::memcpy(&last, apart.data() + 19 * 8, 8);
    EXPECT_EQ(last, 6.5);
  }
}

TEST(ParquetConversion, Int96IsNanosecondsSince1970) {
  const auto stored = [](std::int64_t ns, std::int32_t day) {
    Bytes bytes = bytes_of(ns);
    append(bytes, bytes_of(day));
    return bytes;
  };
  EXPECT_EQ(converted_values<std::int64_t>({.physical = PhysicalType::kInt96}, {},
                                           {stored(7, 2'440'588), stored(1, 2'440'589), stored(0, 2'440'587)}),
            (std::vector<std::int64_t>{7, 86'400'000'000'001, -86'400'000'000'000}));
}

}  // namespace
}  // namespace headrace::parquet
