#include "loader/plan/token_lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/random/philox.h"
#include "base/text/number_text.h"
#include "dataset/recipe/refuse.h"

namespace headrace {
namespace {

constexpr std::size_t kSamplesAtOnce = 4096;

Error too_long(const MappedSource& mapped, const ByTokens& choice, const CostSummary& costs) {
  const BlockTable& blocks = *mapped.map->shuffle_blocks();
  const SampleRef longest = costs.longest;
  std::string place, path;
  if (const std::optional<RowRange> rows = mapped.map->rows_of(longest)) {
    std::uint64_t first = rows->first;
    for (const auto& file : mapped.groups[0].source->files) {
      path = file.path;
      if (first < file.rows) break;
      first -= file.rows;
    }
    place = fmt::format(", rows {} to {} of its file", first, first + rows->count - 1);
  }
  Error error = refuse(
      fmt::format("{} of {} samples {} longer than the budget of {} rows; the longest is sample {}, with {} rows{}",
                  group_digits(costs.too_long), group_digits(costs.samples), costs.too_long == 1 ? "is" : "are",
                  group_digits(choice.tokens), blocks.first_row(longest.block) + longest.row, group_digits(costs.most),
                  place),
      fmt::format("Give a budget of {}, leave those samples out (select), or give them steps of their own "
                  "(too_long=\"alone\").",
                  costs.most));
  return path.empty() ? error : std::move(error.with_file(path));
}

}  // namespace

MapLengths::MapLengths(std::shared_ptr<const SampleMap> map, std::size_t group) : map_(std::move(map)), group_(group) {
  const BlockTable& blocks = *map_->shuffle_blocks();
  std::vector<SampleRef> samples;
  std::vector<std::uint64_t> rows;
  std::uint64_t hash = blocks.num_rows();
  for (std::uint32_t block = 0; block < blocks.num_blocks(); ++block) {
    samples.clear(), rows.clear();
    for (std::uint32_t i = 0; i < blocks.block_rows(block); ++i) samples.push_back({block, i});
    map_->lengths(samples, group_, rows);
    for (const std::uint64_t length : rows) hash = (hash ^ length) * 0x9E3779B97F4A7C15u + (hash >> 29);
  }
  digest_ = RandomKey::of({hash}).low;
}

void MapLengths::lengths(std::span<const SampleRef> samples, std::span<std::uint32_t> lengths) const {
  std::vector<std::uint64_t> rows;
  rows.reserve(std::min(samples.size(), kSamplesAtOnce));
  for (std::size_t first = 0; first < samples.size(); first += kSamplesAtOnce) {
    rows.clear();
    map_->lengths(samples.subspan(first, std::min(kSamplesAtOnce, samples.size() - first)), group_, rows);
    for (std::size_t i = 0; i < rows.size(); ++i)
      lengths[first + i] =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(rows[i], std::numeric_limits<std::uint32_t>::max()));
  }
}

Result<std::shared_ptr<const TokenLengths>> token_lengths_of(const MappedSource* mapped, const ByTokens& choice) {
  const auto is_ragged = [](const UnitGroup& group) { return group.rows == UnitGroup::Rows::kRagged; };
  const auto groups = mapped ? mapped->map->groups() : std::span<const UnitGroup>();
  const auto ragged = std::ranges::find_if(groups, is_ragged);
  if (ragged == groups.end())
    return refuse("a token budget is for samples of unequal length, and all of these have the same: no field is ragged",
                  "Give batch_size=.");
  auto made = std::make_shared<TokenLengths>();
  made->index = std::make_shared<const MapLengths>(mapped->map, static_cast<std::size_t>(ragged - groups.begin()));
  const BlockTable& blocks = *mapped->map->shuffle_blocks();
  made->costs = summarize_costs(blocks, *made->index, {.tokens = choice.tokens});
  const CostSummary& costs = made->costs;
  if (costs.too_long == 0 || choice.too_long == ByTokens::kAlone) return std::shared_ptr<const TokenLengths>(made);
  return too_long(*mapped, choice, costs);
}

BudgetOptions budget_options(const LoaderOptions& options, std::uint32_t lanes) {
  const auto& choice = std::get<ByTokens>(options.batch);
  const bool padded = options.layout == BatchLayout::kPadded;
  const StepArrangement shuffled = padded ? StepArrangement::kBucket : StepArrangement::kDeal;  // like lengths pad less
  BudgetOptions out{.tokens = choice.tokens,
                    .lanes = lanes,
                    .arrangement = options.order.is<InOrder>() ? StepArrangement::kInOrder : shuffled,
                    .lookahead_steps = choice.lookahead,
                    .padded = padded,
                    .long_alone = choice.too_long == ByTokens::kAlone,
                    .tail = choice.tail};
  if (choice.max_samples != 0) out.most_samples = choice.max_samples;
  return out;
}

}  // namespace headrace
