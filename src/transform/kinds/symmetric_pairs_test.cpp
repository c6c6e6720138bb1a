// expand_pairs() against a loop over all pairs.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "transform/kinds/symmetric_pairs.h"

namespace headrace {
namespace {

/// What the header promises, entry by entry.
template <class T>
std::vector<T> expected(const PairsJob<T>& job) {
  const std::size_t n = job.particles, features = job.features;
  std::vector<T> out(n * n * features, job.fill);
  std::size_t at = 0;
  for (std::size_t i = 0; i < job.stored; ++i) {
    if (i < job.real && job.k == 1)
      for (std::size_t f = 0; f < features; ++f) out[(i * n + i) * features + f] = job.diagonal;
    for (std::size_t j = i + job.k; j < job.stored; ++j, ++at) {
      if (j >= job.real) continue;
      for (std::size_t f = 0; f < features; ++f) {
        T value = job.pairs[at * features + f];
        if (job.replaces && value == job.sentinel) value = job.fill;
        out[(i * n + j) * features + f] = out[(j * n + i) * features + f] = value;
      }
    }
  }
  return out;
}

/// The matrix as expand_pairs() writes it `shift` elements behind a line of the cache, with nothing written around it.
template <class T>
std::vector<T> expanded(const PairsJob<T>& job, std::size_t shift) {
  const T guard = static_cast<T>(77);
  const std::size_t size = job.particles * job.particles * job.features, room = 64 / sizeof(T);
  std::vector<T> memory(size + shift + 3 * room, guard);
  const std::size_t line = (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64 / sizeof(T);
  const std::size_t begin = line + shift;
  expand_pairs(job, memory.data() + begin);
  for (std::size_t i = 0; i < memory.size(); ++i)
    if (i < begin || i >= begin + size) {
      EXPECT_EQ(memory[i], guard) << "written beside the matrix";
    }
  return {memory.begin() + static_cast<std::ptrdiff_t>(begin),
          memory.begin() + static_cast<std::ptrdiff_t>(begin + size)};
}

template <class T>
class ExpandPairs : public ::testing::Test {};
using Types = ::testing::Types<float, double, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(ExpandPairs, Types);

TYPED_TEST(ExpandPairs, EqualsALoop) {
  using T = TypeParam;
  std::mt19937 random(5);
  for (std::size_t n = 1; n <= 40; ++n)
    for (const std::size_t k : {0u, 1u})
      for (const std::size_t features : {1u, 2u, 3u}) {
        const std::size_t real = random() % (n + 1);
        // All that there are; some, laid out for all ("max"); some, laid out for themselves ("packed").
        for (const auto& [stored, there] : {std::pair{n, n}, {n, real}, {real, real}}) {
          std::vector<T> pairs(pairs_of(stored, k) * features);
          pairs.reserve(1);  // without pairs it would be a null pointer, which a batch has for no field
          for (T& value : pairs) value = static_cast<T>(1 + random() % 50);
          PairsJob<T> job{pairs.data(), stored, k, n, there, features};
          job.sentinel = static_cast<T>(7), job.fill = static_cast<T>(60), job.diagonal = static_cast<T>(61);
          for (const bool replaces : {false, true})
            for (const bool streams : {false, true}) {
              job.replaces = replaces, job.streams = streams;
              ASSERT_EQ(expanded(job, random() % (64 / sizeof(T))), expected(job))
                  << n << " particles, " << stored << " stored, " << there << " real, k " << k << ", " << features;
            }
        }
      }
}

TEST(StreamPairs, EqualsALoop) {
  std::mt19937 random(6);
  for (const std::size_t n : {16u, 32u, 48u, 128u})
    for (const std::size_t k : {0u, 1u})
      for (std::size_t real = 0; real <= n; ++real)
        for (const std::size_t stored : {n, real}) {
          std::vector<float> pairs(pairs_of(stored, k));
          pairs.reserve(1);
          for (float& value : pairs) value = static_cast<float>(1 + random() % 50);
          PairsJob<float> job{pairs.data(), stored, k, n, real};
          job.sentinel = 7, job.fill = 60, job.diagonal = 61, job.streams = true;
          job.replaces = real % 2 == 0;
          alignas(64) std::vector<float> probe(n * n + 16);
          float* const aligned = probe.data() + (64 - reinterpret_cast<std::uintptr_t>(probe.data()) % 64) % 64 / 4;
#if defined(__SSE2__)
          ASSERT_TRUE(stream_pairs(job, aligned));
#endif
          ASSERT_EQ(expanded(job, 0), expected(job)) << n << " particles, " << stored << " stored, " << real << " real";
          if (n > 16) continue;
          EXPECT_FALSE(stream_pairs(job, aligned + 1));
          job.streams = false;
          EXPECT_FALSE(stream_pairs(job, aligned));
        }
}

TEST(ExpandPairsMemory, LeavesNothingOfTheLastMatrix) {  // memory of a thread is used again
  const std::vector<float> first(pairs_of(40, 1), 3), second(pairs_of(5, 1), 4);
  (void)expanded(PairsJob<float>{first.data(), 40, 1, 40, 40}, 0);
  PairsJob<float> job{second.data(), 5, 1, 40, 5};
  job.diagonal = 2;
  EXPECT_EQ(expanded(job, 0), expected(job));
}

TEST(PairsOf, CountsPairs) {
  for (std::uint64_t n = 0; n < 100; ++n)
    for (const std::uint64_t k : {0u, 1u}) {
      std::uint64_t pairs = 0;
      for (std::uint64_t i = 0; i < n; ++i)
        for (std::uint64_t j = i + k; j < n; ++j) ++pairs;
      EXPECT_EQ(pairs_of(n, k), pairs);
    }
}

}  // namespace
}  // namespace headrace
