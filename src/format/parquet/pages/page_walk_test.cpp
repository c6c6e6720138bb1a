#include "format/parquet/pages/page_walk.h"

#include <gtest/gtest.h>

#include "format/parquet/file_testing.h"

namespace headrace::parquet {
namespace {

constexpr std::uint64_t kBefore = 4;  // "PAR1"

/// A page that says that it has so many values, of one byte each.
TestPage page_with(PageKind kind, std::uint64_t values) {
  TestPage page;
  page.header.kind = kind;
  page.header.num_values = page.header.num_rows = values;
  page.body.resize(values);
  page.header.decoded_bytes = values;
  return page;
}

Bytes chunk_of(const std::vector<TestPage>& pages) {
  Bytes bytes;
  for (const TestPage& page : pages) append(bytes, stored_page(page));
  return bytes;
}

/// Walk through the pages of a chunk that begins at kBefore; counts the reads.
Result<PageTable> walk_chunk(const Bytes& chunk, std::uint64_t values, int* reads = nullptr) {
  const ByteRange range{kBefore, chunk.size()};
  PageWalk found(range, values);
  for (int i = 1; const auto needs = found.needs(); ++i) {
    if (reads != nullptr) *reads = i;
    EXPECT_TRUE(needs->offset >= range.offset && needs->end() <= range.end());
    HEADRACE_TRY(found.push(std::span(chunk).subspan(needs->offset - kBefore, needs->size)));
  }
  return found.take();
}

std::string walk_error(const Bytes& chunk, std::uint64_t values) {
  const auto table = walk_chunk(chunk, values);
  EXPECT_FALSE(table.ok());
  return table.ok() ? "" : table.error().message();
}

TEST(PageWalk, ZerosAreNoPages) {
  int reads = 0;
  const auto table = walk_chunk(Bytes(1 << 20), 10, &reads);
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.error().message(), "a page header without the kind or the size of its page");
  EXPECT_EQ(reads, 1) << "a hole in a file is not walked byte by byte";
}

TEST(PageWalk, FindsPagesAndTheDictionary) {
  const std::vector<TestPage> pages{page_with(PageKind::kDictionary, 3), page_with(PageKind::kData, 10),
                                    page_with(PageKind::kIndex, 0),      page_with(PageKind::kData, 0),
                                    page_with(PageKind::kDataV2, 400),   page_with(PageKind::kData, 1)};
  Bytes chunk = chunk_of(pages);
  chunk.resize(chunk.size() + 50);  // slack behind it
  int reads = 0;
  const auto table = walk_chunk(chunk, 411, &reads);
  ASSERT_TRUE(table.ok()) << table.error().what();
  EXPECT_EQ(reads, 6);
  ASSERT_TRUE(table->dictionary.has_value());
  EXPECT_EQ(table->dictionary->offset, kBefore);
  EXPECT_EQ(table->dictionary->size, stored_page(pages[0]).size());
  ASSERT_EQ(table->pages.size(), 3U);
  EXPECT_EQ(table->pages[0].place, (ByteRange{table->dictionary->end(), stored_page(pages[1]).size()}));
  EXPECT_EQ(table->pages[1].first_row, 10U);
  EXPECT_EQ(table->pages[1].num_rows, 400U);
  EXPECT_EQ(table->pages[2].first_row, 410U);
  EXPECT_EQ(table->pages[2].place.end(), kBefore + chunk.size() - 50);
}

TEST(PageWalk, OfNothingReadsNothing) {
  PageWalk empty({kBefore, 0}, 0);
  EXPECT_FALSE(empty.needs().has_value());
  EXPECT_TRUE(empty.take().pages.empty());
}

TEST(PageWalk, LongHeadersTakeLargerReads) {
  const auto long_page = [](std::size_t size) {
    return stored_page(page_with(PageKind::kData, 5), false, false,
                       [size](CompactWriter& out) { out.text(20, std::string(size, 'x')); });
  };
  Bytes chunk = long_page(300);
  append(chunk, long_page(100'000));
  int reads = 0;
  const auto table = walk_chunk(chunk, 10, &reads);
  ASSERT_TRUE(table.ok()) << table.error().what();
  EXPECT_EQ(table->pages.size(), 2U);
  EXPECT_EQ(reads, 2 + 4);
}

TEST(PageWalk, CutsAndOtherNumbersOfValuesAreDamage) {
  const std::vector<TestPage> pages{page_with(PageKind::kData, 5), page_with(PageKind::kData, 7)};
  const Bytes chunk = chunk_of(pages);
  ASSERT_TRUE(walk_chunk(chunk, 12).ok());
  EXPECT_EQ(walk_error(chunk, 13), "its pages have 12 of 13 values");
  EXPECT_EQ(walk_error(chunk, 11), "its pages have more than 11 values");
  EXPECT_EQ(walk_chunk(chunk, 5)->pages.size(), 1U) << "what is behind the last value is not looked at";
  for (std::size_t size = 0; size < chunk.size(); ++size) {
    const auto table = walk_chunk({chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(size)}, 12);
    ASSERT_FALSE(table.ok()) << size;
    EXPECT_EQ(table.error().code(), ErrorCode::kCorruptData);
  }
  EXPECT_NE(walk_error({chunk.begin(), chunk.end() - 1}, 12).find("where its column has"), std::string::npos);
}

TEST(PageWalk, SecondDictionariesAreDamage) {
  const TestPage dictionary = page_with(PageKind::kDictionary, 3), data = page_with(PageKind::kData, 5);
  EXPECT_NE(walk_error(chunk_of({dictionary, dictionary, data}), 5).find("a second dictionary"), std::string::npos);
  EXPECT_NE(walk_error(chunk_of({data, dictionary, data}), 10).find("a second dictionary"), std::string::npos);
  TestPage nested = page_with(PageKind::kDataV2, 5);
  nested.header.num_rows = 4;
  EXPECT_EQ(walk_error(chunk_of({nested}), 5), "a page of 5 values in 4 rows");
}

TEST(PageHeaders, ContradictionsAreDamage) {
  const auto parsed = [](const CompactWriter& out) { return parse_page_header(out.bytes); };
  CompactWriter kind_only, other_part, levels, both;
  kind_only.number(1, 0).number(2, 1).number(3, 1).end();
  EXPECT_NE(parsed(kind_only).error().message().find("does not describe its page"), std::string::npos);
  other_part.number(1, 0).number(2, 1).number(3, 1).begin(7).number(1, 1).number(2, 0).end().end();
  EXPECT_FALSE(parsed(other_part).ok());
  levels.number(1, 3).number(2, 9).number(3, 8).begin(8).number(1, 1).number(5, 5).number(6, 4).end().end();
  EXPECT_NE(parsed(levels).error().message().find("contradicts itself"), std::string::npos);
  CompactWriter nulls;
  nulls.number(1, 3).number(2, 9).number(3, 8).begin(8).number(1, 1).number(2, 2).end().end();
  EXPECT_NE(parsed(nulls).error().message().find("contradicts itself"), std::string::npos);
  both.number(1, 0).number(2, 1).number(3, 1).begin(5).number(1, 1).number(2, 0).end();
  both.begin(8).number(1, 1).number(5, 1 << 20).end().end();
  ASSERT_TRUE(parsed(both).ok());
  EXPECT_EQ((*parsed(both))->definition_bytes, 0U) << "levels of another kind of page";
  for (std::size_t size = 0; size < both.bytes.size(); ++size) {
    const auto cut = parse_page_header(std::span(both.bytes).first(size));
    EXPECT_TRUE(cut.ok() && !cut->has_value()) << size;
  }
}

TEST(ChunkRange, MustLieInTheFile) {
  ColumnChunk chunk;
  chunk.data_page_offset = 500, chunk.stored_bytes = 300;
  EXPECT_EQ(*chunk_range(chunk, 1000), (ByteRange{500, 400}));
  EXPECT_EQ(*chunk_range(chunk, 820), (ByteRange{500, 320})) << "the slack ends with the file";
  chunk.dictionary_offset = 600;
  EXPECT_EQ(chunk_range(chunk, 1000)->offset, 500U) << "a dictionary behind the data is none";
  chunk.dictionary_offset = 450;
  EXPECT_EQ(chunk_range(chunk, 1000)->offset, 450U);
  EXPECT_FALSE(chunk_range(chunk, 749).ok());
  chunk.dictionary_offset = 0, chunk.data_page_offset = 3;
  EXPECT_FALSE(chunk_range(chunk, 1000).ok());
  chunk.data_page_offset = std::uint64_t{1} << 62, chunk.stored_bytes = std::uint64_t{1} << 62;
  EXPECT_FALSE(chunk_range(chunk, 1000).ok());
}

}  // namespace
}  // namespace headrace::parquet
