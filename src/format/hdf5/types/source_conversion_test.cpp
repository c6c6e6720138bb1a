// Elements of a virtual dataset's source in the virtual dataset's type: in slices, in the buffers that were given.
#include "format/hdf5/types/source_conversion.h"

#include "base/testing/failing_new.h"
#include "format/hdf5/hdf5_testing.h"

namespace headrace::hdf5 {
namespace {

std::shared_ptr<const SourceConversion> between(hid_t from, hid_t to) {
  const LibraryLock library;
  const ElementType from_element = describe_type(library, from), to_element = describe_type(library, to);
  auto made = SourceConversion::between(library, from, from_element, to, to_element);
  EXPECT_TRUE(made.ok()) << made.error().what();
  return made.ok() ? *made : nullptr;
}

// The source's records lack a member, and have another order.
TEST(SourceConversion, RecordsOfManySlicesTakeNoMemoryOfTheirOwn) {
  constexpr std::size_t kRecords = 20'000, kFrom = 6, kTo = 24;
  const Id from(H5Tcreate(H5T_COMPOUND, kFrom)), to(H5Tcreate(H5T_COMPOUND, kTo));
  H5Tinsert(from.get(), "b", 0, H5T_NATIVE_INT32);
  H5Tinsert(from.get(), "a", 4, H5T_NATIVE_INT16);
  H5Tinsert(to.get(), "a", 0, H5T_NATIVE_INT32);
  H5Tinsert(to.get(), "lacking", 4, H5T_NATIVE_INT64);
  H5Tinsert(to.get(), "b", 16, H5T_NATIVE_DOUBLE);
  const auto conversion = between(from.get(), to.get());
  ASSERT_NE(conversion, nullptr);
  std::vector<std::byte> in(kRecords * kFrom), out(kRecords * kTo, std::byte{0xA5});
  for (std::size_t i = 0; i < kRecords; ++i) {
    const auto b = static_cast<std::int32_t>(i * 7);
    const auto a = static_cast<std::int16_t>(i % 1000);
    std::memcpy(in.data() + i * kFrom, &b, 4);
    std::memcpy(in.data() + i * kFrom + 4, &a, 2);
  }
  const std::uint64_t aside_bytes = conversion->scratch_bytes(kRecords);
  EXPECT_LE(aside_bytes, 64U << 10);
  std::vector<std::byte> ping(aside_bytes, std::byte{0xA5}), pong(aside_bytes, std::byte{0xA5});
  Status status;
  {
    const testing::FailingNew no_memory("", 1, 1000);
    status = conversion->convert(in, out, {ping, pong});
    EXPECT_EQ(no_memory.failed(), 0U);
  }
  ASSERT_TRUE(status.ok()) << status.error().what();
  for (std::size_t i = 0; i < kRecords; ++i) {
    std::int32_t a = -1;
    std::int64_t lacking = -1;
    double b = -1;
    std::memcpy(&a, out.data() + i * kTo, 4);
    std::memcpy(&lacking, out.data() + i * kTo + 4, 8);
    std::memcpy(&b, out.data() + i * kTo + 16, 8);
    ASSERT_EQ(a, static_cast<std::int32_t>(i % 1000));
    ASSERT_EQ(lacking, 0);
    ASSERT_EQ(b, static_cast<double>(i * 7));
  }
  EXPECT_FALSE(conversion->convert(in, std::span(out).first(kTo), {ping, pong}).ok()) << "of other lengths";
}

TEST(SourceConversion, TheSameBytesNeedNone) {
  EXPECT_EQ(between(H5T_STD_I32BE, H5T_STD_I32LE), nullptr);  // decoded, both are native
  EXPECT_NE(between(H5T_STD_I16LE, H5T_STD_I32LE), nullptr);
}

}  // namespace
}  // namespace headrace::hdf5
