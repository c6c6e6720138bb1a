#include "order/budget_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/philox.h"

namespace headrace {
namespace {

enum KeyUse : std::uint64_t { kStepOrder = 12 };
constexpr std::uint64_t kLeastLookahead = 16;  // steps that a window holds, however short the order's pools are
constexpr std::uint64_t kMixShare = 8;         // of the samples an order mixes, what a window may hold
constexpr std::uint64_t kMostWindow = std::uint64_t{1} << 31;
constexpr std::size_t kKeptTables = 3;

/// What a sample costs: at most 2^32 - 1, which no budget holds.
std::uint32_t cost_of(std::uint32_t length, const BudgetOptions& options) {
  if (options.multiple == 1 && !options.square) return length;
  std::uint64_t cost = options.square ? std::uint64_t{length} * length : length;
  cost = (cost + options.multiple - 1) / options.multiple * options.multiple;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(cost, ~std::uint32_t{0}));
}

CostSummary summarize(const BlockTable& blocks, const LengthIndex& lengths, const BudgetOptions& options) {
  CostSummary out;
  std::vector<SampleRef> samples;
  std::vector<std::uint32_t> costs;
  for (std::uint64_t b = 0; b < blocks.num_blocks(); ++b) {
    samples.clear();
    for (std::uint32_t r = 0; r < blocks.block_rows(b); ++r) samples.push_back({static_cast<std::uint32_t>(b), r});
    costs.resize(samples.size());
    lengths.lengths(samples, costs);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const std::uint32_t cost = cost_of(costs[i], options);
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

Error wrong(std::string message, std::string_view hint) {
  return std::move(Error(ErrorCode::kInvalidArgument, std::move(message)).with_hint(hint));
}

/// Any stretch of a step's list should hold all costs: the i-th costliest of a lane stands by i·2654435769 mod 2^32.
/// These are spread evenly, so that a place that is nearly right follows directly.
class Spread {
 public:
  /// Return, for each place in the list of `count` samples, which of them stands there.
  const std::vector<std::uint32_t>& of(std::uint32_t count) {
    if (order_.size() == count) return order_;
    starts_.assign(count + 1, 0);
    for (std::uint32_t i = 0; i < count; ++i) ++starts_[bucket(i, count) + 1];
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    order_.resize(count);
    for (std::uint32_t i = 0; i < count; ++i) order_[starts_[bucket(i, count)]++] = i;
    for (std::uint32_t k = 1; k < count; ++k)
      for (std::uint32_t at = k; at > 0 && key(order_[at]) < key(order_[at - 1]); --at)
        std::swap(order_[at], order_[at - 1]);
    return order_;
  }

 private:
  static std::uint32_t key(std::uint32_t i) { return i * std::uint32_t{2654435769}; }
  static std::uint32_t bucket(std::uint32_t i, std::uint32_t count) {
    return static_cast<std::uint32_t>(std::uint64_t{key(i)} * count >> 32);
  }
  std::vector<std::uint32_t> order_, starts_;
};

/// Sort (cost << 32 | index) by falling cost, keeping the order of equal ones: digits of 11 bits from the lowest.
void sort_falling(std::vector<std::uint64_t>& entries, std::vector<std::uint64_t>& other, std::uint32_t most) {
  constexpr int kBits = 11;
  constexpr std::uint32_t kDigits = 1 << kBits, kMask = kDigits - 1;
  if (entries.size() < 256) {
    std::ranges::stable_sort(entries, std::greater<>{}, [](std::uint64_t e) { return e >> 32; });
    return;
  }
  other.resize(entries.size());
  for (int shift = 0; shift < 32 && most >> shift != 0; shift += kBits) {
    std::uint32_t at[kDigits + 1] = {};
    for (const std::uint64_t e : entries) ++at[kMask - (e >> (32 + shift) & kMask) + 1];
    std::partial_sum(at, at + kDigits, at);
    for (const std::uint64_t e : entries) other[at[kMask - (e >> (32 + shift) & kMask)]++] = e;
    entries.swap(other);
  }
}

}  // namespace

/// Plans windows of one epoch, one after the other. Threads: one at a time.
class BudgetSteps::Window {
 public:
  Window(const BudgetSteps& plan, std::uint64_t epoch, std::uint64_t number)
      : plan_(plan),
        epoch_(epoch),
        number_(number),
        planner_({plan.options_.arrangement, plan.options_.tokens, plan.options_.most_samples, plan.options_.padded}),
        lanes_(plan.options_.lanes) {
    // In order, a lane takes one sample of each of its streams in turn; else all of a stream's at once.
    const std::uint64_t streams = plan.sampler_->own_parts(1);
    turn_ = plan.options_.arrangement == StepArrangement::kInOrder && streams > 0 ? streams : plan.window_;
    const std::uint32_t parts = plan.owns_parts_ ? plan.options_.lanes : 1;
    for (std::uint32_t u = 0; u < parts; ++u)
      cursors_.push_back(plan.sampler_->cursor({epoch, number * plan.window_, turn_, {u, parts}}));
  }

  /// Plan the next window. \param passed  As Cursor::next_step(), of the lanes [first_counted, end_counted).
  void next(std::uint32_t first_counted, std::uint32_t end_counted, std::vector<SampleRef>& passed) {
    begin_ = number_ * plan_.window_;
    take_samples(first_counted, end_counted, passed);
    const Tail tail = plan_.options_.tail;
    std::size_t length = 0, shortest = ~std::size_t{0};
    for (const Lane& lane : lanes_) {
      length = std::max(length, lane.samples.size());
      shortest = std::min(shortest, lane.samples.size());
    }
    if (tail == Tail::kPad && shortest < length) pad(length);
    views_.clear();
    for (Lane& lane : lanes_) {
      sort(lane, length);
      views_.emplace_back(lane.costs);
    }
    if (tail == Tail::kDrop) length = shortest;
    planner_.plan(views_, length);
    order_.resize(planner_.size());
    std::iota(order_.begin(), order_.end(), 0);
    if (plan_.options_.arrangement != StepArrangement::kInOrder)
      keyed_shuffle(std::span(order_), RandomKey::of({plan_.seed_, epoch_, kStepOrder, number_}));
    complete_ = std::ranges::all_of(lanes_, [](const Lane& lane) { return lane.missing + lane.padding == 0; });
    listed_ = false;
    ++number_;
  }

  [[nodiscard]] std::size_t num_steps() const { return order_.size(); }
  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  /// Return the samples of a step over all ranks, without padding.
  [[nodiscard]] std::uint64_t samples_of(std::size_t step) const {
    const auto indices = planner_.step(order_[step]);
    if (complete_) return indices.size() * lanes_.size();
    std::uint64_t samples = 0;
    for (const Lane& lane : lanes_)
      samples +=
          static_cast<std::uint64_t>(std::ranges::count_if(indices, [&](std::uint32_t i) { return lane.is_real(i); }));
    return samples;
  }
  /// Return the samples that a lane has in the list of a step, padding included.
  [[nodiscard]] std::uint64_t listed(std::size_t step, std::uint32_t lane) const {
    const auto indices = planner_.step(order_[step]);
    if (complete_) return indices.size();
    return static_cast<std::uint64_t>(std::ranges::lower_bound(indices, lanes_[lane].entries.size()) - indices.begin());
  }
  /// Visit the samples of one lane in the list of a step: visit(sample, is padding).
  template <class Visit>
  void list(std::size_t step, std::uint32_t number, Visit&& visit) {
    const auto indices = planner_.step(order_[step]);
    if (complete_) {
      if (!listed_) list_all();
      const SampleRef* const lane = list_.data() + begins_[order_[step]] * lanes_.size() + number * indices.size();
      for (std::size_t k = 0; k < indices.size(); ++k) visit(lane[k], false);
      return;
    }
    const Lane& lane = lanes_[number];
    for (std::uint32_t k = 0; k < indices.size(); ++k) {
      const std::uint32_t i = indices[in_order() ? k : spread_.of(static_cast<std::uint32_t>(indices.size()))[k]];
      if (i >= lane.entries.size()) continue;  // absent
      const auto at = static_cast<std::uint32_t>(lane.entries[i]);
      visit(lane.samples[at], at >= lane.samples.size() - lane.padding);
    }
  }
  [[nodiscard]] std::uint64_t rows_of(std::uint32_t block, std::uint32_t first, std::uint32_t end) const {
    if (!plan_.owns_parts_) return cursors_[0]->rows_of(block);
    std::uint64_t rows = 0;
    for (std::uint32_t u = first; u < end; ++u) rows += cursors_[u]->rows_of(block);
    return rows;
  }

 private:
  struct Lane {
    std::vector<SampleRef> samples;
    std::vector<std::uint32_t> costs;    // by index; of absent samples too
    std::vector<std::uint64_t> entries;  // by index: cost << 32 | place in `samples`
    std::size_t missing = 0;             // absent samples: fewer than the longest lane has
    std::size_t padding = 0;             // samples at the end that repeat others
    [[nodiscard]] bool is_real(std::uint32_t i) const {
      return i < entries.size() && static_cast<std::uint32_t>(entries[i]) < samples.size() - padding;
    }
  };

  [[nodiscard]] bool in_order() const { return plan_.options_.arrangement == StepArrangement::kInOrder; }

  /// The lists of all steps of a window without absent samples, step by step and lane by lane. A lane is gone through
  /// in the order of its costs once, not once a step, which would miss the caches.
  void list_all() {
    const std::size_t steps = planner_.size();
    places_.resize(views_[0].size());
    begins_.assign(1, 0);
    for (std::size_t s = 0; s < steps; ++s) {
      const auto indices = planner_.step(s);
      const auto count = static_cast<std::uint32_t>(indices.size());
      for (std::uint32_t k = 0; k < count; ++k) {
        const std::uint32_t which = in_order() ? k : spread_.of(count)[k];
        places_[indices[which]] = {begins_.back() * lanes_.size() + k, count};
      }
      begins_.push_back(begins_.back() + count);
    }
    list_.resize(begins_.back() * lanes_.size());
    for (std::size_t u = 0; u < lanes_.size(); ++u) {
      const Lane& lane = lanes_[u];
      for (std::size_t i = 0; i < lane.entries.size(); ++i)
        list_[places_[i].first + u * places_[i].stride] = lane.samples[static_cast<std::uint32_t>(lane.entries[i])];
    }
    listed_ = true;
  }

  void take_samples(std::uint32_t first_counted, std::uint32_t end_counted, std::vector<SampleRef>& passed) {
    const std::uint64_t count = std::min(plan_.window_, plan_.samples_ - begin_);
    for (Lane& lane : lanes_) {
      lane.samples.clear();
      lane.padding = 0;
    }
    if (plan_.owns_parts_) {
      for (std::uint32_t u = 0; u < lanes_.size(); ++u) {
        const bool counts = u >= first_counted && u < end_counted;
        for (std::uint64_t at = 0; at < count; at += turn_)
          cursors_[u]->next_step(lanes_[u].samples, counts ? passed : ignored_);
      }
      ignored_.clear();
      return;
    }
    line_.clear();
    for (std::uint64_t at = 0; at < count; at += turn_) cursors_[0]->next_step(line_, passed);
    if (lanes_.size() == 1) return lanes_[0].samples.swap(line_);
    for (Lane& lane : lanes_) lane.samples.reserve(line_.size() / lanes_.size() + 1);
    for (std::size_t i = 0, u = 0; i < line_.size(); ++i, u = u + 1 == lanes_.size() ? 0 : u + 1)
      lanes_[u].samples.push_back(line_[i]);
  }

  /// Lanes that are one sample short repeat their first; an empty one, that of a lane that has some.
  void pad(std::size_t length) {
    const auto some = std::ranges::find_if(lanes_, [](const Lane& lane) { return !lane.samples.empty(); });
    for (Lane& lane : lanes_)
      while (lane.samples.size() < length) {
        lane.samples.push_back(lane.samples.empty() ? some->samples[0] : lane.samples[0]);
        ++lane.padding;
      }
  }

  void sort(Lane& lane, std::size_t length) {
    lane.costs.resize(lane.samples.size());
    plan_.lengths_->lengths(lane.samples, lane.costs);
    lane.entries.resize(lane.samples.size());
    std::uint32_t most = 0;
    for (std::size_t i = 0; i < lane.entries.size(); ++i) {
      const std::uint32_t cost = cost_of(lane.costs[i], plan_.options_);
      most = std::max(most, cost);
      lane.entries[i] = std::uint64_t{cost} << 32 | i;
    }
    if (plan_.options_.arrangement != StepArrangement::kInOrder) sort_falling(lane.entries, other_, most);
    for (std::size_t i = 0; i < lane.entries.size(); ++i)
      lane.costs[i] = static_cast<std::uint32_t>(lane.entries[i] >> 32);
    lane.missing = length - lane.costs.size();
    lane.costs.resize(length, 0);
  }

  const BudgetSteps& plan_;
  const std::uint64_t epoch_;
  std::uint64_t number_, begin_ = 0, turn_ = 1;
  WindowSteps planner_;
  std::vector<std::unique_ptr<Cursor>> cursors_;  // one, or one a lane
  std::vector<Lane> lanes_;
  std::vector<std::span<const std::uint32_t>> views_;
  std::vector<std::uint32_t> order_;
  bool complete_ = false, listed_ = false;
  Spread spread_;
  struct Place {
    std::size_t first;     // of the index in the list, for lane 0
    std::uint32_t stride;  // from lane to lane
  };
  std::vector<Place> places_;        // of each index
  std::vector<std::size_t> begins_;  // indices before each step
  std::vector<SampleRef> list_;
  std::vector<std::uint64_t> other_;
  std::vector<SampleRef> line_, ignored_;
};

/// One rank's walk.
class BudgetCursor final : public StepCursor {
 public:
  BudgetCursor(const BudgetSteps& plan, std::uint64_t epoch, std::uint64_t position)
      : plan_(plan), window_(plan, epoch, position / plan.window_), end_lane_(plan.options_.lanes) {
    const std::uint64_t lanes = plan.options_.lanes, world = plan.share_.world_size;
    owns_lanes_ = lanes % world == 0;
    if (owns_lanes_) {
      first_lane_ = static_cast<std::uint32_t>(plan.share_.rank * lanes / world);
      end_lane_ = static_cast<std::uint32_t>((plan.share_.rank + 1) * lanes / world);
    }
    // Of samples that other ranks get: those of other lanes are not counted where lanes have blocks of their own; in
    // other orders with locality all are; without locality nothing is.
    counts_ = world == 1 || plan.owns_parts_ || plan.sampler_->has_locality();
    passes_others_ = counts_ && world > 1 && !(plan.owns_parts_ && owns_lanes_);
    index_ = plan.steps_before(epoch, position / plan.window_);
    enter(position);
  }

  Step next(std::vector<SampleRef>& out, std::vector<SampleRef>& passed, bool& counted) override {
    if (counts_) passed.insert(passed.end(), passed_.begin(), passed_.end());
    passed_.clear();
    Step step{.index = index_++, .begin = position_};
    step.end = position_ += window_.samples_of(step_);
    counted = deal_out(out, passed, step);
    step.last = position_ >= plan_.handed_out_;
    if (++step_ == window_.num_steps() && !step.last) enter(position_);
    return step;
  }
  [[nodiscard]] std::uint64_t rows_of(std::uint32_t block) const override {
    return counts_ ? window_.rows_of(block, first_lane_, end_lane_) : 0;
  }

 private:
  /// Plan the window that holds `position`, and pass the steps before it by.
  void enter(std::uint64_t position) {
    if (position >= plan_.handed_out_) return;
    window_.next(first_lane_, end_lane_, passed_);
    step_ = 0;
    position_ = window_.begin();
    for (;;) {
      const std::uint64_t samples = window_.samples_of(step_);
      if (position_ + samples > position) return;
      position_ += samples;
      for (std::uint32_t lane = 0; lane < plan_.options_.lanes; ++lane)
        if (!plan_.owns_parts_ || (lane >= first_lane_ && lane < end_lane_))
          window_.list(step_, lane, [&](SampleRef sample, bool padding) {
            if (!padding) passed_.push_back(sample);
          });
      ++step_;
      ++index_;
    }
  }

  /// The rank's part of the step's list, which goes lane by lane. \return  Whether rows_of() counts it.
  bool deal_out(std::vector<SampleRef>& out, std::vector<SampleRef>& passed, Step& step) {
    padding_.clear();
    const std::size_t before = out.size();
    const std::uint32_t lanes = plan_.options_.lanes;
    std::uint64_t listed = 0, first = 0, end = 0;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      if (lane == first_lane_) first = listed;
      listed += window_.listed(step_, lane);
      if (lane + 1 == end_lane_) end = listed;
    }
    if (!owns_lanes_) {
      const ShareRange mine = share_of(plan_.share_, listed);
      first = mine.begin, end = mine.end;
    }
    std::uint64_t at = 0;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      const std::uint64_t count = window_.listed(step_, lane);
      if (!passes_others_ && (at >= end || at + count <= first)) {
        at += count;
        continue;
      }
      window_.list(step_, lane, [&](SampleRef sample, bool padding) {
        const bool is_mine = at >= first && at < end;
        ++at;
        if (is_mine)
          (padding ? padding_ : out).push_back(sample);
        else if (passes_others_ && !padding && rows_of(sample.block) > 0)
          passed.push_back(sample);
      });
    }
    step.first_position = step.begin + first;
    step.real_rows = out.size() - before;
    out.insert(out.end(), padding_.begin(), padding_.end());
    return listed == step.end - step.begin;  // without padding
  }

