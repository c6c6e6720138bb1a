#include "format/parquet/footer.h"

#include <gtest/gtest.h>

#include "format/parquet/file_testing.h"
#include "format/parquet/leaf_column.h"

namespace headrace::parquet {
namespace {

/// Decode the footer of a whole file; counts the reads.
Result<FileMetadata> decode_footer(std::span<const std::byte> file, int* reads = nullptr) {
  FooterDecoder decoder(file.size());
  for (int i = 0; decoder.needs(); ++i) {
    EXPECT_LT(i, 2) << "a third read";
    if (reads != nullptr) *reads = i + 1;
    const ByteRange needs = *decoder.needs();
    EXPECT_LE(needs.end(), file.size());
    HEADRACE_TRY(decoder.push(file.subspan(needs.offset, needs.size)));
  }
  return decoder.take();
}

std::vector<StoredValue> counted_integers(std::size_t count) {
  std::vector<StoredValue> values;
  for (std::size_t i = 0; i < count; ++i) values.emplace_back(bytes_of(static_cast<std::int32_t>(i)));
  return values;
}

Bytes small_file(std::size_t columns = 2) {
  TestFile file{{}, {20, 0, 15}};
  for (std::size_t i = 0; i < columns; ++i)
    file.columns.push_back({.name = "column" + std::to_string(i), .values = counted_integers(35)});
  return write_file(file);
}

TEST(ParquetFooter, SmallFilesAreReadAtOnce) {
  int reads = 0;
  const Bytes bytes = small_file();
  EXPECT_TRUE(is_parquet(bytes));
  const auto file = decode_footer(bytes, &reads);
  ASSERT_TRUE(file.ok()) << file.error().what();
  EXPECT_EQ(reads, 1);
  EXPECT_EQ(file->num_rows, 35U);
  EXPECT_EQ(file->num_leaves, 2U);
  EXPECT_EQ(file->created_by, "headrace test");
  ASSERT_EQ(file->row_groups.size(), 3U);
  EXPECT_EQ(file->row_groups[2].num_rows, 15U);
  ASSERT_EQ(file->row_groups[2].columns.size(), 2U);
  const ColumnChunk& chunk = file->row_groups[2].columns[1];
  EXPECT_EQ(chunk.num_values, 15U);
  EXPECT_EQ(chunk.encodings, 1U << 0 | 1U << 3);
  EXPECT_EQ(chunk.nulls, -1);
  EXPECT_EQ(leaf_columns(*file)[1].path, "column1");
}

TEST(ParquetFooter, LongOnesTakeASecondRead) {
  int reads = 0;
  const Bytes bytes = small_file(700);
  const auto file = decode_footer(bytes, &reads);
  ASSERT_TRUE(file.ok()) << file.error().what();
  EXPECT_EQ(reads, 2);
  EXPECT_EQ(file->num_leaves, 700U);
}

TEST(ParquetFooter, CutFilesAreDamaged) {
  const Bytes bytes = small_file();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto file = decode_footer(std::span(bytes).first(size));
    ASSERT_FALSE(file.ok()) << size;
    EXPECT_EQ(file.error().code(), ErrorCode::kCorruptData);
  }
}

Error footer_error(std::span<const std::byte> file) {
  const auto decoded = decode_footer(file);
  EXPECT_FALSE(decoded.ok());
  return decoded.ok() ? Error(ErrorCode::kInternal, "decoded") : decoded.error();
}

TEST(ParquetFooter, EncryptedOnesAndLengthsBeyondTheFile) {
  Bytes file = bytes_of_text("PARE");
  EXPECT_TRUE(is_parquet(file));
  EXPECT_FALSE(is_parquet(bytes_of_text("PAR2")));
  EXPECT_FALSE(is_parquet(bytes_of_text("PAR")));
  append_footer(file, Bytes(10), "PARE");
  EXPECT_EQ(footer_error(file).code(), ErrorCode::kUnsupported);
  for (const std::uint32_t length : {15U, 1000U, ~0U}) {
    Bytes longer = bytes_of_text("PAR1");
    longer.resize(14);
    append(longer, bytes_of(length));
    append(longer, bytes_of_text("PAR1"));
    const Error error = footer_error(longer);
    EXPECT_EQ(error.code(), ErrorCode::kCorruptData);
    EXPECT_NE(error.message().find("but the whole file has 22"), std::string::npos) << error.message();
  }
  FooterDecoder decoder(100);
  EXPECT_EQ(decoder.push(Bytes(99)).error().code(), ErrorCode::kInternal);
}

/// The message for a footer that is written by `write`, after its version.
std::string tree_error(const std::function<void(CompactWriter&)>& write) {
  CompactWriter out;
  out.number(1, 2);
  write(out);
  out.end();
  Bytes file = bytes_of_text("PAR1");
  append_footer(file, out.bytes);
  const auto decoded = decode_footer(file);
  EXPECT_TRUE(decoded.ok() || decoded.error().code() == ErrorCode::kCorruptData);
  return decoded.ok() ? "" : decoded.error().message();
}

void expect_tree_error(const std::function<void(CompactWriter&)>& write, std::string_view words) {
  EXPECT_NE(tree_error(write).find(words), std::string::npos) << tree_error(write);
}

void group_node(CompactWriter& out, std::int64_t children) {
  out.begin().text(4, "g").number(5, children).end();
}
void leaf_node(CompactWriter& out) {
  out.begin().number(1, 1).text(4, "x").end();
}
/// A schema of this many leaves.
CompactWriter& flat_schema(CompactWriter& out, std::size_t leaves = 1) {
  out.list(2, CompactType::kStruct, leaves + 1);
  group_node(out, static_cast<std::int64_t>(leaves));
  for (std::size_t i = 0; i < leaves; ++i) leaf_node(out);
  return out;
}

TEST(ParquetFooter, SchemaTreesThatDoNotCloseAreDamaged) {
  EXPECT_EQ(tree_error([](CompactWriter& out) { flat_schema(out, 0).long_number(3, 0); }), "");
  EXPECT_EQ(tree_error([](CompactWriter& out) { flat_schema(out).long_number(3, 0); }), "");
  const auto schema = [](std::size_t nodes, const std::function<void(CompactWriter&)>& write) {
    return [=](CompactWriter& out) {
      out.list(2, CompactType::kStruct, nodes);
      write(out);
    };
  };
  expect_tree_error(schema(0, [](CompactWriter&) {}), "has no root");
  expect_tree_error(schema(1, [](CompactWriter& out) { leaf_node(out); }), "has no root");
  expect_tree_error(schema(1, [](CompactWriter& out) { group_node(out, 1); }), "ends before all the nodes");
  expect_tree_error(schema(2, [](CompactWriter& out) { group_node(out, 0), leaf_node(out); }), "below no group");
  expect_tree_error(schema(3, [](CompactWriter& out) { group_node(out, 1), leaf_node(out), leaf_node(out); }),
                    "below no group");
  expect_tree_error(
      schema(2, [](CompactWriter& out) { group_node(out, 1), out.begin().number(1, 1).number(5, 1).end(); }),
      "has children");
  expect_tree_error(schema(200,
                           [](CompactWriter& out) {
                             for (int i = 0; i < 199; ++i) group_node(out, 1);
                             leaf_node(out);
                           }),
                    "deeper than 100 levels");
  expect_tree_error([](CompactWriter&) {}, "has no schema");
  expect_tree_error([](CompactWriter& out) { flat_schema(out).list(2, CompactType::kStruct, 0); }, "a second schema");
}

TEST(ParquetFooter, MemoryForNamesFollowsFromTheFootersSize) {
  const auto leaves_below = [](std::size_t name, std::size_t leaves) {
    return [=](CompactWriter& out) {
      out.list(2, CompactType::kStruct, leaves + 2);
      group_node(out, 1);
      out.begin().text(4, std::string(name, 'n')).number(5, static_cast<std::int64_t>(leaves)).end();
      for (std::size_t i = 0; i < leaves; ++i) leaf_node(out);
      out.long_number(3, 0);
    };
  };
  EXPECT_EQ(tree_error(leaves_below(500, 2000)), "");
  expect_tree_error(leaves_below(20'000, 20'000), "far too many columns repeat");
}

void row_group(CompactWriter& out, std::size_t columns, std::int64_t rows) {
  out.begin().list(1, CompactType::kStruct, columns);
  for (std::size_t i = 0; i < columns; ++i) out.begin().begin(3).number(1, 1).end().end();
  out.long_number(3, rows).end();
}

TEST(ParquetFooter, RowGroupsThatDoNotFitAreDamaged) {
  const auto groups = [](std::int64_t total, std::size_t columns, std::vector<std::int64_t> rows) {
    return [=](CompactWriter& out) {
      flat_schema(out, 2).long_number(3, total).list(4, CompactType::kStruct, rows.size());
      for (const std::int64_t count : rows) row_group(out, columns, count);
    };
  };
  EXPECT_EQ(tree_error(groups(12, 2, {5, 7})), "");
  expect_tree_error(groups(12, 1, {12}), "a row group of 1 columns, where the schema has 2");
  expect_tree_error(groups(12, 3, {12}), "more than the schema's 2 columns");
  expect_tree_error(groups(13, 2, {5, 7}), "it says 13 rows, and its row groups have 12");
  expect_tree_error(groups(0, 2, std::vector<std::int64_t>(4, std::int64_t{1} << 62)), "it says 0 rows");
  expect_tree_error(groups(-1, 2, {-1}), "-1 where a number from 0");
  expect_tree_error([](CompactWriter& out) { out.list(4, CompactType::kStruct, 0); }, "row groups before the schema");
  expect_tree_error(
      [](CompactWriter& out) {
        flat_schema(out).long_number(3, 0).list(4, CompactType::kStruct, 1);
        out.begin().list(1, CompactType::kStruct, 1).begin().long_number(2, 4).end().end();
      },
      "a column without a description");
}

TEST(ParquetFooter, DecimalsOfNoBytesAreRefused) {
  TestColumn column{.physical = PhysicalType::kFixedLenByteArray,
                    .meaning = [](CompactWriter& out) { out.number(6, 5).number(7, 2); }};
  const auto file = decode_footer(write_file({{column}, {}}));
  ASSERT_TRUE(file.ok()) << file.error().what();
  EXPECT_EQ(leaf_columns(*file)[0].refusal, "decimals of no bytes");
}

}  // namespace
}  // namespace headrace::parquet
