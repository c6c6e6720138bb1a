// For each physical type and encoding: any rows of a page are a slice of all of them.
#include "format/parquet/pages/page_values.h"

#include <gtest/gtest.h>

#include <limits>

#include "format/parquet/page_testing.h"

namespace headrace::parquet {
namespace {

constexpr std::size_t kRows = 45;

Bytes some_value(const TestColumn& column, std::size_t row) {
  const auto number = static_cast<std::int32_t>(row % 7 * 1'000'003) * (row % 2 == 0 ? 1 : -1);
  switch (column.physical) {
    case PhysicalType::kBoolean:
      return {static_cast<std::byte>(row % 3 == 0 || row > 20)};
    case PhysicalType::kInt32:
      return bytes_of(number);
    case PhysicalType::kInt64:
      return bytes_of(std::int64_t{number} << 30);
    case PhysicalType::kFloat:
      return bytes_of(static_cast<float>(number) / 8);
    case PhysicalType::kDouble:
      return bytes_of(static_cast<double>(number) / 8);
    default: {
      Bytes bytes(column.type_length);
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(row % 7 * 31 + i);
      return bytes;
    }
  }
}

struct TypeAndEncodings {
  PhysicalType physical;
  std::uint32_t type_length;
  std::vector<Encoding> encodings;
};
const std::vector<TypeAndEncodings>& types_and_encodings() {
  using E = Encoding;
  static const std::vector<TypeAndEncodings> all{
      {PhysicalType::kBoolean, 0, {E::kPlain, E::kRle}},
      {PhysicalType::kInt32, 0, {E::kPlain, E::kRleDictionary, E::kDeltaBinaryPacked, E::kByteStreamSplit}},
      {PhysicalType::kInt64, 0, {E::kPlain, E::kPlainDictionary, E::kDeltaBinaryPacked, E::kByteStreamSplit}},
      {PhysicalType::kFloat, 0, {E::kPlain, E::kRleDictionary, E::kByteStreamSplit}},
      {PhysicalType::kDouble, 0, {E::kPlain, E::kRleDictionary, E::kByteStreamSplit}},
      {PhysicalType::kFixedLenByteArray, 1, {E::kPlain, E::kRleDictionary, E::kByteStreamSplit}},
      {PhysicalType::kFixedLenByteArray, 5, {E::kPlain, E::kRleDictionary, E::kByteStreamSplit}},
  };
  return all;
}

TEST(PageValues, AnyRowsAreASliceOfAll) {
  for (const auto& [physical, length, encodings] : types_and_encodings())
    for (const Encoding encoding : encodings)
      for (const int kind : {0, 1, 2, 3, 4}) {  // without nulls; with some, or with nothing else, in each version
        TestColumn column{.physical = physical, .type_length = length, .optional = kind > 0, .encoding = encoding};
        column.version2 = kind % 2 == 0;
        SCOPED_TRACE(::testing::Message() << "type " << static_cast<int>(physical) << ", encoding "
                                          << static_cast<int>(encoding) << ", kind " << kind);
        const LeafColumn leaf = leaf_of(column);
        Bytes whole, absent(leaf.row_bytes());
        if (physical == PhysicalType::kFloat) absent = bytes_of(std::numeric_limits<float>::quiet_NaN());
        if (physical == PhysicalType::kDouble) absent = bytes_of(std::numeric_limits<double>::quiet_NaN());
        for (std::size_t row = 0; row < kRows; ++row) {
          const bool null = kind > 2 || (kind > 0 && row % 4 == 1);
          column.values.push_back(null ? StoredValue() : some_value(column, row));
          append(whole, null ? absent : *column.values.back());
        }
        if (kind > 2 && encoding == Encoding::kPlainDictionary) continue;  // then it has no dictionary
        if (kind > 2 && encoding == Encoding::kRleDictionary) continue;
        expect_slices(leaf, column, whole);
      }
}

TEST(PageValues, PagesOfNullsNeedNoValues) {
  for (const auto& [physical, length, encodings] : types_and_encodings())
    for (const Encoding encoding : encodings) {
      TestColumn column{.physical = physical, .type_length = length, .optional = true, .encoding = Encoding::kPlain};
      column.values.resize(20);
      ReadyPage ready = ready_page(leaf_of(column), column);
      ready.page.header.encoding = encoding;
      const auto read = read_slice(leaf_of(column), ready, {3, 10});
      EXPECT_TRUE(read.ok()) << read.error().what();
    }
}

TEST(PageValues, TheFirstNullIsNamed) {
  TestColumn column{.optional = true};
  for (std::int32_t row = 0; row < 40; ++row)
    column.values.push_back(row == 23 || row == 30 ? StoredValue() : bytes_of(row));
  const LeafColumn leaf = leaf_of(column);
  const ReadyPage ready = ready_page(leaf, column);
  EXPECT_TRUE(read_slice(leaf, ready, {0, 23}, NullPolicy::kError).ok());
  EXPECT_TRUE(read_slice(leaf, ready, {24, 6}, NullPolicy::kError).ok());
  const auto refused = read_slice(leaf, ready, {10, 30, 110}, NullPolicy::kError);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.error().message(), "row 123 has no value");
  std::vector<std::uint8_t> present(20);
  const PageBytes bytes = *divide_page(leaf, ready.page.header, ready.page.body);
  const auto found = read_presence(leaf, ready.page.header, bytes, {20, 20}, present.data());
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->before, 20U);
  EXPECT_EQ(found->among, 18U);
  EXPECT_EQ(std::ranges::count(present, 0), 2);
  EXPECT_TRUE(present[3] == 0 && present[10] == 0);
}

