// Jets drawn from the tables of jet_tables.inc: a jet depends on (seed, index) only, never on the thread that makes it.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace headrace::demo {

inline constexpr int kMaxParticles = 128;
inline constexpr int kFeatures = 16;
inline constexpr int kPairs = kMaxParticles * (kMaxParticles - 1) / 2;  // 8128
inline constexpr float kSentinel = -999.0F;
inline constexpr int kFewestParticles = 14;  // as in the 2,000 real jets
inline constexpr int kMostParticles = 90;

/// Names of the 16 columns of `feature_matrix`, in order.
inline constexpr std::array<const char*, kFeatures> kFeatureNames = {
    "log_pt", "log_energy", "log_pt_rel",  "log_energy_rel", "delta_r", "delta_eta", "delta_phi", "mass",
    "charge", "is_charged", "is_massless", "is_muon",        "is_pion", "is_kaon",   "is_proton", "is_present",
};

/// How the pairs of one jet lie in its row of 8128 values; absent pairs are -999 in both.
enum class PairLayout : std::uint8_t {
  kTriuMax,  ///< The triangle of all 128 places, row-major pairs i < j.
  kTriuN,    ///< The triangle of the n present particles first, in n(n-1)/2 values.
};

struct Particle {
  float pt = 0;      ///< GeV
  float energy = 0;  ///< GeV
  float delta_eta = 0;
  float delta_phi = 0;
  float charge = 0;
  int identity = 0;  ///< row of the mass table: massless, muon, pion, kaon, proton
};

struct Jet {
  int particles = 0;
  float pt = 0;                                  ///< GeV
  float energy = 0;                              ///< GeV, the sum over particles
  std::array<Particle, kMaxParticles> particle;  ///< by falling pt; only the first `particles` mean anything
};

/// Return the jet of this seed and index. Threads: any.
void make_jet(std::uint64_t seed, std::uint64_t index, Jet& jet);

/// Write one row of `feature_matrix`: (128, 16) floats, zeros where there is no particle.
void write_features(const Jet& jet, std::span<float, kMaxParticles * kFeatures> row);

/// Write one row of `adjacency_matrix`: the distance delta R_ij of every pair.
void write_pairs(const Jet& jet, PairLayout layout, std::span<float, kPairs> row);

}  // namespace headrace::demo
