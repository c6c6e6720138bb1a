#include "demo/jet_generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace headrace::demo {
namespace {

constexpr std::uint64_t kSample = 20'000;

struct Row {
  std::vector<float> features = std::vector<float>(kMaxParticles * kFeatures);
  std::vector<float> pairs = std::vector<float>(kPairs);
  std::span<float, kMaxParticles * kFeatures> features_span() {
    return std::span<float, kMaxParticles * kFeatures>(features.data(), features.size());
  }
  std::span<float, kPairs> pairs_span() { return std::span<float, kPairs>(pairs.data(), pairs.size()); }
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

TEST(JetGenerator, ParticleCountsAreThoseOfRealJets) {
  double sum = 0;
  int fewest = kMaxParticles, most = 0;
  std::vector<double> counts;
  Jet jet;
  for (std::uint64_t i = 0; i < kSample; ++i) {
    make_jet(7, i, jet);
    sum += jet.particles;
    counts.push_back(jet.particles);
    fewest = std::min(fewest, jet.particles);
    most = std::max(most, jet.particles);
  }
  EXPECT_NEAR(sum / kSample, 82'977 / 2000.0, 0.5);  // the standard error is 0.08
  EXPECT_NEAR(median(counts), 40, 1);
  EXPECT_EQ(fewest, kFewestParticles);
  EXPECT_EQ(most, kMostParticles);
}

// Medians of the 2,000 real jets: log(pt / jet pt) and distance to the axis at some ranks.
TEST(JetGenerator, KinematicsFollowRealJets) {
  struct Expected {
    std::size_t rank;
    double log_share, radius;
  };
  for (const Expected expected :
       {Expected{0, -1.734, 0.118}, {1, -2.178, 0.119}, {5, -3.022, 0.139}, {10, -3.678, 0.162}, {20, -4.601, 0.195}}) {
    std::vector<double> log_shares, radii;
    Jet jet;
    for (std::uint64_t i = 0; i < kSample; ++i) {
      make_jet(1, i, jet);
      if (jet.particles <= static_cast<int>(expected.rank)) continue;
      const Particle& particle = jet.particle[expected.rank];
      log_shares.push_back(std::log(static_cast<double>(particle.pt / jet.pt)));
      radii.push_back(static_cast<double>(std::hypot(particle.delta_eta, particle.delta_phi)));
    }
    EXPECT_NEAR(median(log_shares), expected.log_share, 0.1) << "rank " << expected.rank;
    EXPECT_NEAR(median(radii), expected.radius, 0.02) << "rank " << expected.rank;
  }
}

TEST(JetGenerator, JetDependsOnSeedAndIndexOnly) {
  Jet first, again, other_index, other_seed;
  make_jet(7, 12, first);
  make_jet(7, 13, other_index);
  make_jet(8, 12, other_seed);
  make_jet(7, 12, again);
  EXPECT_EQ(first.particle[3].pt, again.particle[3].pt);
  EXPECT_NE(first.particle[3].pt, other_index.particle[3].pt);
  EXPECT_NE(first.particle[3].pt, other_seed.particle[3].pt);
}

TEST(JetGenerator, FeaturesArePresentFirstThenZeros) {
  Jet jet;
  Row row;
  for (std::uint64_t i = 0; i < 500; ++i) {
    make_jet(3, i, jet);
    std::fill(row.features.begin(), row.features.end(), -1.0F);
    write_features(jet, row.features_span());
    for (int particle = 0; particle < kMaxParticles; ++particle) {
      const float* values = row.features.data() + static_cast<std::ptrdiff_t>(particle) * kFeatures;
      if (particle >= jet.particles) {
        ASSERT_TRUE(std::all_of(values, values + kFeatures, [](float v) { return v == 0.0F; }));
        continue;
      }
      ASSERT_EQ(values[15], 1.0F);
      ASSERT_TRUE(std::all_of(values, values + kFeatures, [](float v) { return std::isfinite(v); }));
      ASSERT_EQ(values[10] + values[11] + values[12] + values[13] + values[14], 1.0F);
      if (particle > 0) {
        ASSERT_LE(values[0], values[-kFeatures]);  // pt falls
      }
    }
  }
}

TEST(JetGenerator, BothPairLayoutsHoldTheSamePairs) {
  Jet jet;
  Row full, packed;
  for (std::uint64_t i = 0; i < 200; ++i) {
    make_jet(5, i, jet);
    write_pairs(jet, PairLayout::kTriuMax, full.pairs_span());
    write_pairs(jet, PairLayout::kTriuN, packed.pairs_span());
    const int present = jet.particles * (jet.particles - 1) / 2;
    ASSERT_EQ(std::count_if(full.pairs.begin(), full.pairs.end(), [](float v) { return v != kSentinel; }), present);
    std::size_t at_full = 0, at_packed = 0;
    for (int a = 0; a < kMaxParticles; ++a) {
      for (int b = a + 1; b < kMaxParticles; ++b, ++at_full) {
        if (b >= jet.particles) {
          ASSERT_EQ(full.pairs[at_full], kSentinel);
          continue;
        }
        ASSERT_GE(full.pairs[at_full], 0.0F);
        ASSERT_EQ(full.pairs[at_full], packed.pairs[at_packed++]);
      }
    }
    ASSERT_TRUE(
        std::all_of(packed.pairs.begin() + present, packed.pairs.end(), [](float v) { return v == kSentinel; }));
  }
}

}  // namespace
}  // namespace headrace::demo