  const BudgetSteps& plan_;
  BudgetSteps::Window window_;
  std::uint32_t first_lane_ = 0, end_lane_;
  bool owns_lanes_ = false, counts_ = false, passes_others_ = false;
  std::uint64_t position_ = 0, index_ = 0;
  std::size_t step_ = 0;
  std::vector<SampleRef> passed_, padding_;
};

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
  const auto positions = [&](std::uint64_t steps) -> std::uint64_t {  // that hold so many steps
    __extension__ using uint128 = unsigned __int128;
    const std::uint64_t sum = std::max<std::uint64_t>(costs_.sum, 1);
    const uint128 a_lane = (static_cast<uint128>(steps) * options_.tokens * costs_.samples + sum - 1) / sum;
    return lanes * static_cast<std::uint64_t>(std::clamp<uint128>(a_lane, 1, kMostWindow / lanes));
  };
  window_ = positions(options_.lookahead_steps);
  if (const std::uint64_t mixed = sampler_->mixed_samples(); mixed > 0)
    window_ = std::min(window_, std::max(positions(kLeastLookahead), mixed / kMixShare / lanes * lanes));
  if (const std::uint64_t streams = sampler_->own_parts(1); streams > 0) {  // whole turns of them
    const std::uint64_t unit = std::lcm(lanes, streams);
    window_ = (window_ + unit - 1) / unit * unit;
  }
  handed_out_ = options_.tail == Tail::kDrop ? samples_ - samples_ % lanes : samples_;
  mean_samples_ = std::max<std::uint64_t>(positions(1), 1);
  identity_ = fmt::format("tokens {} {} lanes {} window {}", options_.tokens,
                          options_.arrangement == StepArrangement::kInOrder ? "in_order"
                          : options_.arrangement == StepArrangement::kDeal  ? "deal"
                                                                            : "bucket",
                          lanes, window_);
  if (options_.most_samples != BudgetOptions{}.most_samples)
    identity_ += fmt::format(" most {}", options_.most_samples);
  if (options_.square) identity_ += " square";
  if (options_.multiple != 1) identity_ += fmt::format(" multiple {}", options_.multiple);
  if (options_.padded) identity_ += " padded";
  if (options_.tail != Tail::kPartial) identity_ += options_.tail == Tail::kDrop ? " drop" : " pad";
  identity_ += fmt::format(" {:08x}", lengths_->digest() >> 32);
}

