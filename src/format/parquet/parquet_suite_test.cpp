// The suite of every format, for Parquet files, and the errors and the parts of their columns.
#include <gtest/gtest.h>

#include <limits>

#include "base/testing/temporary_folder.h"
#include "format/parquet/column_array.h"
#include "format/parquet/file_testing.h"
#include "format/parquet/footer.h"
#include "format/parquet/parquet_reader.h"
#include "format/testing/format_suite.h"
#include "format/testing/read_rows.h"
#include "storage/testing/memory_file.h"

namespace headrace::parquet {
namespace {

using testing_format::FormatCase;
using testing_format::OpenedArray;

std::shared_ptr<MemoryFile> file_of(const Bytes& bytes) {
  return std::make_shared<MemoryFile>("suite.parquet", bytes);
}

OpenedArray open_x(std::shared_ptr<RandomAccessFile> file) {
  HEADRACE_ASSIGN(const std::shared_ptr<FormatReader> reader, open_parquet(std::move(file), "suite.parquet"));
  return reader->open_array("x");
}

/// What the arrays of a file share, for those of their parts that open_array() does not open.
Result<std::shared_ptr<const OpenParquet>> open_shared(std::shared_ptr<RandomAccessFile> file) {
  auto opened = std::make_shared<OpenParquet>();
  FooterDecoder footer(file->size());
  while (const auto needs = footer.needs()) {
    Bytes bytes(needs->size);
    HEADRACE_TRY(file->read_at(needs->offset, bytes));
    HEADRACE_TRY(footer.push(bytes));
  }
  opened->metadata = footer.take();
  opened->columns = leaf_columns(opened->metadata);
  opened->file = std::move(file);
  opened->path = "suite.parquet";
  return std::shared_ptr<const OpenParquet>(std::move(opened));
}

/// Damage can make a null, which is no damage to a reader that was not told to fill them.
OpenedArray open_filled(std::shared_ptr<RandomAccessFile> file) {
  HEADRACE_ASSIGN(const std::shared_ptr<const OpenParquet> opened, open_shared(std::move(file)));
  for (const LeafColumn& column : opened->columns)
    if (column.path == "x") return open_column(opened, column.index, ColumnPart::kFilledValues);
  return Error(ErrorCode::kFieldMissing, "no column x");
}

TestColumn numbered(TestColumn column, std::size_t rows) {
  for (std::size_t row = 0; row < rows; ++row) {
    const auto number = static_cast<std::int32_t>(row % 11 * 7919);
    column.values.emplace_back(column.physical == PhysicalType::kInt32    ? bytes_of(number)
                               : column.physical == PhysicalType::kDouble ? bytes_of(number * 0.37)
                                                                          : Bytes(column.type_length, std::byte(row)));
  }
  return column;
}

/// A file of this column and another one, whose pages have other rows.
FormatCase parquet_case(const TestColumn& column, std::vector<std::size_t> groups) {
  FormatCase made;
  made.columns.emplace_back();
  for (const StoredValue& value : column.values) append(made.columns[0], *value);
  const TestColumn other = numbered({.name = "other", .page_rows = 4}, column.values.size());
  made.file_bytes = write_file({{other, column}, std::move(groups)});
  made.open_file = column.optional ? open_filled : open_x;
  made.open = [open = made.open_file, bytes = made.file_bytes] { return open(file_of(bytes)); };
  return made;
}

[[maybe_unused]] const bool parquet_registered = [] {
  const auto add = [](const char* name, const TestColumn& column, const std::vector<std::size_t>& groups) {
    std::size_t rows = 0;
    for (const std::size_t count : groups) rows += count;
    testing_format::register_format_reader_tests("ParquetSuite", name,
                                                 [=] { return parquet_case(numbered(column, rows), groups); });
  };
  add("Plain", {}, {31});
  add("NoRows", {}, {});
  add("GroupsOfNoRows", {.physical = PhysicalType::kDouble}, {0, 12, 0, 0, 25, 0});
  add("Dictionary", {.encoding = Encoding::kRleDictionary, .checksums = true}, {25, 7, 30});
  add("NullableVersion2", {.optional = true, .version2 = true}, {25, 14});
  add("Bytes", {.physical = PhysicalType::kFixedLenByteArray, .type_length = 3, .optional = true}, {40});
  add("Deltas", {.encoding = Encoding::kDeltaBinaryPacked, .page_rows = 50}, {70, 30});
  if (std::string_view(HEADRACE_WITHOUT).find("snappy") != std::string_view::npos) return true;
  add("Snappy", {.encoding = Encoding::kRleDictionary, .snappy = true}, {25, 14});
  add("SnappyVersion2", {.optional = true, .snappy = true, .version2 = true}, {39});
  return true;
}();

TEST(ParquetColumns, NullsAreRefusedFilledOrMarked) {
  TestColumn column = numbered({.physical = PhysicalType::kDouble, .optional = true}, 30);
  column.values[17].reset();
  const auto opened = open_shared(file_of(write_file({{column}, {15, 15}}))).value();
  const auto strict = open_column(opened, 0, ColumnPart::kValues).value();
  EXPECT_TRUE(testing_format::read_rows(*strict, {0, 17}).ok());
  const Error error = testing_format::read_rows(*strict, {0, 30}).error();
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(error.message(), "row 17 has no value");
  EXPECT_EQ(error.chunk(), "(row group 1, page 0)");
  const auto filled = testing_format::read_rows(*open_column(opened, 0, ColumnPart::kFilledValues).value(), {0, 30});
  ASSERT_TRUE(filled.ok()) << filled.error().what();
  Bytes expected;
  for (const StoredValue& value : column.values)
    append(expected, value ? *value : bytes_of(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_EQ(*filled, expected);
  const auto marks = open_column(opened, 0, ColumnPart::kPresence).value();
  EXPECT_EQ(marks->info().path, "x.valid");
  Bytes present(30, std::byte{1});
  present[17] = std::byte{0};
  EXPECT_EQ(*testing_format::read_rows(*marks, {0, 30}), present);
  EXPECT_EQ(*testing_format::read_rows(*marks, {17, 2}), (Bytes{std::byte{0}, std::byte{1}}));
}

TEST(ParquetColumns, PresenceOfWhatCannotBeNull) {
  const auto opened = open_shared(file_of(write_file({{numbered({}, 12)}, {12}}))).value();
  const auto marks = open_column(opened, 0, ColumnPart::kPresence).value();
  EXPECT_EQ(*testing_format::read_rows(*marks, {3, 9}), Bytes(9, std::byte{1}));
}

/// A file of one row group, of these pages of a column.
Bytes file_of_pages(const TestColumn& column, const std::vector<TestPage>& pages) {
  Bytes file = bytes_of_text("PAR1");
  TestChunk chunk{.data_at = file.size()};
  for (const TestPage& page : pages) {
    append(file, stored_page(page, column.snappy));
    chunk.rows += page.header.num_values;
  }
  chunk.bytes = file.size() - chunk.data_at;
  const auto rows = static_cast<std::int64_t>(chunk.rows);
  CompactWriter out;
  write_schema(out.number(1, 2), std::span(&column, 1));
  out.long_number(3, rows).list(4, CompactType::kStruct, 1).begin().list(1, CompactType::kStruct, 1);
  write_chunk(out, column, chunk);
  out.long_number(3, rows).end().end();
  append_footer(file, out.bytes);
  return file;
}

TEST(ParquetColumns, LargerPagesThanTheFirst) {
  const TestColumn column = numbered({}, 5003);
  std::vector<Bytes> none;
  const auto rows = std::span(column.values);
  std::vector<TestPage> pages{data_page(column, rows.first(3), none), data_page(column, rows.subspan(3), none)};
  const auto array = open_x(file_of(file_of_pages(column, pages)));
  ASSERT_TRUE(array.ok()) << array.error().what();
  EXPECT_EQ((*array)->info().page_rows, 3U);
  const auto read = testing_format::read_rows(**array, {2, 5001});
  ASSERT_TRUE(read.ok()) << read.error().what();
  Bytes expected;
  for (const StoredValue& value : rows.subspan(2)) append(expected, *value);
  EXPECT_EQ(*read, expected);
  for (const std::size_t liar : {0U, 1U}) {
    std::vector<TestPage> lying = pages;
    lying[liar].header.decoded_bytes = 0x7fffffff;
    const auto opened = open_x(file_of(file_of_pages(column, lying)));
    ASSERT_EQ(opened.ok(), liar == 1) << "the first page is looked at when the column is opened";
    const Error error = opened.ok() ? testing_format::read_rows(**opened, {2, 2}).error() : opened.error();
    EXPECT_EQ(error.code(), ErrorCode::kCorruptData);
    EXPECT_NE(error.message().find("is not compressed, where 2147483647 are expected"), std::string::npos);
  }
}

/// What is decoded into memory of its own must not be given away when that is.
TEST(ParquetColumns, LargerCompressedPagesThanTheFirst) {
  if (std::string_view(HEADRACE_WITHOUT).find("snappy") != std::string_view::npos) GTEST_SKIP() << "no Snappy";
  const TestColumn column = numbered({.snappy = true}, 700'003);
  std::vector<Bytes> none;
  const auto rows = std::span(column.values);
  const Bytes file =
      file_of_pages(column, {data_page(column, rows.first(3), none), data_page(column, rows.subspan(3), none)});
  const auto read = testing_format::read_rows(*open_x(file_of(file)).value(), {3, 700'000});
  ASSERT_TRUE(read.ok()) << read.error().what();
  Bytes expected;
  for (const StoredValue& value : rows.subspan(3)) append(expected, *value);
  EXPECT_TRUE(*read == expected);
}

TEST(ParquetColumns, WhatCannotBeReadIsNamed) {
  const auto text = [](CompactWriter& out) { out.number(6, 0); };
  TestColumn texts{.name = "texts", .physical = PhysicalType::kByteArray, .meaning = text};
  texts.values.assign(12, bytes_of_text("abc"));
  const Bytes bytes = write_file({{texts, numbered({}, 12)}, {12}});
  const auto folder = std::make_shared<TemporaryFolder>();
  const auto reader = headrace::open_file(folder->write("a.parquet", bytes));
  ASSERT_TRUE(reader.ok()) << reader.error().what();
  EXPECT_EQ((*reader)->format_name(), "Parquet");
  ASSERT_EQ((*reader)->arrays().size(), 2U);
  EXPECT_EQ((*reader)->arrays()[0].read_path, ReadPath::kUnsupported);
  EXPECT_NE((*reader)->arrays()[0].reason.find("text of any length"), std::string::npos);
  EXPECT_EQ((*reader)->open_array("texts").error().code(), ErrorCode::kUnsupported);
  EXPECT_TRUE((*reader)->open_array("/x").ok());
  EXPECT_EQ((*reader)->open_array("y").error().hint(), "It has: x, texts.");
}

TEST(ParquetColumns, ChecksumsAreChecked) {
  const TestColumn column = numbered({.checksums = true}, 10);
  Bytes bytes = write_file({{column}, {10}});
  const auto at = std::search(bytes.begin(), bytes.end(), column.values[5]->begin(), column.values[5]->end());
  *at ^= std::byte{1};
  const auto array = open_x(file_of(bytes));
  ASSERT_TRUE(array.ok()) << array.error().what();
  const auto read = testing_format::read_rows(**array, {0, 10});
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message().find("the CRC-32 of the page is"), std::string::npos);
}

}  // namespace
}  // namespace headrace::parquet
