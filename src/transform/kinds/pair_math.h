// The arithmetic of PairFeatures for one particle with others, with the widest instructions of this processor.
#pragma once

#include <cstddef>

namespace headrace {

/// Particles, one value of each in a list: four-vector, transverse momentum, rapidity, azimuth.
struct Particles {
  const float *px, *py, *pz, *energy, *pt, *rapidity, *phi;
};

/// Write ln kT, ln z, ln Delta R and ln m^2 of particle `i` with particles [begin, end), to out[0 … 3][j - begin], as
/// Particle Transformer defines them (Qu, Li, Qian, "Particle Transformer for Jet Tagging", ICML 2022). What is below
/// 1e-8 counts as 1e-8. Each list of `out` has room for whole vectors: 64 values more.
void pair_row(const Particles& particles, std::size_t i, std::size_t begin, std::size_t end, float* const out[4]);

}  // namespace headrace
