#include "format/parquet/pages/rle_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "format/parquet/parquet_testing.h"

namespace headrace::parquet {
namespace {

using Numbers = std::vector<std::uint32_t>;

std::uint32_t below_width(std::uint64_t number, std::uint32_t width) {
  return static_cast<std::uint32_t>(number & ((std::uint64_t{1} << width) - 1));
}

/// Any mixture of runs. Every number of a bit-packed run is a real one, since its groups are filled up.
Bytes any_runs(std::uint32_t width, Numbers& numbers) {
  Bytes bytes;
  const auto runs = *rc::gen::inRange(0, 12);
  for (int run = 0; run < runs; ++run) {
    const auto count = *rc::gen::inRange<std::size_t>(0, 70);
    if (*rc::gen::arbitrary<bool>()) {
      const std::uint32_t value = below_width(*rc::gen::arbitrary<std::uint32_t>(), width);
      numbers.insert(numbers.end(), count, value);
      append_repeated(bytes, count, value, width);
    } else {
      Numbers some(count / 8 * 8);
      for (std::uint32_t& number : some) number = below_width(*rc::gen::arbitrary<std::uint32_t>(), width);
      numbers.insert(numbers.end(), some.begin(), some.end());
      append_packed(bytes, some, width);
    }
  }
  return bytes;
}

/// Read up to `count` numbers in batches; fewer if an error comes first.
Result<Numbers> read_numbers(RleReader& reader, std::size_t count, std::size_t batch) {
  Numbers out;
  while (out.size() < count) {
    const std::size_t most = std::min(batch, count - out.size());
    Numbers room(most);
    HEADRACE_ASSIGN(const RleRun run, reader.next(room.data(), most));
    EXPECT_TRUE(run.count > 0 && run.count <= most);
    if (run.repeated) std::fill_n(room.begin(), run.count, run.value);
    out.insert(out.end(), room.begin(), room.begin() + static_cast<std::ptrdiff_t>(run.count));
  }
  return out;
}

TEST(RleReader, AnyRunsWithAnySkipAndBatch) {
  EXPECT_TRUE(rc::check("numbers come back", [] {
    const auto width = *rc::gen::inRange<std::uint32_t>(0, 33);
    Numbers numbers;
    const Bytes bytes = any_runs(width, numbers);
    const auto skipped = *rc::gen::inRange<std::size_t>(0, numbers.size() + 1);
    RleReader reader(bytes, width);
    RC_ASSERT(reader.skip(skipped).ok());
    const std::size_t left = numbers.size() - skipped;
    const auto first = *rc::gen::inRange<std::size_t>(0, left + 1);
    const auto again = *rc::gen::inRange<std::size_t>(0, left - first + 1);
    const auto batch = *rc::gen::inRange<std::size_t>(1, 40);
    const auto at = numbers.begin() + static_cast<std::ptrdiff_t>(skipped);
    const auto some = read_numbers(reader, first, batch);
    RC_ASSERT(some.ok());
    RC_ASSERT(*some == Numbers(at, at + static_cast<std::ptrdiff_t>(first)));
    RC_ASSERT(reader.skip(again).ok());
    const auto rest = read_numbers(reader, left - first - again, batch);
    RC_ASSERT(rest.ok());
    RC_ASSERT(*rest == Numbers(at + static_cast<std::ptrdiff_t>(first + again), numbers.end()));
    RC_ASSERT(!reader.skip(1).ok());
  }));
}

TEST(RleReader, EveryCutIsAnErrorOrFewerNumbers) {
  for (const std::uint32_t width : {1U, 3U, 8U, 17U, 32U}) {
    Numbers numbers;
    for (std::uint32_t i = 0; i < 60; ++i) numbers.push_back(below_width(i < 30 ? 1 : i * 2654435761U, width));
    const Bytes bytes = runs_of(numbers, width);
    numbers.resize(64);  // the last group is filled up
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      RleReader reader(cut, width);
      std::size_t good = 0;
      for (auto one = read_numbers(reader, 1, 1); one.ok(); one = read_numbers(reader, 1, 1))
        ASSERT_EQ((*one)[0], numbers[good++]) << "of width " << width << ", " << size << " bytes";
      EXPECT_LT(good, numbers.size());
      RleReader skipping(cut, width);
      const Status past = skipping.skip(good + 1);
      ASSERT_FALSE(past.ok());
      EXPECT_EQ(past.error().code(), ErrorCode::kCorruptData);
    }
  }
}

std::string run_error(const Bytes& bytes, std::uint32_t width) {
  RleReader reader(bytes, width);
  std::uint32_t room[8];
  const auto run = reader.next(room, 8);
  EXPECT_FALSE(run.ok());
  return run.ok() ? "" : run.error().message();
}

TEST(RleReader, AbsurdRunsAreErrors) {
  EXPECT_EQ(run_error({}, 3), "its runs end before its values do");
  EXPECT_EQ(run_error(Bytes(100), 0), "its runs end before its values do") << "runs of nothing";
  EXPECT_EQ(run_error(Bytes(6, std::byte{0x80}), 3), "a run with a length of more than 32 bits");
  EXPECT_EQ(run_error({std::byte{2}, std::byte{8}}, 3), "a repeated value of 8, beyond its 3 bits");
  EXPECT_EQ(run_error({std::byte{2}, std::byte{8}}, 9), "its runs end within a repeated value");
  Bytes packed;
  append_varint(packed, (std::uint64_t{1} << 32 | 1));
  EXPECT_EQ(run_error(packed, 5), "its runs end before its values do") << "a run of 2^34 numbers, without bytes";
  packed.push_back(std::byte{0xff});
  RleReader reader(packed, 5);
  std::uint32_t room[8];
  EXPECT_EQ(reader.next(room, 8)->count, 1U);
  EXPECT_EQ(room[0], 31U);
  EXPECT_FALSE(reader.next(room, 8).ok());
}

TEST(RleReader, UnpackBitsEqualsALoopOverBits) {
  for (std::uint32_t width = 0; width <= 32; ++width) {
    Numbers numbers(50);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = below_width((i + 1) * 2654435761U, width);
    const Bytes packed = packed_bits(std::span<const std::uint32_t>(numbers), width);
    for (std::size_t first = 0; first <= numbers.size(); ++first)
      for (std::size_t count = 0; count <= numbers.size() - first; count += count < 20 ? 1 : 7) {
        Numbers out(count + 1, 77);
        unpack_bits(packed, width, first, count, out.data());
        ASSERT_TRUE(std::equal(out.begin(), out.end() - 1, numbers.begin() + static_cast<std::ptrdiff_t>(first)))
            << count << " numbers of width " << width << " from " << first << " on";
        ASSERT_EQ(out[count], 77U);
      }
  }
}

}  // namespace
}  // namespace headrace::parquet
