// Arithmetic against a loop over the values, for samples that are shorter and longer than what is worked on at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "transform/testing/run_program.h"

namespace headrace {
namespace {

using testing::Arrays;
using testing::columns_of;
using testing::run_program;

constexpr std::size_t kRows = 3;

/// Compare with `want(value, feature, run)`; a run is what lies along the last axis. \param near  Largest difference.
void expect_values(const Transform& transform, const std::function<float(float, std::size_t, const float* run)>& want,
                   float near = 0) {
  std::mt19937 random(1);
  for (const std::uint64_t runs : {1u, 7u, 341u, 342u, 900u}) {
    const std::vector<Field> fields = {{"x", "", {DType::Kind::kFloat, 4}, Dims{runs, 3}, {}}};
    const Result<std::shared_ptr<const Program>> program = Program::make(columns_of(fields), {transform});
    ASSERT_TRUE(program.ok()) << program.error().what();
    const std::size_t elements = kRows * runs * 3;
    std::vector<float> x(elements);
    for (float& value : x) value = static_cast<float>(random() % 9) / 2;
    const auto* bytes = reinterpret_cast<const std::byte*>(x.data());
    const Arrays made = run_program(**program, {{bytes, bytes + elements * 4}}, kRows, {});
    const auto* got = reinterpret_cast<const float*>(made[0].data());
    for (std::size_t i = 0; i < elements; ++i)
      ASSERT_NEAR(got[i], want(x[i], i % 3, &x[i - i % 3]), near) << runs << " runs, value " << i;
  }
}

const std::vector<double> kMean = {1, 2, 3}, kDeviation = {2, 4, 8};

float standard(float x, std::size_t f) {
  return (x - static_cast<float>(kMean[f])) / static_cast<float>(kDeviation[f]);
}

TEST(Arithmetic, StandardizesFeatureByFeature) {
  expect_values({"Standardize", {"x"}, {{"mean", kMean}, {"std", kDeviation}}},
                [](float x, std::size_t f, const float*) { return standard(x, f); });
  expect_values({"Standardize", {"x"}, {{"mean", kMean}, {"std", kDeviation}, {"clip", 0.5}}},
                [](float x, std::size_t f, const float*) { return std::clamp(standard(x, f), -0.5F, 0.5F); });
}

TEST(Arithmetic, LeavesPaddingAsItIs) {
  expect_values({"Standardize", {"x"}, {{"mean", kMean}, {"std", kDeviation}, {"pad_feature", std::int64_t{1}}}},
                [](float x, std::size_t f, const float* run) { return run[1] == 0 ? x : standard(x, f); });
  expect_values(
      {"Standardize", {"x"}, {{"mean", kMean}, {"std", kDeviation}, {"pad_feature", std::int64_t{2}}, {"fill", 1.5}}},
      [](float x, std::size_t f, const float* run) { return run[2] == 1.5F ? x : standard(x, f); });
}

TEST(Arithmetic, Affine) {
  expect_values({"Affine", {"x"}, {{"scale", kDeviation}, {"shift", kMean}}}, [](float x, std::size_t f, const float*) {
    return x * static_cast<float>(kDeviation[f]) + static_cast<float>(kMean[f]);
  });
}

TEST(Arithmetic, Clip) {
  expect_values({"Clip", {"x"}, {{"least", 1.0}, {"most", 3.0}}},
                [](float x, std::size_t, const float*) { return std::clamp(x, 1.0F, 3.0F); });
}

TEST(Arithmetic, LogarithmsOfAnyBase) {
  const auto log = [](std::map<std::string, Setting> settings) {
    settings["offset"] = 1.0;
    return Transform{"Log", {"x"}, std::move(settings)};
  };
  constexpr float kNear = 1e-6F;  // a few units in the last place of the largest
  expect_values(
      log({}), [](float x, std::size_t, const float*) { return std::log(x + 1); }, kNear);
  expect_values(
      log({{"base", 10.0}}), [](float x, std::size_t, const float*) { return std::log10(x + 1); }, kNear);
  expect_values(
      log({{"base", 2.0}}), [](float x, std::size_t, const float*) { return std::log2(x + 1); }, kNear);
  expect_values(
      log({{"base", 3.0}}),
      [](float x, std::size_t, const float*) { return std::log(x + 1) / static_cast<float>(std::log(3.0)); }, kNear);
}

TEST(Arithmetic, LongLastAxes) {  // a whole run at a time: on the stack, and on the heap
  for (const std::uint64_t width : {1500u, 3000u}) {
    const std::vector<Field> fields = {{"x", "", {DType::Kind::kUInt, 1}, Dims{2, width}, {}}};
    std::vector<double> scale(width);
    for (std::size_t i = 0; i < width; ++i) scale[i] = static_cast<double>(i);
    const auto program = Program::make(columns_of(fields), {{"Affine", {"x"}, {{"scale", scale}}}});
    ASSERT_TRUE(program.ok());
    const Arrays made = run_program(**program, {std::vector<std::byte>(kRows * 2 * width, std::byte{3})}, kRows, {});
    const auto* got = reinterpret_cast<const float*>(made[0].data());
    for (std::size_t i = 0; i < kRows * 2 * width; ++i) ASSERT_EQ(got[i], 3 * static_cast<float>(i % width));
  }
}

}  // namespace
}  // namespace headrace
