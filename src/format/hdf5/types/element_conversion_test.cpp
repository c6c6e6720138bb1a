// Numbers that libhdf5 converts: in slices, in place, and never outside the buffers.
#include "format/hdf5/types/element_conversion.h"

#include "format/hdf5/hdf5_testing.h"

namespace headrace::hdf5 {
namespace {

ElementType described(hid_t type) {
  const LibraryLock library;
  return describe_type(library, type);
}

void release(ElementType& element) {
  const LibraryLock library;
  element.memory_type.reset();
  element.stored_type.reset();
}

constexpr std::byte kGuard{0xA5};

/// A buffer that notices what is written past its end.
struct Guarded {
  explicit Guarded(std::size_t n) : bytes(n + 64, kGuard) {}
  std::span<std::byte> span() { return std::span(bytes).first(bytes.size() - 64); }
  [[nodiscard]] bool intact() const {
    return std::all_of(bytes.end() - 64, bytes.end(), [](std::byte b) { return b == kGuard; });
  }
  std::vector<std::byte> bytes;
};

std::vector<std::byte> three_bytes(std::size_t n) {  // little-endian, signed
  std::vector<std::byte> stored;
  for (std::size_t i = 0; i < n; ++i) {
    const auto value = static_cast<std::int32_t>(i * 131) - 8'000'000;
    for (int shift = 0; shift < 24; shift += 8) stored.push_back(static_cast<std::byte>(value >> shift & 0xFF));
  }
  return stored;
}

// 50,000 numbers are several slices; the last one is not full.
TEST(ElementConversion, EverySliceOfTheStoredFormAtTheEndOfTheNativeOne) {
  constexpr std::size_t kNumbers = 50'000;
  const Id type = odd_integer(H5T_STD_I32LE, 24, 3);
  ElementType element = described(type.get());
  ASSERT_EQ(element.path, ReadPath::kConverted);
  ASSERT_EQ(element.stored_bytes, 3U);
  ASSERT_EQ(element.record_bytes, 4U);
  const std::vector<std::byte> stored = three_bytes(kNumbers);
  const std::uint64_t aside_bytes = conversion_bytes(element, kNumbers);
  EXPECT_LE(aside_bytes, 64U << 10);
  EXPECT_EQ(stored_room_bytes(element, kNumbers), 0U);
  for (const bool in_place : {false, true}) {
    Guarded out(kNumbers * 4), ping(aside_bytes), pong(aside_bytes);
    std::span<const std::byte> from = stored;
    if (in_place) {
      const std::span<std::byte> room = stored_room(element, out.span(), pong.span());
      ASSERT_EQ(room.size(), stored.size());
      ASSERT_EQ(room.data() + room.size(), out.span().data() + out.span().size());
      std::ranges::copy(stored, room.begin());
      from = room;
    }
    const Status status = convert(element, from, out.span(), {ping.span(), pong.span()});
    ASSERT_TRUE(status.ok()) << status.error().what();
    EXPECT_TRUE(out.intact() && ping.intact() && pong.intact());
    std::vector<std::int32_t> values(kNumbers);
    std::memcpy(values.data(), out.span().data(), kNumbers * 4);
    EXPECT_EQ(values, counted<std::int32_t>(
                          kNumbers, [](std::size_t i) { return static_cast<std::int32_t>(i * 131) - 8'000'000; }));
  }
  release(element);
}

TEST(ElementConversion, WhatIsStoredLargerGoesBesideTheFiltersScratch) {
  ElementType element = described(H5T_NATIVE_LDOUBLE);
  ASSERT_EQ(element.path, ReadPath::kConverted);
  constexpr std::size_t kNumbers = 10'000;
  const std::uint64_t aside_bytes = conversion_bytes(element, kNumbers),
                      room_bytes = stored_room_bytes(element, kNumbers);
  ASSERT_EQ(room_bytes, kNumbers * sizeof(long double));
  Guarded out(kNumbers * 8), ping(aside_bytes), pong(aside_bytes + room_bytes);
  const auto numbers =
      counted<long double>(kNumbers, [](std::size_t i) { return static_cast<long double>(i) * 0.5L - 100; });
  const std::span<std::byte> room = stored_room(element, out.span(), pong.span());
  ASSERT_EQ(room.size(), room_bytes);
  std::memcpy(room.data(), numbers.data(), room_bytes);
  const Status status = convert(element, room, out.span(), {ping.span(), pong.span().first(aside_bytes)});
  ASSERT_TRUE(status.ok()) << status.error().what();
  EXPECT_TRUE(out.intact() && ping.intact() && pong.intact());
  std::vector<double> values(kNumbers);
  std::memcpy(values.data(), out.span().data(), kNumbers * 8);
  EXPECT_EQ(values, counted<double>(kNumbers, [](std::size_t i) { return static_cast<double>(i) * 0.5 - 100; }));
  release(element);
}

// A record is no smaller in memory than stored, so that the plan, which knows rows as they are decoded, has room for
// it.
TEST(ElementConversion, BytesBetweenMembersAreZero) {
  const Id number = odd_integer(H5T_STD_U16BE, 12, 2, 4), record(H5Tcreate(H5T_COMPOUND, 40));
  H5Tinsert(record.get(), "a", 30, number.get());
  H5Tinsert(record.get(), "b", 5, H5T_STD_I32BE);
  ElementType element = described(record.get());
  ASSERT_EQ(element.path, ReadPath::kConverted);
  EXPECT_EQ(element.record_bytes, 40U);
  ASSERT_EQ(element.leaves.size(), 2U);
  constexpr std::size_t kRecords = 4'000;  // more than a slice
  std::vector<std::byte> stored(40 * kRecords, std::byte{0xEE});
  for (std::size_t i = 0; i < kRecords; ++i) {
    std::byte* const at = stored.data() + 40 * i;
    const std::size_t a = i % 4096 << 4 | 0xB;  // the lowest bits are padding
    at[30] = static_cast<std::byte>(a >> 8), at[31] = static_cast<std::byte>(a & 0xFF);
    for (std::size_t k = 0; k < 4; ++k) at[5 + k] = static_cast<std::byte>(i >> 8 * (3 - k) & 0xFF);
  }
  const std::uint64_t aside_bytes = conversion_bytes(element, kRecords);
  Guarded out(40 * kRecords), ping(aside_bytes), pong(aside_bytes);
  const Status status = convert(element, stored, out.span(), {ping.span(), pong.span()});
  ASSERT_TRUE(status.ok()) << status.error().what();
  EXPECT_TRUE(out.intact() && ping.intact() && pong.intact());
  for (std::size_t i = 0; i < kRecords; ++i) {
    const std::byte* const at = out.span().data() + 40 * i;
    std::uint16_t a = 0;
    std::int32_t b = 0;
    std::memcpy(&a, at + element.leaves[0].column.offset, 2);
    std::memcpy(&b, at + element.leaves[1].column.offset, 4);
    ASSERT_EQ(a, i % 4096);
    ASSERT_EQ(b, static_cast<std::int32_t>(i));
    ASSERT_TRUE(std::all_of(at + 6, at + 40, [](std::byte byte) { return byte == std::byte{0}; })) << i;
  }
  release(element);
}

TEST(ElementConversion, BuffersOfOtherSizesAreRefused) {
  const Id type = odd_integer(H5T_STD_I32LE, 24, 3);
  ElementType element = described(type.get());
  const std::vector<std::byte> stored = three_bytes(100);
  std::vector<std::byte> out(400), aside(conversion_bytes(element, 100));
  const std::span<const std::byte> all = stored;
  const std::span<std::byte> to = out, room = aside;
  EXPECT_TRUE(convert(element, all, to, {room, room}).ok());
  EXPECT_FALSE(convert(element, all.first(299), to, {room, room}).ok());
  EXPECT_FALSE(convert(element, all, to.first(399), {room, room}).ok());
  EXPECT_FALSE(convert(element, all, to, {room.first(room.size() - 1), room}).ok());
  EXPECT_FALSE(convert(element, all, to, {room, room.first(room.size() - 1)}).ok());
  release(element);
}

}  // namespace
}  // namespace headrace::hdf5
