// The suite of every format, and the errors of this one. Files are written out here, byte by byte, without the reader.
#include "format/testing/skeleton_format.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "format/testing/format_suite.h"
#include "storage/testing/memory_file.h"

namespace headrace::skeleton {
namespace {

using testing_format::FormatCase;
using testing_format::OpenedArray;
using Bytes = std::vector<std::byte>;

Bytes big_endian_bytes(std::uint64_t number, int bytes) {
  Bytes out;
  for (int i = bytes; i-- > 0;) out.push_back(static_cast<std::byte>(number >> (8 * i)));
  return out;
}

void append(Bytes& to, const Bytes& bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

Bytes header(std::uint64_t rows, std::uint64_t width) {
  Bytes out;
  for (const char c : std::string_view("SKELETON")) out.push_back(static_cast<std::byte>(c));
  append(out, big_endian_bytes(rows, 8));
  append(out, big_endian_bytes(width, 8));
  return out;
}

/// A file and, as the oracle, the same values as they must arrive.
FormatCase make_case(std::uint64_t rows, std::uint64_t width) {
  FormatCase made;
  made.addressable = true;
  made.file_bytes = header(rows, width);
  made.columns.emplace_back();
  for (std::uint64_t i = 0; i < rows * width; ++i) {
    const float value = static_cast<float>(i) * 0.37F - 5;
    append(made.file_bytes, big_endian_bytes(std::bit_cast<std::uint32_t>(value), 4));
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    made.columns[0].insert(made.columns[0].end(), bytes, bytes + sizeof value);
  }
  made.open_file = [](std::shared_ptr<RandomAccessFile> bytes) -> OpenedArray {
    HEADRACE_ASSIGN(const std::shared_ptr<FormatReader> reader, open_skeleton(std::move(bytes), "suite.skeleton"));
    return reader->open_array("values");
  };
  made.open = [open = made.open_file, bytes = made.file_bytes] {
    return open(std::make_shared<MemoryFile>("suite.skeleton", bytes));
  };
  return made;
}

[[maybe_unused]] const bool registered = [] {
  const auto add = [](const char* name, std::uint64_t rows, std::uint64_t width) {
    testing_format::register_format_reader_tests("SkeletonSuite", name, [=] { return make_case(rows, width); });
  };
  add("Rows", 31, 5);
  add("OneValueARow", 40, 1);
  add("NoRows", 0, 3);
  return true;
}();

Error refused(Bytes bytes) {
  const auto reader = open_skeleton(std::make_shared<MemoryFile>("x", std::move(bytes)), "x");
  EXPECT_FALSE(reader.ok());
  return reader.ok() ? Error(ErrorCode::kInternal, "opened") : reader.error();
}

TEST(SkeletonErrors, HeadersThatMakeNoSense) {
  EXPECT_EQ(refused(header(2, 3)).code(), ErrorCode::kCorruptData);  // no values follow
  EXPECT_EQ(refused(header(1, 0)).code(), ErrorCode::kUnsupported);
  const std::uint64_t half = std::uint64_t{1} << 32;
  for (const auto& [rows, width] : {std::pair{half, half}, {~half, half}, {std::uint64_t{1}, half << 30}})
    EXPECT_EQ(refused(header(rows, width)).code(), ErrorCode::kCorruptData) << rows << " rows of " << width;
}

TEST(SkeletonErrors, AnArrayThatIsNotThere) {
  const auto reader = open_skeleton(std::make_shared<MemoryFile>("x", header(0, 1)), "x");
  ASSERT_TRUE(reader.ok()) << reader.error().what();
  EXPECT_TRUE((*reader)->open_array("/values").ok());
  const Error error = (*reader)->open_array("value").error();
  EXPECT_EQ(error.code(), ErrorCode::kFieldMissing);
  EXPECT_EQ(error.hint(), "It has: values.");
}

}  // namespace
}  // namespace headrace::skeleton
