// RandomAccessSampler: what orders have in common that draw rows from anywhere, some of them more often than others.
#pragma once

#include <string>
#include <utility>

#include "base/random/philox.h"
#include "order/sampler.h"

namespace headrace {

class RandomAccessSampler : public Sampler {
 public:
  [[nodiscard]] std::uint64_t num_samples() const override { return num_samples_; }
  [[nodiscard]] std::string identity() const override { return identity_; }
  [[nodiscard]] std::uint64_t span_steps(std::uint64_t global_batch, RankShare) const override {
    return num_samples_ / global_batch + 1;
  }
  [[nodiscard]] OrderTraits traits() const override { return {.permutation = false, .local = false}; }

 protected:
  RandomAccessSampler(std::shared_ptr<const BlockTable> blocks, std::uint64_t num_samples, std::string identity)
      : blocks_(std::move(blocks)), num_samples_(num_samples), identity_(std::move(identity)) {}

  const std::shared_ptr<const BlockTable> blocks_;
  const std::uint64_t num_samples_;

 private:
  const std::string identity_;
};

/// Return 64 bits that stand for a list of numbers, for identities: a few ns a number.
template <class Range, class Word>
std::uint64_t hash_of_list(const Range& list, Word&& word) {
  std::uint64_t hash = list.size();
  for (const auto& item : list) hash = (hash ^ word(item)) * 0x9E3779B97F4A7C15u + (hash >> 29);
  return RandomKey::of({hash}).low;
}

}  // namespace headrace
