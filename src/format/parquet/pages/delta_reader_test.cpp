#include "format/parquet/pages/delta_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>

#include "format/parquet/parquet_testing.h"

namespace headrace::parquet {
namespace {

using Integers = std::vector<std::int64_t>;

Result<Integers> read_differences(std::span<const std::byte> bytes, std::size_t count, std::size_t batch) {
  DeltaReader reader(bytes);
  HEADRACE_TRY(reader.begin());
  Integers out(count);
  for (std::size_t i = 0; i < count; i += batch) HEADRACE_TRY(reader.next(out.data() + i, std::min(batch, count - i)));
  return out;
}

void expect_round_trip(const Integers& values, std::size_t batch = 7) {
  const Bytes bytes = deltas_of(values);
  const auto read = read_differences(bytes, values.size(), batch);
  ASSERT_TRUE(read.ok()) << read.error().what();
  EXPECT_EQ(*read, values);
}

TEST(DeltaReader, AnyNumbersInAnyBlocksAndBatches) {
  EXPECT_TRUE(rc::check("numbers come back", [] {
    const auto bits = *rc::gen::inRange(0, 65);
    const auto count = *rc::gen::inRange<std::size_t>(0, 200);
    Integers values(count);
    for (std::int64_t& value : values)
      value = bits == 0 ? 5 : static_cast<std::int64_t>(*rc::gen::arbitrary<std::uint64_t>() >> (64 - bits));
    const auto miniblocks = *rc::gen::inRange<std::size_t>(1, 5), mini = *rc::gen::inRange<std::size_t>(1, 6) * 8;
    const auto batch = *rc::gen::inRange<std::size_t>(1, 50);
    const Bytes bytes = deltas_of(values, miniblocks * mini, miniblocks);
    const auto read = read_differences(bytes, values.size(), batch);
    RC_ASSERT(read.ok());
    RC_ASSERT(*read == values);
  }));
}

TEST(DeltaReader, SumsWrapAtTheExtremes) {
  using Limits = std::numeric_limits<std::int64_t>;
  using Limits32 = std::numeric_limits<std::int32_t>;
  expect_round_trip({});
  expect_round_trip({Limits::min()});
  Integers extremes;
  for (int i = 0; i < 70; ++i) {
    const std::int64_t some[] = {Limits::max(), Limits::min(), 0, -1, Limits32::min(), Limits32::max(), 1};
    extremes.push_back(some[static_cast<std::size_t>(i * i) % 7]);
  }
  expect_round_trip(extremes);
  expect_round_trip(extremes, 1);
}

TEST(DeltaReader, EveryWidth) {
  for (unsigned bits = 0; bits <= 64; ++bits) {
    Integers values{3};
    std::uint64_t sum = 3;
    for (std::uint64_t i = 1; i < 60; ++i) {
      const std::uint64_t delta = i * 0x9E3779B97F4A7C15ULL | std::uint64_t{1} << 63;
      sum += bits == 0 ? 4 : delta >> (64 - bits);
      values.push_back(static_cast<std::int64_t>(sum));
    }
    expect_round_trip(values);
  }
}

TEST(DeltaReader, EveryCutIsAnError) {
  Integers values;
  for (std::int64_t i = 0; i < 70; ++i) values.push_back(i * i * i * (i % 2 == 0 ? 1 : -1));
  const Bytes bytes = deltas_of(values);
  ASSERT_TRUE(read_differences(bytes, values.size(), 16).ok());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    const auto read = read_differences(cut, values.size(), 16);
    ASSERT_FALSE(read.ok()) << size;
    EXPECT_EQ(read.error().code(), ErrorCode::kCorruptData);
  }
}

std::string delta_header_error(std::initializer_list<std::uint64_t> numbers, std::size_t wanted = 2) {
  Bytes bytes;
  for (const std::uint64_t number : numbers) append_varint(bytes, number);
  const auto read = read_differences(bytes, wanted, 1);
  EXPECT_FALSE(read.ok());
  return read.ok() ? "" : read.error().message();
}

TEST(DeltaReader, HeadersThatMakeNoSense) {
  for (const auto& [block, miniblocks] : {std::pair{0, 1}, {128, 0}, {128, 3}, {100, 1}, {12, 4}, {1 << 21, 1}})
    EXPECT_NE(delta_header_error({static_cast<std::uint64_t>(block), static_cast<std::uint64_t>(miniblocks), 2, 0})
                  .find("differences in blocks of"),
              std::string::npos);
  EXPECT_NE(delta_header_error({128, std::uint64_t{1} << 40, 2, 0}).find("miniblocks"), std::string::npos);
  EXPECT_EQ(delta_header_error({32, 1, 1, 0}), "1 values stored as differences, where more are needed");
  EXPECT_EQ(delta_header_error({32, 1, 2, 0, 0, 65}), "differences of 65 bits");
  EXPECT_EQ(delta_header_error({32, 1, ~std::uint64_t{0}, 0, 0}), "its differences end before the widths of a block");
  Bytes long_number(11, std::byte{0xff});
  EXPECT_NE(read_differences(long_number, 1, 1).error().message().find("ten bytes"), std::string::npos);
}

TEST(DeltaReader, WidthsOfMiniblocksThatAreNotThereDoNotCount) {
  Bytes bytes;
  for (const std::uint64_t number : {32, 4, 2, 0, 2}) append_varint(bytes, number);
  for (const int width : {0, 200, 200, 200}) bytes.push_back(static_cast<std::byte>(width));
  EXPECT_EQ(*read_differences(bytes, 2, 2), (Integers{0, 1}));
}

}  // namespace
}  // namespace headrace::parquet
