// Mirror, Rotate90 and ShuffleAxes where Python does not reach: samples without values, and how many axes they take.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "transform/registry.h"

namespace headrace {
namespace {

Field field_of(Dims dims) {
  return {"x", "", {DType::Kind::kUInt, 1}, std::move(dims), {}};
}

std::string error_of(const std::string& name, Dims dims, std::map<std::string, Setting> settings) {
  const std::vector<Field> inputs = {field_of(std::move(dims))};
  const Result<CompiledTransform> made = compile_transform({name, {"x"}, std::move(settings)}, inputs);
  return made.ok() ? "" : made.error().what();
}

TEST(Turns, SamplesWithoutValuesStayAsTheyAre) {
  for (const char* const name : {"Mirror", "Rotate90", "ShuffleAxes"}) {
    const std::vector<Field> inputs = {field_of(Dims{3, 0, 0})};
    const Result<CompiledTransform> made = compile_transform({name, {"x"}, {}}, inputs);
    ASSERT_TRUE(made.ok()) << made.error().what();
    std::byte before{7}, after{9};
    const std::byte* const in = &before;
    std::byte* const out = &after;
    for (std::uint64_t sample = 0; sample < 32; ++sample)
      EXPECT_TRUE(made->kernel->run({{1, 2, sample}, {&in, 1}, {&out, 1}}).ok());
    EXPECT_EQ(after, std::byte{9});
  }
}

TEST(Turns, TakeSoManyAxes) {
  const std::vector<double> nine = {0, 1, 2, 3, 4, 5, 6, 7, 8}, six = {0, 1, 2, 3, 4, 5};
  const Dims many{2, 2, 2, 2, 2, 2, 2, 2, 2};
  EXPECT_NE(error_of("Mirror", many, {{"axes", nine}}).find("9 axes, and it takes 8"), std::string::npos);
  EXPECT_NE(error_of("ShuffleAxes", many, {{"axes", six}}).find("6 axes, and it takes 2 to 5"), std::string::npos);
  EXPECT_EQ(error_of("ShuffleAxes", many, {{"axes", std::vector<double>{8, 1, 4, 2, 0}}}), "");
  EXPECT_NE(error_of("Rotate90", Dims{2, 2, 2}, {{"axes", std::vector<double>{0, 1}}, {"cube", true}}).find("turns 3"),
            std::string::npos);
}

/// What becomes of a cube whose values all differ tells one rotation from another.
TEST(Turns, ACubeHas24RotationsOfAnyThreeAxes) {
  const std::vector<Field> inputs = {field_of(Dims{2, 3, 2, 2})};
  const Result<CompiledTransform> made =
      compile_transform({"Rotate90", {"x"}, {{"cube", true}, {"axes", std::vector<double>{3, 0, -2}}}}, inputs);
  ASSERT_TRUE(made.ok()) << made.error().what();
  std::vector<std::byte> values(24), turned(24);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::byte>(i);
  const std::byte* const in = values.data();
  std::byte* const out = turned.data();
  std::set<std::string> seen;
  for (std::uint64_t sample = 0; sample < 2000; ++sample) {
    ASSERT_TRUE(made->kernel->run({{1, 2, sample}, {&in, 1}, {&out, 1}}).ok());
    seen.emplace(reinterpret_cast<const char*>(turned.data()), turned.size());
    std::vector<std::byte> sorted = turned;
    std::ranges::sort(sorted);
    EXPECT_EQ(sorted, values);
    for (std::size_t i = 0; i < turned.size(); ++i)  // the second axis stays
      EXPECT_EQ(static_cast<std::size_t>(turned[i]) / 4 % 3, i / 4 % 3);
  }
  EXPECT_EQ(seen.size(), 24u);
}

}  // namespace
}  // namespace headrace