Result<std::unique_ptr<BudgetSteps>> BudgetSteps::make(std::shared_ptr<const Sampler> sampler, const BlockTable& blocks,
                                                       std::shared_ptr<const LengthIndex> lengths,
                                                       const BudgetOptions& options, RankShare share,
                                                       std::uint64_t seed) {
  constexpr std::uint32_t kMostLanes = 1 << 16;
  if (options.tokens == 0 || options.tokens > StepRules::kMostBudget)
    return wrong(fmt::format("a budget of {} tokens", options.tokens),
                 fmt::format("Give one from 1 to {}.", StepRules::kMostBudget));
  if (options.lanes == 0 || options.lanes > kMostLanes)
    return wrong(fmt::format("{} lanes", options.lanes), fmt::format("Plan for 1 to {} ranks.", kMostLanes));
  if (options.multiple == 0 || options.lookahead_steps == 0 || options.most_samples == 0)
    return wrong("a multiple, a look-ahead and a most number of samples are at least 1", "Leave them out.");
  if (options.padded && options.arrangement == StepArrangement::kDeal)
    return wrong("steps that hold all lengths cannot be padded to the longest",
                 "Use bucket_by_length, which groups like lengths, or ragged batches.");
  const CostSummary costs = summarize(blocks, *lengths, options);
  if (costs.too_long > 0 && !options.long_alone) {
    const BlockTable::Place place = blocks.place(costs.longest.block);
    const std::uint64_t row = place.rows.first + blocks.stored_row(costs.longest.block, costs.longest.row);
    return wrong(fmt::format("{} of {} samples cost more than the budget of {} tokens; the costliest is row {} of file "
                             "{}, with {}",
                             costs.too_long, costs.samples, options.tokens, row, place.file, costs.most),
                 "Raise the budget, leave long samples out (too_long='drop'), or give them steps of their own "
                 "(too_long='alone').");
  }
  return std::unique_ptr<BudgetSteps>(
      new BudgetSteps(std::move(sampler), std::move(lengths), options, share, seed, costs));
}

