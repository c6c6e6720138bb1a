// TokenLengths: how long mapped samples are, for steps of a token budget.
#pragma once

#include <headrace/loader.h>

#include <memory>

#include "assembly/mapped_source.h"
#include "base/result.h"
#include "order/steps/budget_steps.h"

namespace headrace {

/// The lengths that a map knows already: nothing is copied. Immutable. Threads: any.
class MapLengths final : public LengthIndex {
 public:
  /// Go through all lengths once. \param group  A ragged one.
  MapLengths(std::shared_ptr<const SampleMap> map, std::size_t group);
  void lengths(std::span<const SampleRef> samples, std::span<std::uint32_t> lengths) const override;
  [[nodiscard]] std::uint64_t digest() const override { return digest_; }
  [[nodiscard]] std::uint64_t memory_bytes() const override { return 0; }  // the map's are counted as the map's

 private:
  const std::shared_ptr<const SampleMap> map_;
  const std::size_t group_;
  std::uint64_t digest_ = 0;
};

/// What steps of a token budget follow from, beside the order. One for all plans of a loader: it takes two passes over
/// the lengths.
struct TokenLengths {
  std::shared_ptr<const LengthIndex> index;
  CostSummary costs;
};

/// Return the lengths of a source, checked against the budget. Errors: kInvalidArgument: no field is ragged; samples
/// are longer than the budget, with how many, and which is the longest.
Result<std::shared_ptr<const TokenLengths>> token_lengths_of(const MappedSource* mapped, const ByTokens& choice);

/// Return how steps are cut by the token budget of `options`. \param lanes  The choice's, or else the world size.
BudgetOptions budget_options(const LoaderOptions& options, std::uint32_t lanes);

/// Return the most rows of a batch on each rank, but for samples that are longer by themselves. Where ranks do not
/// divide the lanes, it is what they get on average.
inline std::uint64_t tokens_of_rank(const BudgetSteps& steps, std::uint32_t world_size) {
  return steps.options().tokens * steps.options().lanes / world_size;
}

}  // namespace headrace
