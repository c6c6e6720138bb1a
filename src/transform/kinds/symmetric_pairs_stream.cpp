#include <algorithm>
#include <cstdint>

#include "transform/kinds/symmetric_pairs.h"

#if defined(__SSE2__)
#include <emmintrin.h>

namespace headrace {
namespace {

constexpr std::size_t kSide = 4;  // of a square that is turned in registers
constexpr std::size_t kLine = 64;

/// Streams squares to rows [first, first + 4) of the matrix. What loops need is a value of theirs: the compiler reads
/// members again behind each store, which may be one of them for all it knows.
class Rows {
 public:
  Rows(const PairsJob<float>& job, float* to, std::size_t first)
      : job_(job), to_(to + first * job.particles), first_(first) {}

  /// Columns [begin, end) of the triangle, which lie below the diagonal.
  template <bool kReplaces>
  void below(std::size_t begin, std::size_t end) const {
    const std::size_t stride = job_.particles, stored = job_.stored - job_.k - 1;
    const Values values(job_);
    float* to = to_ + begin;
    const float* at = row_of(job_, begin) + first_;
    for (std::size_t column = begin; column < end; column += kSide, to += kSide) {
      __m128 row[kSide];
      for (std::size_t r = 0; r < kSide; ++r) {
        row[r] = values.replaced<kReplaces>(_mm_loadu_ps(at));
        at += stored - (column + r);  // to the next row's column first_
      }
      _MM_TRANSPOSE4_PS(row[0], row[1], row[2], row[3]);
      for (std::size_t r = 0; r < kSide; ++r) _mm_stream_ps(to + r * stride, row[r]);
    }
  }
  /// Columns [begin, end), of rows of the triangle.
  template <bool kReplaces>
  void above(std::size_t begin, std::size_t end) const {
    const Values values(job_);
    for (std::size_t r = 0; r < kSide; ++r) {
      const float* const from = row_of(job_, first_ + r);
      float* const to = to_ + r * job_.particles;
      for (std::size_t column = begin; column < end; column += kSide)
        _mm_stream_ps(to + column, values.replaced<kReplaces>(_mm_loadu_ps(from + column)));
    }
  }
  /// Columns [begin, end) that no pair has.
  void fill(std::size_t begin, std::size_t end) const {
    const __m128 fill = _mm_set1_ps(job_.fill);
    for (std::size_t r = 0; r < kSide; ++r) {
      float *to = to_ + r * job_.particles + begin, *const last = to_ + r * job_.particles + end;
      for (; to + 4 * kSide <= last; to += 4 * kSide)
        for (std::size_t i = 0; i < 4; ++i) _mm_stream_ps(to + i * kSide, fill);
      for (; to < last; to += kSide) _mm_stream_ps(to, fill);
    }
  }
  /// Columns [begin, end) entry by entry: on the diagonal, and where the last real particle is.
  void mixed(std::size_t begin, std::size_t end) const {
    for (std::size_t column = begin; column < end; column += kSide)
      for (std::size_t r = 0; r < kSide; ++r) {
        alignas(16) float values[kSide];
        for (std::size_t c = 0; c < kSide; ++c) values[c] = entry(first_ + r, column + c);
        _mm_stream_ps(to_ + r * job_.particles + column, _mm_load_ps(values));
      }
  }

 private:
  struct Values {
    explicit Values(const PairsJob<float>& job) : sentinel(_mm_set1_ps(job.sentinel)), fill(_mm_set1_ps(job.fill)) {}
    template <bool kReplaces>
    [[nodiscard]] __m128 replaced(__m128 values) const {
      if constexpr (!kReplaces) return values;
      const __m128 equal = _mm_cmpeq_ps(values, sentinel);
      return _mm_or_ps(_mm_and_ps(equal, fill), _mm_andnot_ps(equal, values));
    }
    __m128 sentinel, fill;
  };

  [[nodiscard]] float entry(std::size_t i, std::size_t j) const {
    if (i >= job_.real || j >= job_.real) return job_.fill;
    if (i == j && job_.k == 1) return job_.diagonal;
    const float value = row_of(job_, std::min(i, j))[std::max(i, j)];
    return job_.replaces && value == job_.sentinel ? job_.fill : value;
  }

  const PairsJob<float>& job_;
  float* const to_;
  const std::size_t first_;
};

template <bool kReplaces>
void stream_rows(const PairsJob<float>& job, float* to) {
  const std::size_t n = job.particles;
  const std::size_t whole = job.real / kSide * kSide;  // from here on squares are not wholly real
  const std::size_t filled = (job.real + kSide - 1) / kSide * kSide;
  for (std::size_t first = 0; first < n; first += kSide) {
    const Rows rows(job, to, first);
    if (first < whole) {
      rows.below<kReplaces>(0, first);
      rows.mixed(first, first + kSide);
      rows.above<kReplaces>(first + kSide, whole);
      rows.mixed(std::max(whole, first + kSide), filled);
    } else if (first < job.real) {
      rows.mixed(0, filled);
    }
    rows.fill(first < job.real ? filled : 0, n);
  }
}

}  // namespace

bool stream_pairs(const PairsJob<float>& job, float* to) {
  if (!job.streams || job.features != 1 || job.particles * sizeof(float) % kLine != 0) return false;
  if (reinterpret_cast<std::uintptr_t>(to) % kLine != 0) return false;
  job.replaces ? stream_rows<true>(job, to) : stream_rows<false>(job, to);
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