TEST(PageValues, AllIsPresentWhereNothingCanBeNull) {
  const TestColumn column{.values = {bytes_of(1), bytes_of(2), bytes_of(3)}};
  std::vector<std::uint8_t> present(2);
  const auto found = read_presence(leaf_of(column), {}, {}, {1, 2}, present.data());
  ASSERT_TRUE(found.ok()) << found.error().what();
  EXPECT_EQ(found->before, 1U);
  EXPECT_EQ(found->among, 2U);
  EXPECT_EQ(present, (std::vector<std::uint8_t>{1, 1}));
}

std::string values_error(const LeafColumn& leaf, const ReadyPage& ready, PageRows rows) {
  const auto read = read_slice(leaf, ready, rows);
  EXPECT_FALSE(read.ok());
  if (read.ok()) return "";
  EXPECT_EQ(read.error().code(), ErrorCode::kCorruptData) << read.error().what();
  return read.error().message();
}

TEST(PageValues, ValuesThatEndEarlyAreDamage) {
  for (const auto& [physical, length, encodings] : types_and_encodings())
    for (const Encoding encoding : encodings)
      for (const bool optional : {false, true}) {
        TestColumn column{.physical = physical, .type_length = length, .optional = optional, .encoding = encoding};
        for (std::size_t row = 0; row < kRows; ++row) column.values.emplace_back(some_value(column, row));
        const LeafColumn leaf = leaf_of(column);
        ReadyPage ready = ready_page(leaf, column);
        while (!ready.page.body.empty()) {
          ready.page.body.pop_back();
          const auto read = read_slice(leaf, ready, {0, kRows});
          if (encoding == Encoding::kRleDictionary || encoding == Encoding::kPlainDictionary) {
            if (read.ok()) continue;  // what fills up the last group may be left out
          }
          ASSERT_FALSE(read.ok()) << static_cast<int>(physical) << ", " << static_cast<int>(encoding);
          EXPECT_EQ(read.error().code(), ErrorCode::kCorruptData);
        }
      }
}

TEST(PageValues, DictionariesAndLevelsThatDoNotFitAreDamage) {
  TestColumn column{.encoding = Encoding::kRleDictionary};
  for (std::int32_t row = 0; row < 30; ++row) column.values.emplace_back(bytes_of(row % 5));
  LeafColumn leaf = leaf_of(column);
  ReadyPage ready = ready_page(leaf, column);
  ready.dictionary->count = 4;
  EXPECT_EQ(values_error(leaf, ready, {0, 30}), "index 4 into a dictionary of 4 values");
  EXPECT_TRUE(read_slice(leaf, ready, {0, 4}).ok());
  ready.dictionary.reset();
  EXPECT_NE(values_error(leaf, ready, {0, 1}).find("without a dictionary"), std::string::npos);
  ready.dictionary.emplace();
  ready.page.body[0] = std::byte{33};
  EXPECT_EQ(values_error(leaf, ready, {0, 1}), "indices of 33 bits");
  TestPage page = dictionary_page(column, std::vector<Bytes>(3, bytes_of(1)));
  page.header.num_values = 4;
  EXPECT_EQ(read_dictionary(leaf, page.header, page.body).error().message(), "its values end after 3 of 4");
  page.header.num_values = std::uint64_t{1} << 31;
  EXPECT_FALSE(read_dictionary(leaf, page.header, page.body).ok());
  column.optional = true, column.encoding = Encoding::kPlain;
  leaf = leaf_of(column);
  leaf.definition_levels = 2;  // of two bits
  ready = ready_page(leaf_of(column), column);
  ready.page.body = {std::byte{2}, {}, {}, {}, std::byte{60}, std::byte{3}};
  EXPECT_EQ(values_error(leaf, ready, {0, 30}), "level 3, where 2 is the most");
  ready.page.body = {std::byte{3}, {}, {}, {}, std::byte{60}, std::byte{1}};
  EXPECT_NE(values_error(leaf, ready, {0, 30}).find("shorter than its levels"), std::string::npos);
  ready.page.header.definition_encoding = Encoding::kBitPacked;
  EXPECT_EQ(read_slice(leaf, ready, {0, 30}).error().code(), ErrorCode::kUnsupported);
}

TEST(PageValues, EncodingsOfOtherTypesAreRefused) {
  const LeafColumn leaf = leaf_of({});
  EXPECT_EQ(encoding_refusal(leaf, Encoding::kDeltaByteArray),
            "values encoded as DELTA_BYTE_ARRAY, which is not read for them");
  EXPECT_NE(encoding_refusal(leaf, Encoding::kRle), "");
  EXPECT_NE(encoding_refusal(leaf_of({.physical = PhysicalType::kDouble}), Encoding::kDeltaBinaryPacked), "");
  EXPECT_NE(encoding_refusal(leaf_of({.physical = PhysicalType::kInt96}), Encoding::kByteStreamSplit), "");
  EXPECT_NE(encoding_refusal(leaf, static_cast<Encoding>(77)), "");
}

}  // namespace
}  // namespace headrace::parquet
