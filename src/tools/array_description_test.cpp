#include "tools/array_story.h"

#include <gtest/gtest.h>

#include <limits>

namespace headrace {
namespace {

ArrayInfo chunked(std::vector<std::uint64_t> shape, std::vector<std::uint64_t> chunk, std::uint64_t stored_bytes) {
  ArrayInfo array;
  array.path = "a";
  array.shape = std::move(shape);
  array.chunk_shape = std::move(chunk);
  array.layout = Layout::kChunked;
  array.record_bytes = 4;
  array.columns = {{"", {DType::Kind::kFloat, 4}, {}, 0}};
  array.filters = {{"deflate", "4"}};
  array.stored_bytes = stored_bytes;
  return array;
}

std::string all(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& s : sentences) text += s + "\n";
  return text;
}

void expect_has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
}

TEST(ArrayStory, NumbersOfAChunkedArray) {
  const ArrayStory story = tell(chunked({16384, 128, 16}, {128, 128, 16}, 26843545));
  EXPECT_EQ(story.row_bytes, 8192U);
  EXPECT_EQ(story.decoded_bytes, 16384U * 8192);
  EXPECT_EQ(story.chunk_bytes, 128U * 8192);
  EXPECT_EQ(story.chunks, 128U);
  EXPECT_EQ(story.chunks_across, 1U);
  EXPECT_EQ(story.random_row_bytes, 128U * 8192);
  EXPECT_NEAR(story.ratio, 5.0, 1e-6);
  EXPECT_EQ(story.chunk, "128 rows, 1.00 MiB");
  EXPECT_EQ(story.read_by, "native");
  expect_has(all(story.care), "one random row decodes 1.00 MiB (128 rows) to use 8.00 KiB");
}

TEST(ArrayStory, ChunksAcrossTheRow) {
  const ArrayStory story = tell(chunked({1000, 100, 100}, {10, 64, 64}, 1));
  EXPECT_EQ(story.chunks_across, 4U);
  EXPECT_EQ(story.chunks, 400U);
  EXPECT_EQ(story.random_row_bytes, 4U * 10 * 64 * 64 * 4);
  expect_has(all(story.care), "spread over 4 chunks");
}

TEST(ArrayStory, LargeChunksAreNamedWithASmallerOne) {
  const std::string text = all(tell(chunked({100000, 8128}, {8192, 8128}, 1)).care);
  expect_has(text, "chunks of 8,192 rows decode to 254 MiB");
  expect_has(text, "h5repack -l a:CHUNK=64x8128");
}

TEST(ArrayStory, TinyChunksAreNamed) {
  expect_has(all(tell(chunked({1000000}, {16}, 1)).care), "62,500 chunks of 64 B");
}

TEST(ArrayStory, AbsurdShapesSaturate) {
  const std::uint64_t huge = std::numeric_limits<std::uint64_t>::max() / 2;
  const ArrayStory story = tell(chunked({huge, huge}, {huge, huge}, 1));
  EXPECT_EQ(story.decoded_bytes, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(story.chunk_bytes, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(story.chunks, 1U);
}

TEST(ArrayStory, EmptyArraysAndZeroDimensions) {
  ArrayInfo array = chunked({0, 4}, {8, 4}, 0);
  EXPECT_EQ(tell(array).chunks, 0U);
  array.chunk_shape = {0, 0};  // damaged metadata
  EXPECT_EQ(tell(array).chunk_bytes, 4U);
  array.shape = {5, 0};
  EXPECT_EQ(tell(array).row_bytes, 0U);
}

TEST(ArrayStory, NothingWritten) {
  expect_has(all(tell(chunked({128, 4}, {16, 4}, 0)).care), "every value is the fill value");
}

TEST(ArrayStory, OtherReadPathsSayWhy) {
  ArrayInfo slow = chunked({128, 4}, {16, 4}, 9);
  slow.read_path = ReadPath::kFallback;
  slow.library = "libhdf5";
  slow.reason = "szip (filter 4)";
  EXPECT_EQ(tell(slow).read_by, "libhdf5, 1 thread");
  expect_has(all(tell(slow).care), "one chunk at a time: szip (filter 4)");
  ArrayInfo refused = slow;
  refused.path = "b";
  refused.read_path = ReadPath::kUnsupported;
  refused.reason = "variable-length strings";
  const FileStory file = tell({slow, refused});
  EXPECT_EQ(file.refused, (std::vector<std::string>{"b: variable-length strings"}));
  EXPECT_TRUE(file.fast.empty());
}

TEST(ArrayStory, ContiguousArraysAreFastInAnyOrder) {
  ArrayInfo array = chunked({100, 7}, {}, 2800);
  array.layout = Layout::kContiguous;
  array.filters.clear();
  const FileStory file = tell(std::vector<ArrayInfo>{array});
  expect_has(all(file.fast), "any rows in any order");
  EXPECT_TRUE(file.care.empty());
  EXPECT_EQ(tell(array).chunk, "contiguous");
  EXPECT_EQ(tell(array).random_row_bytes, 28U);
}

TEST(ArrayStory, RecordsAreColumns) {
  ArrayInfo array = chunked({100}, {}, 2800);
  array.layout = Layout::kContiguous;
  array.is_record = true;
  array.record_bytes = 28;
  array.columns = {{"id", {DType::Kind::kInt, 4}, {}, 0}, {"x", {DType::Kind::kFloat, 8}, {}, 4}};
  EXPECT_EQ(tell(array).type, "record of 2");
  expect_has(all(tell(array).care), "a.id");
}

TEST(ShapeText, AsNumPyWritesIt) {
  EXPECT_EQ(shape_text({5}), "(5,)");
  EXPECT_EQ(shape_text({5, 128, 16}), "(5, 128, 16)");
}

}  // namespace
}  // namespace headrace
