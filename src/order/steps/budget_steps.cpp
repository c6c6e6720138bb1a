#include "order/steps/budget_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "order/steps/budget_window.h"

namespace headrace {
namespace {

constexpr std::uint64_t kLeastLookahead = 16;  // steps that a window holds, however short the order's pools are
constexpr std::uint64_t kMixShare = 8;         // of the samples an order mixes, what a window may hold
constexpr std::uint64_t kMostWindow = std::uint64_t{1} << 31;
constexpr std::size_t kKeptTables = 3;

Error wrong(std::string message, std::string_view hint) {
  return Error(ErrorCode::kInvalidArgument, std::move(message)).with_hint(hint);
}

/// Positions over all lanes that hold so many steps, if all are full.
std::uint64_t positions_of(std::uint64_t steps, const BudgetOptions& options, const CostSummary& costs) {
  __extension__ using uint128 = unsigned __int128;
  const std::uint64_t sum = std::max<std::uint64_t>(costs.sum, 1);
  const uint128 a_lane = (static_cast<uint128>(steps) * options.tokens * costs.samples + sum - 1) / sum;
  return options.lanes * static_cast<std::uint64_t>(std::clamp<uint128>(a_lane, 1, kMostWindow / options.lanes));
}

}  // namespace

CostSummary summarize_costs(const BlockTable& blocks, const LengthIndex& lengths, const BudgetOptions& options) {
  CostSummary out;
  std::vector<SampleRef> samples;
  std::vector<std::uint32_t> costs;
  for (std::uint64_t b = 0; b < blocks.num_blocks(); ++b) {
    samples.clear();
    for (std::uint32_t r = 0; r < blocks.block_rows(b); ++r) samples.push_back({static_cast<std::uint32_t>(b), r});
    costs.resize(samples.size());
    lengths.lengths(samples, costs);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const std::uint32_t cost = costs[i];
      if (cost > out.most || out.samples + i == 0) out.longest = samples[i];
      out.most = std::max(out.most, cost);
      out.least = std::min(out.least, cost);
      out.sum += cost;
      out.too_long += cost > options.tokens;
    }
    out.samples += samples.size();
  }
  return out;
}

std::uint64_t CostSummary::mean_samples(const BudgetOptions& options) const {
  const std::uint64_t lanes = options.lanes;
  return std::max<std::uint64_t>(
      std::min({positions_of(1, options, *this), options.most_samples * lanes, (samples + lanes - 1) / lanes * lanes}),
      1);
}

BudgetSteps::BudgetSteps(std::shared_ptr<const Sampler> sampler, std::shared_ptr<const LengthIndex> lengths,
                         const BudgetOptions& options, RankShare share, std::uint64_t seed, const CostSummary& costs)
    : sampler_(std::move(sampler)),
      lengths_(std::move(lengths)),
      options_(options),
      share_(share),
      seed_(seed),
      costs_(costs),
      samples_(sampler_->num_samples()),
      owns_parts_(sampler_->own_parts(options.lanes) != 0) {
  const std::uint64_t lanes = options_.lanes;
  window_ = positions_of(options_.lookahead_steps, options_, costs_);
  if (const std::uint64_t mixed = sampler_->traits().mixed_samples; mixed > 0)
    window_ =
        std::min(window_, std::max(positions_of(kLeastLookahead, options_, costs_), mixed / kMixShare / lanes * lanes));
  window_ = std::min(window_, std::max<std::uint64_t>((samples_ + lanes - 1) / lanes, 1) * lanes);
  if (const std::uint64_t streams = sampler_->own_parts(1); streams > 0) {  // whole turns of them
    const std::uint64_t unit = std::lcm(lanes, streams);
    window_ = (window_ + unit - 1) / unit * unit;
  }
  handed_out_ = options_.tail == Tail::kDrop ? samples_ - samples_ % lanes : samples_;
  mean_samples_ = costs_.mean_samples(options_);
  identity_ = fmt::format("tokens {} {} lanes {} window {}", options_.tokens,
                          options_.arrangement == StepArrangement::kInOrder ? "in_order"
                          : options_.arrangement == StepArrangement::kDeal  ? "deal"
                                                                            : "bucket",
                          lanes, window_);
  if (options_.most_samples != BudgetOptions{}.most_samples)
    identity_ += fmt::format(" most {}", options_.most_samples);
  if (options_.padded) identity_ += " padded";
  if (options_.tail != Tail::kPartial) identity_ += options_.tail == Tail::kDrop ? " drop" : " pad";
  identity_ += fmt::format(" {:08x}", lengths_->digest() >> 32);
}

