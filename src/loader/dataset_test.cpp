#include <gtest/gtest.h>
#include <headrace/loader/dataset.h>

#include "format/testing/hdf5_files.h"

namespace headrace {
namespace {

using headrace::testing::Hdf5Writer;

constexpr std::uint64_t kRows = 16'384;  // of 8 KiB of fill values

ErrorCode code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "no error";
  return ErrorCode::kInternal;
}

TEST(Dataset, ALargeReadEndsWhenTheCallerSaysSo) {
  const TemporaryFolder directory;
  { Hdf5Writer(directory.path("a.h5")).write("x", {.shape = {kRows, 2048}, .chunk = {64, 2048}, .unwritten = true}); }
  const Dataset data = open(directory.path("a.h5"));
  EXPECT_EQ(code_of([&] { (void)data.slice(0, kRows, [] { return false; }); }), ErrorCode::kCancelled);
  const std::vector<std::uint64_t> rows(kRows, 7);
  EXPECT_EQ(code_of([&] { (void)data.take(rows, [] { return false; }); }), ErrorCode::kCancelled);
  int asked = 0;
  EXPECT_EQ(data.slice(0, kRows, [&] { return ++asked > 0; }).rows(), kRows);
  EXPECT_GT(asked, 0);
  EXPECT_EQ(data.slice(0, 5, [] { return false; }).rows(), 5u);  // small ones do not ask
}

TEST(Dataset, ARowThatCannotFitIsNamed) {
  const TemporaryFolder directory;
  {
    const Hdf5Writer file(directory.path("a.h5"));
    file.write("wide", {.shape = {4, 1ULL << 38}, .chunk = {1, 1ULL << 20}, .unwritten = true});
    file.write("x", {{4}});
  }
  const Dataset data = open(directory.path("a.h5"));
  try {
    (void)data.slice(3, 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfBudget);
    EXPECT_EQ(error.file(), directory.path("a.h5"));
    EXPECT_EQ(error.field(), "wide");
  }
}

}  // namespace
}  // namespace headrace