std::uint64_t BudgetSteps::most_rows() const {
  const std::uint64_t lanes = options_.lanes, world = share_.world_size;
  std::uint64_t a_lane = std::min(options_.most_samples, window_ / lanes);
  if (costs_.least > 0 && costs_.samples > 0)
    a_lane = std::min(a_lane, std::max<std::uint64_t>(options_.tokens / costs_.least, 1));
  return (a_lane * lanes + world - 1) / world;
}

std::uint64_t BudgetSteps::span_steps() const {
  return sampler_->span_steps(mean_samples_, share_) + 2 * window_ / mean_samples_ + 2;
}

bool BudgetSteps::is_settled(std::uint64_t epoch, std::uint64_t position) const {
  return sampler_->knows(epoch, std::min((position / window_ + 1) * window_, samples_));
}

std::unique_ptr<StepCursor> BudgetSteps::cursor(std::uint64_t epoch, std::uint64_t position) const {
  return std::make_unique<BudgetCursor>(*this, epoch, position);
}

std::vector<std::uint32_t> BudgetSteps::count_steps(std::uint64_t epoch, std::uint64_t first, std::uint64_t end) const {
  std::vector<std::uint32_t> steps;
  Window window(*this, epoch, first);
  std::vector<SampleRef> passed;
  for (std::uint64_t w = first; w < end; ++w) {
    window.next(0, 0, passed);
    passed.clear();
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
  std::vector<SampleRef> passed;
  window.next(0, 0, passed);
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
  std::vector<SampleRef> passed;
  window.next(0, 0, passed);
  std::uint64_t at = window.begin();
  for (std::size_t s = 0; s < step; ++s) at += window.samples_of(s);
  return at;
}

}  // namespace headrace
