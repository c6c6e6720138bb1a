// pair_row() against the formulas, in double.
#include "transform/kinds/pair_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

namespace headrace {
namespace {

constexpr std::size_t kRoom = 64;  // behind the end of each list
constexpr double kLeast = 1e-8;

struct Jet {
  std::array<std::vector<float>, 7> lists;
  explicit Jet(std::size_t particles) {
    for (auto& list : lists) list.assign(particles + kRoom, 0.0F);
  }
  void set(std::size_t at, const std::array<double, 4>& v) {
    const double pt = std::hypot(v[0], v[1]);
    const std::array<double, 7> all = {
        v[0], v[1], v[2], v[3], pt, 0.5 * std::log((v[3] + v[2]) / (v[3] - v[2])), std::atan2(v[1], v[0])};
    for (std::size_t i = 0; i < all.size(); ++i) lists[i][at] = static_cast<float>(all[i]);
  }
  [[nodiscard]] Particles particles() const {
    return {lists[0].data(), lists[1].data(), lists[2].data(), lists[3].data(),
            lists[4].data(), lists[5].data(), lists[6].data()};
  }
  [[nodiscard]] double at(std::size_t list, std::size_t i) const { return lists[list][i]; }
};

/// ln kT, ln z, ln Delta R, ln m^2 of two particles, from the same floats.
std::array<double, 4> expected(const Jet& jet, std::size_t i, std::size_t j) {
  const double along = jet.at(5, i) - jet.at(5, j);
  double around = jet.at(6, i) - jet.at(6, j);
  while (around > std::numbers::pi) around -= 2 * std::numbers::pi;
  while (around < -std::numbers::pi) around += 2 * std::numbers::pi;
  const double delta = std::hypot(along, around), softer = std::min(jet.at(4, i), jet.at(4, j));
  const double share = softer / std::max(jet.at(4, i) + jet.at(4, j), kLeast);
  std::array<double, 4> sum{};
  for (std::size_t c = 0; c < 4; ++c) sum[c] = jet.at(c, i) + jet.at(c, j);
  const double mass = sum[3] * sum[3] - sum[0] * sum[0] - sum[1] * sum[1] - sum[2] * sum[2];
  return {std::log(std::max(softer * delta, kLeast)), std::log(std::max(share, kLeast)),
          std::log(std::max(delta, kLeast)), std::log(std::max(mass, kLeast))};
}

void expect_equal(const Jet& jet, std::size_t i, std::size_t begin, std::size_t end) {
  std::array<std::vector<float>, 4> made;
  float* out[4];
  for (std::size_t f = 0; f < 4; ++f) {
    made[f].assign(end - begin + kRoom, -77.0F);
    out[f] = made[f].data();
  }
  pair_row(jet.particles(), i, begin, end, out);
  for (std::size_t j = begin; j < end; ++j) {
    const std::array<double, 4> want = expected(jet, i, j);
    for (std::size_t f = 0; f < 3; ++f)
      EXPECT_NEAR(made[f][j - begin], want[f], 2e-4) << i << " with " << j << ", feature " << f;
    // m^2 is a difference of squares: what float loses is measured by what is subtracted.
    const double energy = jet.at(3, i) + jet.at(3, j);
    EXPECT_NEAR(std::exp(made[3][j - begin]), std::exp(want[3]), 1e-6 * energy * energy + 2e-8) << i << " with " << j;
  }
}

TEST(PairRow, EqualsTheFormulas) {
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  for (const std::size_t particles : {1u, 2u, 7u, 16u, 33u, 70u}) {
    Jet jet(particles);
    for (std::size_t p = 0; p < particles; ++p) {
      const double px = 20 * normal(random), py = 20 * normal(random), pz = 30 * normal(random),
                   mass = static_cast<double>(1 + p % 5);
      jet.set(p, {px, py, pz, std::sqrt(px * px + py * py + pz * pz + mass * mass)});
    }
    for (std::size_t i = 0; i < particles; ++i) {
      expect_equal(jet, i, i, particles);
      expect_equal(jet, i, 0, i + 1);
    }
  }
}

TEST(PairRow, AnglesGoRound) {  // phi 3.1 and -3.1 are 0.083 apart, not 6.2
  Jet jet(2);
  const auto at = [](double phi) { return std::array<double, 4>{10 * std::cos(phi), 10 * std::sin(phi), 1.0, 20.0}; };
  jet.set(0, at(3.1)), jet.set(1, at(-3.1));
  float a[kRoom + 2], b[kRoom + 2], c[kRoom + 2], d[kRoom + 2];
  float* out[4] = {a, b, c, d};
  pair_row(jet.particles(), 0, 1, 2, out);
  EXPECT_NEAR(c[0], std::log(2 * std::numbers::pi - 6.2), 1e-4);
}

TEST(PairRow, WhatIsTooSmallCountsAsTheLeast) {
  Jet jet(2);
  jet.set(0, {3, 4, 0, 5}), jet.set(1, {3, 4, 0, 5});  // twice the same, without mass
  float a[kRoom + 2], b[kRoom + 2], c[kRoom + 2], d[kRoom + 2];
  float* out[4] = {a, b, c, d};
  pair_row(jet.particles(), 0, 1, 2, out);
  const auto least = static_cast<float>(std::log(kLeast));
  EXPECT_NEAR(a[0], least, 1e-4);
  EXPECT_NEAR(b[0], std::log(0.5), 1e-4);
  EXPECT_NEAR(c[0], least, 1e-4);
  EXPECT_NEAR(d[0], least, 1e-4);
}

}  // namespace
}  // namespace headrace
