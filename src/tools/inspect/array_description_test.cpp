#include "tools/inspect/array_description.h"

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

TEST(ArrayDescription, NumbersOfAChunkedArray) {
  const ArrayDescription described = describe_array(chunked({16384, 128, 16}, {128, 128, 16}, 26843545));
  EXPECT_EQ(described.row_bytes, 8192U);
  EXPECT_EQ(described.decoded_bytes, 16384U * 8192);
  EXPECT_EQ(described.chunk_bytes, 128U * 8192);
  EXPECT_EQ(described.chunks, 128U);
  EXPECT_EQ(described.chunks_across, 1U);
  EXPECT_EQ(described.random_row_bytes, 128U * 8192);
  EXPECT_NEAR(described.ratio, 5.0, 1e-6);
  EXPECT_EQ(described.chunk, "128 rows, 1.00 MiB");
  EXPECT_EQ(described.read_by, "native");
  expect_has(all(described.care), "one random row decodes 1.00 MiB (128 rows) to use 8.00 KiB");
}

TEST(ArrayDescription, ChunksAcrossTheRow) {
  const ArrayDescription described = describe_array(chunked({1000, 100, 100}, {10, 64, 64}, 1));
  EXPECT_EQ(described.chunks_across, 4U);
  EXPECT_EQ(described.chunks, 400U);
  EXPECT_EQ(described.random_row_bytes, 4U * 10 * 64 * 64 * 4);
  expect_has(all(described.care), "spread over 4 chunks");
}

TEST(ArrayDescription, LargeChunksAreNamedWithASmallerOne) {
  const std::string text = all(describe_array(chunked({100000, 8128}, {8192, 8128}, 1)).care);
  expect_has(text, "chunks of 8,192 rows decode to 254 MiB");
  expect_has(text, "headrace rewrite FILE --to fast/ --chunk-rows 64");
}

TEST(ArrayDescription, TinyChunksAreNamed) {
  expect_has(all(describe_array(chunked({1000000}, {16}, 1)).care), "62,500 chunks of 64 B");
}

TEST(ArrayDescription, AbsurdShapesSaturate) {
  const std::uint64_t huge = std::numeric_limits<std::uint64_t>::max() / 2;
  const ArrayDescription described = describe_array(chunked({huge, huge}, {huge, huge}, 1));
  EXPECT_EQ(described.decoded_bytes, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(described.chunk_bytes, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(described.chunks, 1U);
}

TEST(ArrayDescription, EmptyArraysAndZeroDimensions) {
  ArrayInfo array = chunked({0, 4}, {8, 4}, 0);
  EXPECT_EQ(describe_array(array).chunks, 0U);
  array.chunk_shape = {0, 0};  // damaged metadata
  EXPECT_EQ(describe_array(array).chunk_bytes, 4U);
  array.shape = {5, 0};
  EXPECT_EQ(describe_array(array).row_bytes, 0U);
}

TEST(ArrayDescription, NothingWritten) {
  expect_has(all(describe_array(chunked({128, 4}, {16, 4}, 0)).care), "every value is the fill value");
}

TEST(ArrayDescription, ConvertedNumbersAreDecodedLikeOthers) {
  ArrayInfo odd = chunked({128, 4}, {16, 4}, 9);
  odd.read_path = ReadPath::kConverted;
  odd.library = "libhdf5";
  odd.reason = "3-byte integers: converted by libhdf5";
  EXPECT_EQ(odd.read_path_name(), "converted");
  EXPECT_EQ(describe_array(odd).read_by, "native, converted by libhdf5");
  const std::string care = all(describe_array(odd).care);
  expect_has(care, "converted one thread at a time: 3-byte integers");
  EXPECT_EQ(care.find("one chunk at a time"), std::string::npos) << care;
}

TEST(ArrayDescription, OtherReadPathsSayWhy) {
  ArrayInfo slow = chunked({128, 4}, {16, 4}, 9);
  slow.read_path = ReadPath::kFallback;
  slow.library = "libhdf5";
  slow.reason = "szip (filter 4)";
  EXPECT_EQ(describe_array(slow).read_by, "libhdf5, 1 thread");
  expect_has(all(describe_array(slow).care), "one chunk at a time: szip (filter 4)");
  ArrayInfo refused = slow;
  refused.path = "b";
  refused.read_path = ReadPath::kUnsupported;
  refused.reason = "variable-length strings";
  const FileDescription file = describe_arrays({slow, refused});
  EXPECT_EQ(file.refused, (std::vector<std::string>{"b: variable-length strings"}));
  EXPECT_TRUE(file.fast.empty());
}

TEST(ArrayDescription, ContiguousArraysAreFastInAnyOrder) {
  ArrayInfo array = chunked({100, 7}, {}, 2800);
  array.layout = Layout::kContiguous;
  array.filters.clear();
  const FileDescription file = describe_arrays(std::vector<ArrayInfo>{array});
  expect_has(all(file.fast), "any rows in any order");
  EXPECT_TRUE(file.care.empty());
  EXPECT_EQ(describe_array(array).chunk, "contiguous");
  EXPECT_EQ(describe_array(array).random_row_bytes, 28U);
}

TEST(ArrayDescription, RecordsAreColumns) {
  ArrayInfo array = chunked({100}, {}, 2800);
  array.layout = Layout::kContiguous;
  array.is_record = true;
  array.record_bytes = 28;
  array.columns = {{"id", {DType::Kind::kInt, 4}, {}, 0}, {"x", {DType::Kind::kFloat, 8}, {}, 4}};
  EXPECT_EQ(describe_array(array).type, "record of 2");
  expect_has(all(describe_array(array).care), "a.id");
}

TEST(ShapeText, AsNumPyWritesIt) {
  EXPECT_EQ(shape_text({5}), "(5,)");
  EXPECT_EQ(shape_text({5, 128, 16}), "(5, 128, 16)");
}

}  // namespace
}  // namespace headrace
