// The upper triangle of a symmetric matrix, as the whole matrix.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headrace {

/// Return how many pairs (i, j), j >= i + k, there are of n.
constexpr std::uint64_t pairs_of(std::uint64_t n, std::uint64_t k) {
  return k == 0 ? n * (n + 1) / 2 : n * (n - (n > 0)) / 2;
}

/// What expand_pairs() works on.
template <class T>
struct PairsJob {
  const T* pairs;            ///< Rows of the triangle one behind the other.
  std::size_t stored;        ///< Particles that the triangle is laid out for.
  std::size_t k;             ///< First diagonal that is stored: 0 with the main diagonal, 1 without.
  std::size_t particles;     ///< Rows and columns of the matrix.
  std::size_t real;          ///< Particles that are there: others are filled. At most `stored` and `particles`.
  std::size_t features = 1;  ///< Values of a pair.
  T sentinel{}, fill{}, diagonal{};
  bool replaces = false;  ///< Values that equal `sentinel` become `fill`.
  bool streams = false;   ///< Past the caches.
};

/// Return where row i of the triangle would have column 0.
template <class T>
const T* row_of(const PairsJob<T>& job, std::size_t i) {
  const std::size_t before = i * job.stored - (job.k == 0 ? i * (i - (i > 0)) / 2 : i * (i + 1) / 2);
  // Row r of the i rows before holds stored - r - k pairs; column j of row i is place j - i - k.
  return job.pairs + before * job.features - (i + job.k) * job.features;
}

/// Write the matrix, (particles, particles, features).
template <class T>
void expand_pairs(const PairsJob<T>& job, T* to);

/// Do it straight from registers past the caches, so that reading goes on while writes drain. \return False where that
/// is not possible, and nothing was done: other sizes or alignments, or a processor without SSE2.
bool stream_pairs(const PairsJob<float>& job, float* to);

extern template void expand_pairs(const PairsJob<float>&, float*);
extern template void expand_pairs(const PairsJob<double>&, double*);
extern template void expand_pairs(const PairsJob<std::uint8_t>&, std::uint8_t*);
extern template void expand_pairs(const PairsJob<std::uint16_t>&, std::uint16_t*);
extern template void expand_pairs(const PairsJob<std::uint32_t>&, std::uint32_t*);
extern template void expand_pairs(const PairsJob<std::uint64_t>&, std::uint64_t*);

}  // namespace headrace