Result<std::unique_ptr<BudgetSteps>> BudgetSteps::make(std::shared_ptr<const Sampler> sampler, const BlockTable& blocks,
                                                       std::shared_ptr<const LengthIndex> lengths,
                                                       const BudgetOptions& options, RankShare share,
                                                       std::uint64_t seed) {
  const CostSummary costs = summarize_costs(blocks, *lengths, options);
  return make(std::move(sampler), blocks, std::move(lengths), options, share, seed, costs);
}

Result<std::unique_ptr<BudgetSteps>> BudgetSteps::make(std::shared_ptr<const Sampler> sampler, const BlockTable& blocks,
                                                       std::shared_ptr<const LengthIndex> lengths,
                                                       const BudgetOptions& options, RankShare share,
                                                       std::uint64_t seed, const CostSummary& costs) {
  constexpr std::uint32_t kMostLanes = 1 << 16;
  if (options.tokens == 0 || options.tokens > StepRules::kMostBudget)
    return wrong(fmt::format("a budget of {} tokens", options.tokens),
                 fmt::format("Give one from 1 to {}.", StepRules::kMostBudget));
  if (options.lanes == 0 || options.lanes > kMostLanes)
    return wrong(fmt::format("{} lanes", options.lanes), fmt::format("Plan for 1 to {} ranks.", kMostLanes));
  if (options.lookahead_steps == 0 || options.most_samples == 0)
    return wrong("lookahead and max_samples must be at least 1", "Leave them out.");
  if (options.padded && options.arrangement == StepArrangement::kDeal)
    return Error(ErrorCode::kInternal, "steps that hold all lengths are not for padding");
  if (costs.too_long > 0 && !options.long_alone) {
    const BlockTable::FileRows place = blocks.place(costs.longest.block);
    const std::uint64_t row = place.rows.first + blocks.stored_row(costs.longest.block, costs.longest.row);
    return wrong(fmt::format("{} of {} samples cost more than the budget of {} tokens; the costliest is row {} of file "
                             "{}, with {}",
                             costs.too_long, costs.samples, options.tokens, row, place.file, costs.most),
                 "Raise the budget, or give long samples steps of their own.");
  }
  return std::unique_ptr<BudgetSteps>(
      new BudgetSteps(std::move(sampler), std::move(lengths), options, share, seed, costs));
}

std::uint64_t BudgetSteps::most_rows() const {
  const std::uint64_t lanes = options_.lanes, world = share_.world_size;
  std::uint64_t a_lane = std::min(options_.most_samples, window_ / lanes);
  const std::uint64_t least = options_.padded ? std::max(costs_.least, 1u) : costs_.least;
  if (least > 0 && costs_.samples > 0) a_lane = std::min(a_lane, std::max<std::uint64_t>(options_.tokens / least, 1));
  return (a_lane * lanes + world - 1) / world;
}

bool BudgetSteps::repeats_samples(std::uint64_t) const {
  const std::uint64_t lanes = options_.lanes, world = share_.world_size, last = samples_ % lanes;
  if (options_.tail == Tail::kPad || world > lanes) return true;
  if (options_.tail == Tail::kDrop || last == 0) return false;
  // The epoch's last samples, one a lane as far as they go, may be all that a step has.
  return lanes % world == 0 ? lanes - last >= lanes / world : last < world;
}

std::uint64_t BudgetSteps::lanes_of_rank() const {
  const std::uint64_t lanes = options_.lanes, world = share_.world_size;
  return lanes % world == 0 ? lanes / world : lanes;
}

