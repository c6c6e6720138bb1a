#include "demo/jet_generator.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

#include "demo/random_stream.h"

namespace headrace::demo {
namespace {

#include "demo/jet_tables.inc"

constexpr int kOwnRanks = 2;
constexpr int kRankRows = static_cast<int>(std::size(kLogRadius));
constexpr int kPlaces = kRankRows - kOwnRanks;

/// Row of the rank tables; the same rule as rank_rows() in scripts/make_jet_tables.py.
int rank_row(int rank, int particles) {
  return rank < kOwnRanks ? rank : kOwnRanks + std::min(rank * kPlaces / particles, kPlaces - 1);
}

/// A draw from a table of quantiles, which lie at levels (1 - cos(pi k / (n - 1))) / 2.
template <std::size_t N>
double draw_quantile(const float (&table)[N], RandomStream& random) {
  const double place = std::acos(1.0 - 2.0 * random.uniform()) / std::numbers::pi * static_cast<double>(N - 1);
  const auto k = std::min(static_cast<std::size_t>(place), N - 2);
  return std::lerp(static_cast<double>(table[k]), static_cast<double>(table[k + 1]), place - static_cast<double>(k));
}

/// A draw from a histogram: the bin, and in `within` where in it.
template <std::size_t N>
int draw_bin(const int (&counts)[N], RandomStream& random, double* within = nullptr) {
  int total = 0;
  for (const int count : counts) total += count;
  double left = random.uniform() * total;
  std::size_t bin = 0;
  while (bin + 1 < N && left >= counts[bin]) left -= counts[bin++];
  if (within != nullptr) *within = counts[bin] > 0 ? left / counts[bin] : 0.0;
  return static_cast<int>(bin);
}

int count_group(int particles) {
  return static_cast<int>(std::upper_bound(std::begin(kCountGroupEdges), std::end(kCountGroupEdges), particles) -
                          std::begin(kCountGroupEdges));
}

}  // namespace

void make_jet(std::uint64_t seed, std::uint64_t index, Jet& jet) {
  RandomStream random(seed, index);
  jet.particles = draw_bin(kParticleCounts, random);
  const double jet_pt = draw_quantile(kJetPt, random);
  const double jet_eta = draw_quantile(kJetEta, random);
  const double first_azimuth = 2.0 * std::numbers::pi * random.uniform();
  const int group = count_group(jet.particles);

  // The shape: pt falls from rank to rank, and its projections on the axis add up to the jet's.
  double log_pt = 0.0;
  double projected = 0.0;
  for (int rank = 0; rank < jet.particles; ++rank) {
    Particle& particle = jet.particle[static_cast<std::size_t>(rank)];
    const int row = rank_row(rank, jet.particles);
    const double radius = std::exp(draw_quantile(kLogRadius[row], random));
    double azimuth = first_azimuth;
    if (rank > 0) {
      double within = 0.0;
      const int bin = draw_bin(kTurn[row - 1], random, &within);
      const double turn = (bin + within) * std::numbers::pi / static_cast<double>(std::size(kTurn[0]));
      azimuth += (random.next() & 1U) != 0 ? turn : -turn;
    }
    particle.delta_eta = static_cast<float>(radius * std::cos(azimuth));
    particle.delta_phi = static_cast<float>(radius * std::sin(azimuth));
    particle.identity = draw_bin(kIdentityPerMille[row], random);
    particle.charge = particle.identity == 0 ? 0.0F : ((random.next() & 1U) != 0 ? 1.0F : -1.0F);
    particle.pt = static_cast<float>(std::exp(log_pt));
    projected += static_cast<double>(particle.pt) * std::cos(static_cast<double>(particle.delta_phi));
    log_pt -= draw_quantile(kLogStep[group * kRankRows + row], random);
  }

  const double scale = jet_pt / projected;
  double energy_sum = 0.0;
  for (int rank = 0; rank < jet.particles; ++rank) {
    Particle& particle = jet.particle[static_cast<std::size_t>(rank)];
    const double pt = static_cast<double>(particle.pt) * scale;
    const double mass = static_cast<double>(kIdentityMass[particle.identity]);
    const double momentum = pt * std::cosh(jet_eta + static_cast<double>(particle.delta_eta));
    const double energy = std::sqrt(momentum * momentum + mass * mass);
    particle.pt = static_cast<float>(pt);
    particle.energy = static_cast<float>(energy);
    energy_sum += energy;
  }
  jet.pt = static_cast<float>(jet_pt);
  jet.energy = static_cast<float>(energy_sum);
}

void write_features(const Jet& jet, std::span<float, kMaxParticles * kFeatures> row) {
  std::fill(row.begin(), row.end(), 0.0F);
  const float log_jet_pt = std::log(jet.pt);
  const float log_jet_energy = std::log(jet.energy);
  float* out = row.data();
  for (int rank = 0; rank < jet.particles; ++rank, out += kFeatures) {
    const Particle& particle = jet.particle[static_cast<std::size_t>(rank)];
    out[0] = std::log(particle.pt);
    out[1] = std::log(particle.energy);
    out[2] = out[0] - log_jet_pt;
    out[3] = out[1] - log_jet_energy;
    out[4] = std::hypot(particle.delta_eta, particle.delta_phi);
    out[5] = particle.delta_eta;
    out[6] = particle.delta_phi;
    out[7] = kIdentityMass[particle.identity];
    out[8] = particle.charge;
    out[9] = particle.charge != 0.0F ? 1.0F : 0.0F;
    out[10 + particle.identity] = 1.0F;
    out[15] = 1.0F;
  }
}

void write_pairs(const Jet& jet, PairLayout layout, std::span<float, kPairs> row) {
  std::fill(row.begin(), row.end(), kSentinel);
  const int width = layout == PairLayout::kTriuMax ? kMaxParticles : jet.particles;
  float* out = row.data();
  for (int i = 0; i < jet.particles; ++i) {
    const Particle& first = jet.particle[static_cast<std::size_t>(i)];
    for (int j = i + 1; j < jet.particles; ++j) {
      const Particle& second = jet.particle[static_cast<std::size_t>(j)];
      const float eta = first.delta_eta - second.delta_eta;
      const float phi = first.delta_phi - second.delta_phi;  // both within the jet: no wrap at pi
      out[j - i - 1] = std::sqrt(eta * eta + phi * phi);
    }
    out += width - i - 1;
  }
}

}  // namespace headrace::demo
