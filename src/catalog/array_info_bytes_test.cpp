#include "catalog/array_info_bytes.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

ArrayInfo rich_array() {
  ArrayInfo info;
  info.path = "grp/x";
  info.shape = {1'000'000'000'000, 3, 128};
  info.record_bytes = 12;
  info.columns = {{"pos", {DType::Kind::kFloat, 4}, {2}, 0}, {"id", {DType::Kind::kBytes, 300}, {}, 8}};
  info.is_record = true;
  info.layout = Layout::kChunked;
  info.chunk_shape = {128, 3, 128};
  info.chunk_ends = {100, 228, 300};
  info.filters = {{"shuffle", ""}, {"deflate", "4"}};
  info.stored_bytes = ~std::uint64_t{0};
  info.read_path = ReadPath::kFallback;
  info.library = "libhdf5";
  info.reason = "filter 6 (scaleoffset) is decoded by libhdf5";
  info.left_out = {{"id", "variable-length strings", "leave it out"}};
  info.notice = "4 bytes follow the array's 248, and are not read";
  info.attributes = {{{"", "no name"}, {"units", "GeV\0c"}, {"scale_factor", 0.5}}, {{"table", "a table of 2 axes"}}};
  return info;
}

TEST(ArrayInfoBytes, EveryMemberComesBack) {
  const ArrayInfo info = rich_array();
  PackedWriter out;
  pack(info, out);
  PackedReader in(out.bytes());
  const ArrayInfo back = unpack_array_info(in);
  EXPECT_TRUE(in.complete());
  EXPECT_EQ(back.path, info.path);
  EXPECT_EQ(back.shape, info.shape);
  EXPECT_EQ(back.record_bytes, info.record_bytes);
  ASSERT_EQ(back.columns.size(), 2u);
  for (std::size_t c = 0; c < 2; ++c) {
    EXPECT_EQ(back.columns[c].name, info.columns[c].name);
    EXPECT_EQ(back.columns[c].dtype, info.columns[c].dtype);
    EXPECT_EQ(back.columns[c].inner_shape, info.columns[c].inner_shape);
    EXPECT_EQ(back.columns[c].offset, info.columns[c].offset);
  }
  EXPECT_EQ(back.is_record, info.is_record);
  EXPECT_EQ(back.layout, info.layout);
  EXPECT_EQ(back.chunk_shape, info.chunk_shape);
  EXPECT_EQ(back.chunk_ends, info.chunk_ends);
  EXPECT_EQ(back.codec_text(), "shuffle + gzip-4");
  EXPECT_EQ(back.stored_bytes, info.stored_bytes);
  EXPECT_EQ(back.read_path, info.read_path);
  EXPECT_EQ(back.read_path_name(), "libhdf5");
  EXPECT_EQ(back.reason, info.reason);
  EXPECT_EQ(back.left_out, info.left_out);
  EXPECT_EQ(back.notice, info.notice);
  EXPECT_EQ(back.attributes, info.attributes);
}

TEST(ArrayInfoBytes, TruncatedAndForeignBytesAreNoticed) {
  PackedWriter out;
  pack(rich_array(), out);
  const std::string bytes = out.take();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    PackedReader in(std::string_view(bytes).substr(0, size));
    (void)unpack_array_info(in);
    EXPECT_FALSE(in.ok()) << size;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {  // whatever stands there: no crash, no memory beyond the bytes
    std::string changed = bytes;
    changed[i] = static_cast<char>(0xFF);
    PackedReader in(changed);
    (void)unpack_array_info(in);
  }
}

}  // namespace
}  // namespace headrace
