#include "transform/kinds/symmetric_pairs.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <vector>

#include "base/memory/stream_copy.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace headrace {
namespace {

constexpr std::size_t kBand = 16;  // rows of the matrix that are made together, in the fastest cache

template <class T>
T replaced(const PairsJob<T>& job, T value) {
  return job.replaces && value == job.sentinel ? job.fill : value;
}

/// Columns [begin, end) of the triangle's row, as they are.
template <class T>
void put_row(const PairsJob<T>& job, const T* row, std::size_t begin, std::size_t end, T* to) {
  const std::size_t first = begin * job.features, last = end * job.features;
  if (!job.replaces)
    std::copy(row + first, row + last, to + first);
  else
    for (std::size_t i = first; i < last; ++i) to[i] = row[i] == job.sentinel ? job.fill : row[i];
}

#if defined(__SSE2__)
/// A square of four, transposed: column c of `rows` + r is row r of the triangle.
void turn(const std::array<const float*, 4>& rows, float* to, std::size_t stride, const PairsJob<float>& job) {
  __m128 a = _mm_loadu_ps(rows[0]), b = _mm_loadu_ps(rows[1]), c = _mm_loadu_ps(rows[2]), d = _mm_loadu_ps(rows[3]);
  if (job.replaces) {
    const __m128 sentinel = _mm_set1_ps(job.sentinel), fill = _mm_set1_ps(job.fill);
    for (__m128* v : {&a, &b, &c, &d}) {
      const __m128 equal = _mm_cmpeq_ps(*v, sentinel);
      *v = _mm_or_ps(_mm_and_ps(equal, fill), _mm_andnot_ps(equal, *v));
    }
  }
  _MM_TRANSPOSE4_PS(a, b, c, d);
  _mm_storeu_ps(to, a);
  _mm_storeu_ps(to + stride, b);
  _mm_storeu_ps(to + 2 * stride, c);
  _mm_storeu_ps(to + 3 * stride, d);
}
#endif

/// Columns [0, end) of the band's rows, which lie below the diagonal: columns of the triangle.
template <class T>
void put_columns(const PairsJob<T>& job, std::size_t first, std::size_t rows, std::size_t end, T* band) {
  const std::size_t width = job.particles * job.features;
  std::size_t j = 0;
#if defined(__SSE2__)
  if constexpr (std::is_same_v<T, float>)
    if (job.features == 1)
      for (; j + 4 <= end; j += 4) {
        std::array<const float*, 4> at;
        for (std::size_t r = 0; r < 4; ++r) at[r] = row_of(job, j + r) + first;
        std::size_t i = 0;
        for (; i + 4 <= rows; i += 4) {
          turn(at, band + i * width + j, width, job);
          for (const float*& p : at) p += 4;
        }
        for (; i < rows; ++i)
          for (std::size_t r = 0; r < 4; ++r) band[i * width + j + r] = replaced(job, *at[r]++);
      }
#endif
  for (; j < end; ++j) {
    const T* const row = row_of(job, j) + first * job.features;
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t f = 0; f < job.features; ++f)
        band[i * width + j * job.features + f] = replaced(job, row[i * job.features + f]);
  }
}

/// The band's own square, with the diagonal.
template <class T>
void put_square(const PairsJob<T>& job, std::size_t first, std::size_t rows, T* band) {
  const std::size_t width = job.particles * job.features;
  for (std::size_t i = 0; i < rows; ++i) {
    const T* const row = row_of(job, first + i);
    if (job.k == 1) std::fill_n(band + i * width + (first + i) * job.features, job.features, job.diagonal);
    for (std::size_t j = i + job.k; j < rows; ++j)
      for (std::size_t f = 0; f < job.features; ++f) {
        const T value = replaced(job, row[(first + j) * job.features + f]);
        band[i * width + (first + j) * job.features + f] = value;
        band[j * width + (first + i) * job.features + f] = value;
      }
  }
}

template <class T>
void put(const PairsJob<T>& job, T* to, const T* from, std::size_t n) {
  if (job.streams)
    copy_run(reinterpret_cast<std::byte*>(to), reinterpret_cast<const std::byte*>(from), n * sizeof(T));
  else
    std::copy_n(from, n, to);
}

}  // namespace

template <class T>
void expand_pairs(const PairsJob<T>& job, T* to) {
  if constexpr (std::is_same_v<T, float>)
    if (stream_pairs(job, to)) return;
  const std::size_t width = job.particles * job.features;
  thread_local std::vector<T> band;
  band.assign(kBand * width, job.fill);  // what lies beyond the real particles stays so
  for (std::size_t first = 0; first < job.particles; first += kBand) {
    const std::size_t rows = std::min(kBand, job.particles - first);
    const std::size_t real = job.real > first ? std::min(rows, job.real - first) : 0;
    if (real < rows) std::fill(band.begin() + static_cast<std::ptrdiff_t>(real * width), band.end(), job.fill);
    put_columns(job, first, real, std::min(first, job.real), band.data());
    put_square(job, first, real, band.data());
    for (std::size_t i = 0; i < real; ++i)
      if (first + real < job.real)
        put_row(job, row_of(job, first + i), first + real, job.real, band.data() + i * width);
    put(job, to + first * width, band.data(), rows * width);
  }
}

template void expand_pairs(const PairsJob<float>&, float*);
template void expand_pairs(const PairsJob<double>&, double*);
template void expand_pairs(const PairsJob<std::uint8_t>&, std::uint8_t*);
template void expand_pairs(const PairsJob<std::uint16_t>&, std::uint16_t*);
template void expand_pairs(const PairsJob<std::uint32_t>&, std::uint32_t*);
template void expand_pairs(const PairsJob<std::uint64_t>&, std::uint64_t*);

}  // namespace headrace
