#include <gtest/gtest.h>
#include <headrace/dataset.h>

#include "format/npy/npy_header.h"
#include "format/testing/hdf5_files.h"

namespace headrace {
namespace {

using headrace::testing::Hdf5Writer;

constexpr std::uint64_t kFillRows = 16'384;  // of 8 KiB of fill values

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
  {
    Hdf5Writer(directory.path("a.h5")).write("x", {.shape = {kFillRows, 2048}, .chunk = {64, 2048}, .unwritten = true});
  }
  const Dataset data = open(directory.path("a.h5"));
  EXPECT_EQ(code_of([&] { (void)data.slice(0, kFillRows, [] { return false; }); }), ErrorCode::kCancelled);
  const std::vector<std::uint64_t> rows(kFillRows, 7);
  EXPECT_EQ(code_of([&] { (void)data.take(rows, [] { return false; }); }), ErrorCode::kCancelled);
  int asked = 0;
  EXPECT_EQ(data.slice(0, kFillRows, [&] { return ++asked > 0; }).rows(), kFillRows);
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

TEST(Dataset, WholeNumbersOfSeveralTypesAreToldTheTypeOfAll) {
  const TemporaryFolder directory;
  using Kind = DType::Kind;
  const auto write = [&](const char* name, const DType& type) {
    return directory.write_text(name, npy_header({"x", "x", type, {}}, 4) + std::string(4 * type.itemsize, '\0'));
  };
  const auto hint = [&](Kind first, std::uint32_t first_bytes, Kind second, std::uint32_t second_bytes) {
    const std::vector<std::string> files{write("x_1.npy", {first, first_bytes}),
                                         write("x_2.npy", {second, second_bytes})};
    try {
      open(files);
    } catch (const Error& error) {
      EXPECT_EQ(error.file(), files[1]);
      EXPECT_EQ(error.field(), "x");
      EXPECT_EQ(error.hint().find("open those"), std::string::npos);
      return error.hint();
    }
    return std::string("opened");
  };
  EXPECT_NE(hint(Kind::kInt, 2, Kind::kInt, 4).find("cast(\"int32\")"), std::string::npos);
  EXPECT_NE(hint(Kind::kUInt, 4, Kind::kInt, 4).find("astype(\"int64\")"), std::string::npos);
  EXPECT_NE(hint(Kind::kUInt, 8, Kind::kInt, 4).find("write the field anew where it differs"), std::string::npos);
  EXPECT_NE(hint(Kind::kFloat, 8, Kind::kInt, 4).find("write the field anew where it differs"), std::string::npos);
}

/// Energy has a row for each event, and the number of the event one for each pulse.
TEST(Dataset, TargetsOfPlacesThatDoNotFitAreTold) {
  const TemporaryFolder directory;
  {
    const Hdf5Writer pulses(directory.path("pulses.h5"));
    for (const char* name : {"time", "event"}) pulses.write(name, {{6}});
  }
  Hdf5Writer(directory.path("truth.h5")).write("energy", {{2}});
  OpenOptions options;
  options.fields = {{"time", ""}};
  options.sample_by.emplace().offset_list = std::vector<std::uint64_t>{0, 4, 6};
  options.targets = {{"energy", directory.path("truth.h5") + "::energy"}, {"event", "event"}};
  try {
    open({directory.path("pulses.h5")}, options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(error.message().find("targets= come from " + directory.path("truth.h5") +
                                   " (energy) and the files of the samples (event)"),
              std::string::npos)
        << error.what();
    EXPECT_NE(error.hint().find("join"), std::string::npos) << error.what();
  }
}

TEST(Dataset, NamesTheArraysThatAreNoFields) {
  const TemporaryFolder directory;
  {
    const Hdf5Writer file(directory.path("a.h5"));
    file.write("x", {{100, 3}});
    file.write("y", {{100}});
    file.write("edges", {{41}});
    file.write("empty", {{100, 0}});
  }
  const Dataset data = open(directory.path("a.h5"));
  ASSERT_EQ(data.left_out().size(), 2u);
  EXPECT_EQ(data.left_out()[0].path, "edges");
  EXPECT_EQ(data.left_out()[0].reason, "it has 41 rows, and the fields have 100");
  EXPECT_EQ(data.left_out()[1].path, "empty");
  EXPECT_NE(data.describe().find("left out: edges: it has 41 rows"), std::string::npos) << data.describe();
  EXPECT_EQ(data.fields().size(), 2u);
  EXPECT_TRUE(open(directory.path("a.h5"), {.fields = {{"x", ""}}}).left_out().empty());
  EXPECT_EQ(code_of([&] {
              (void)open(directory.path("a.h5"), {.fields = {{"x", ""}, {"edges", ""}}});
            }),
            ErrorCode::kInvalidArgument);
}

TEST(Dataset, OpeningTellsOfEachFileAndEndsWhenTheCallerSaysSo) {
  const TemporaryFolder directory;
  for (const char* name : {"a.h5", "b.h5", "c.h5"}) Hdf5Writer(directory.path(name)).write("x", {{10}});
  std::vector<std::pair<std::uint64_t, std::uint64_t>> seen;
  OpenOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t all) {
    seen.emplace_back(done, all);
    return done < 2;
  };
  EXPECT_EQ(code_of([&] { (void)open(directory.path("*.h5"), options); }), ErrorCode::kCancelled);
  EXPECT_EQ(seen, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{1, 3}, {2, 3}}));
}

}  // namespace
}  // namespace headrace
