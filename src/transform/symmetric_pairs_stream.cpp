#include <algorithm>
#include <cstdint>

#include "transform/symmetric_pairs.h"

#if defined(__SSE2__)
#include <emmintrin.h>

namespace headrace {
namespace {

constexpr std::size_t kSide = 4;  // of a square that is turned in registers
constexpr std::size_t kLine = 64;

struct Square {
  __m128 row[kSide];
};

/// Streams squares to rows [first, first + 4) of the matrix.
class Rows {
 public:
  Rows(const PairsJob<float>& job, float* to, std::size_t first)
      : job_(job),
        to_(to + first * job.particles),
        first_(first),
        sentinel_(_mm_set1_ps(job.sentinel)),
        fill_(_mm_set1_ps(job.fill)) {
    for (std::size_t r = 0; r < kSide; ++r) row_[r] = row_of(job, first + r);
  }

  /// Columns of the triangle, which lie below the diagonal.
  void below(std::size_t column) {
    const float* at = row_of(job_, column);
    Square s;
    for (std::size_t r = 0; r < kSide; ++r) {
      s.row[r] = replaced(_mm_loadu_ps(at + first_));
      at += job_.stored - (column + r) - job_.k - 1;  // to the next row's column 0
    }
    _MM_TRANSPOSE4_PS(s.row[0], s.row[1], s.row[2], s.row[3]);
    put(column, s);
  }
  /// Rows of the triangle.
  void above(std::size_t column) {
    Square s;
    for (std::size_t r = 0; r < kSide; ++r) s.row[r] = replaced(_mm_loadu_ps(row_[r] + column));
    put(column, s);
  }
  void fill(std::size_t column) { put(column, {{fill_, fill_, fill_, fill_}}); }
  /// Entry by entry: on the diagonal, and where the last real particle is.
  void mixed(std::size_t column) {
    alignas(16) float values[kSide][kSide];
    for (std::size_t r = 0; r < kSide; ++r)
      for (std::size_t c = 0; c < kSide; ++c) values[r][c] = entry(first_ + r, column + c);
    Square s;
    for (std::size_t r = 0; r < kSide; ++r) s.row[r] = _mm_load_ps(values[r]);
    put(column, s);
  }

 private:
  [[nodiscard]] float entry(std::size_t i, std::size_t j) const {
    if (i >= job_.real || j >= job_.real) return job_.fill;
    if (i == j && job_.k == 1) return job_.diagonal;
    const float value = row_of(job_, std::min(i, j))[std::max(i, j)];
    return job_.replaces && value == job_.sentinel ? job_.fill : value;
  }
  [[nodiscard]] __m128 replaced(__m128 values) const {
    if (!job_.replaces) return values;
    const __m128 equal = _mm_cmpeq_ps(values, sentinel_);
    return _mm_or_ps(_mm_and_ps(equal, fill_), _mm_andnot_ps(equal, values));
  }
  void put(std::size_t column, const Square& s) {
    for (std::size_t r = 0; r < kSide; ++r) _mm_stream_ps(to_ + r * job_.particles + column, s.row[r]);
  }

  const PairsJob<float>& job_;
  float* const to_;
  const std::size_t first_;
  const __m128 sentinel_, fill_;
  const float* row_[kSide];
};

}  // namespace

bool stream_pairs(const PairsJob<float>& job, float* to) {
  const std::size_t n = job.particles;
  if (!job.streams || job.features != 1 || n * sizeof(float) % kLine != 0) return false;
  if (reinterpret_cast<std::uintptr_t>(to) % kLine != 0) return false;
  const std::size_t whole = job.real / kSide * kSide;  // from here on squares are not wholly real
  for (std::size_t first = 0; first < n; first += kSide) {
    Rows rows(job, to, first);
    std::size_t column = 0;
    if (first < whole) {
      for (; column < first; column += kSide) rows.below(column);
      rows.mixed(column);
      for (column += kSide; column < whole; column += kSide) rows.above(column);
      if (column < job.real) rows.mixed(column), column += kSide;
    } else if (first < job.real) {
      for (; column < job.real; column += kSide) rows.mixed(column);
    }
    for (; column < n; column += kSide) rows.fill(column);
  }
  return true;
}

}  // namespace headrace

#else

namespace headrace {

bool stream_pairs(const PairsJob<float>&, float*) {
  return false;
}

}  // namespace headrace

#endif