std::uint64_t BudgetSteps::about_steps() const {
  constexpr std::uint64_t kLookedAt = 8;
  if (num_windows() <= kLookedAt) return num_steps(0);
  const std::vector<std::uint32_t> counts = count_steps(0, 0, kLookedAt);
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) * num_windows() / kLookedAt;
}

std::uint64_t BudgetSteps::span_steps() const {
  return sampler_->span_steps(mean_samples_, share_) + 2 * window_ / mean_samples_ + 2;
}

bool BudgetSteps::is_settled(std::uint64_t epoch, std::uint64_t position) const {
  return sampler_->is_settled(epoch, std::min((position / window_ + 1) * window_, samples_));
}

std::vector<std::uint32_t> BudgetSteps::count_steps(std::uint64_t epoch, std::uint64_t first, std::uint64_t end) const {
  std::vector<std::uint32_t> steps;
  Window window(*this, epoch, first);
  std::vector<BlockRows> counted_elsewhere;
  for (std::uint64_t w = first; w < end; ++w) {
    window.next(0, 0, counted_elsewhere);
    counted_elsewhere.clear();
    steps.push_back(static_cast<std::uint32_t>(window.num_steps()));
  }
  return steps;
}

void BudgetSteps::remember(std::uint64_t epoch, std::vector<std::uint32_t> steps_of_windows) const {
  const std::lock_guard lock(mutex_);
  std::erase_if(tables_, [&](const auto& known) { return known.first == epoch; });
  if (tables_.size() == kKeptTables) tables_.erase(tables_.begin());
  tables_.emplace_back(epoch, std::make_shared<const std::vector<std::uint32_t>>(std::move(steps_of_windows)));
}

BudgetSteps::Table BudgetSteps::known_table(std::uint64_t epoch) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [of, table] : tables_)
    if (of == epoch) return table;
  return nullptr;
}

BudgetSteps::Table BudgetSteps::table_of(std::uint64_t epoch) const {
  if (Table known = known_table(epoch)) return known;
  remember(epoch, count_steps(epoch, 0, num_windows()));
  return known_table(epoch);
}

std::uint64_t BudgetSteps::steps_before(std::uint64_t epoch, std::uint64_t window) const {
  window = std::min(window, num_windows());
  if (window == 0) return 0;
  const Table table = known_table(epoch);
  const std::vector<std::uint32_t> steps = table ? std::vector<std::uint32_t>() : count_steps(epoch, 0, window);
  const auto first = table ? table->begin() : steps.begin();
  return std::accumulate(first, first + static_cast<std::ptrdiff_t>(window), std::uint64_t{0});
}

std::uint64_t BudgetSteps::steps_after(std::uint64_t epoch, std::uint64_t position) const {
  if (position >= handed_out_) return 0;
  const Table table = table_of(epoch);
  const std::uint64_t w = position / window_;
  std::uint64_t steps =
      std::accumulate(table->begin() + static_cast<std::ptrdiff_t>(w), table->end(), std::uint64_t{0});
  if (position == w * window_) return steps;
  Window window(*this, epoch, w);
  std::vector<BlockRows> counted_elsewhere;
  window.next(0, 0, counted_elsewhere);
  std::uint64_t at = window.begin();
  for (std::size_t s = 0; (at += window.samples_of(s)) <= position; ++s) --steps;
  return steps;
}

std::uint64_t BudgetSteps::position_of(std::uint64_t epoch, std::uint64_t step) const {
  const Table table = table_of(epoch);
  std::uint64_t w = 0;
  for (; w < table->size() && step >= (*table)[w]; ++w) step -= (*table)[w];
  if (w == table->size() || step == 0) return std::min(w * window_, handed_out_);
  Window window(*this, epoch, w);
  std::vector<BlockRows> counted_elsewhere;
  window.next(0, 0, counted_elsewhere);
  std::uint64_t at = window.begin();
  for (std::size_t s = 0; s < step; ++s) at += window.samples_of(s);
  return at;
}

}  // namespace headrace
