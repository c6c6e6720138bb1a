// SymmetricPairs of jets against a streaming copy of what it writes, one thread, in alternating rounds. Triangles are
// those of 64 jets, so that they are in a cache as after decoding; matrices go to 512 places one after the other.
//
// bench_expand_pairs [ROUNDS]                                              prints one JSON object
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/memory/stream_copy.h"
#include "pages.h"
#include "transform/program.h"

namespace bench {
namespace {

using headrace::DType;
using headrace::Program;
constexpr std::size_t kParticles = 128, kPairs = kParticles * (kParticles - 1) / 2,
                      kMatrix = kParticles * kParticles * 4;
constexpr std::size_t kJets = 64, kBatch = 512;

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

template <class Work>
double seconds(Work work) {
  const auto began = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < kBatch; ++i) work(i);
  headrace::finish_streaming();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

/// \param real  Particles that are there; others have the sentinel.
nlohmann::json measure(std::size_t real, int rounds) {
  Pages triangles(kJets * kPairs * 4), matrices(kJets * kMatrix), batch(kBatch * kMatrix);
  auto* pair = reinterpret_cast<float*>(triangles.data());
  for (std::size_t jet = 0; jet < kJets; ++jet)
    for (std::size_t i = 0; i < kParticles; ++i)
      for (std::size_t j = i + 1; j < kParticles; ++j) *pair++ = j < real ? static_cast<float>(i + j) : -999.0F;
  std::fill_n(matrices.data(), kJets * kMatrix, std::byte{1});
  const Program::Column column{{"adj", "", {DType::Kind::kFloat, 4}, {kPairs}}, false};
  const auto program = Program::make({column}, {{"SymmetricPairs", {"adj"}, {{"sentinel", -999.0}}}});
  if (!program.ok()) std::abort();
  const headrace::RowProgram& row = *(*program)->target(0).row;
  std::byte* const to = batch.data();
  std::vector<double> ratios, expand, copy;
  for (int round = 0; round <= rounds; ++round) {
    const double made = seconds([&](std::size_t i) {
      const std::byte* from = triangles.data() + i % kJets * kPairs * 4;
      if (!row.run({0, 0, i}, {&from, 1}, &to, i).ok()) std::abort();
    });
    const double copied = seconds(
        [&](std::size_t i) { headrace::copy_run(to + i * kMatrix, matrices.data() + i % kJets * kMatrix, kMatrix); });
    if (round == 0) continue;  // pages are new then
    expand.push_back(made), copy.push_back(copied), ratios.push_back(copied / made);
  }
  return {{"particles", real},
          {"ratio", median(ratios)},
          {"lowest", std::ranges::min(ratios)},
          {"jets_per_s", kBatch / median(expand)},
          {"copies_per_s", kBatch / median(copy)}};
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 41;
  nlohmann::json out{{"jets", nlohmann::json::array()}};
  for (const std::size_t real : {128u, 60u, 42u, 30u}) out["jets"].push_back(bench::measure(real, rounds));
  std::puts(out.dump().c_str());
}
