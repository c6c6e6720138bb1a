// Steps of a token budget through a loader, over events of which many are empty and a few are long.
#include <gtest/gtest.h>
#include <headrace/loader.h>
#include <headrace/spans.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "format/testing/npy_files.h"
#include "loader/plan/plan_for.h"

namespace headrace {
namespace {

using EventRows = std::vector<std::vector<std::int64_t>>;
constexpr std::uint64_t kBudget = 64;

/// Two files of events of 0 to 40 rows; the values count on, so that an event that is not empty is told by them.
class ByTokensOfEvents : public ::testing::Test {
 protected:
  ByTokensOfEvents() {
    std::int64_t value = 0;
    for (int file = 0; file < 2; ++file) {
      std::vector<std::int64_t> offsets{0};
      for (std::int64_t event = 0; event < 101; ++event) {
        const std::int64_t length = event % 4 == 3 ? 0 : event % 17 == 0 ? 40 : 1 + event * 7 % 12;
        offsets.push_back(offsets.back() + length);
        events_.emplace_back();
        for (std::int64_t row = 0; row < length; ++row) events_.back().push_back(value++);
      }
      const std::string number = std::to_string(file);
      testing::write_npy<std::int64_t>(folder_.path("value_" + number + ".npy"),
                                       static_cast<std::uint64_t>(offsets.back()), value - offsets.back());
      testing::write_npy(folder_.path("offsets_" + number + ".npy"), offsets);
    }
    std::ranges::sort(events_);
  }
  [[nodiscard]] Dataset part(const std::string& name) const { return open({folder_.path(name + "_*.npy")}); }
  [[nodiscard]] Dataset events() const { return spans(part("value"), {.offsets = part("offsets")}); }

  const TemporaryFolder folder_;
  EventRows events_;  // sorted
};

LoaderOptions options_of(const Order& shuffle, std::uint32_t rank = 0, std::uint32_t world = 1,
                         std::uint32_t lanes = 0) {
  return {.batch = ByTokens{.tokens = kBudget, .lanes = lanes},
          .order = shuffle.is<BlockShuffle>() ? BlockShuffle{{4, 2, 0}} : shuffle,
          .seed = 3,
          .rank = rank,
          .world_size = world,
          .threads = 2};
}

/// The samples of a batch, but for those that come once more.
EventRows samples_of(const Batch& batch) {
  const auto values = batch["value"].as<std::int64_t>();
  const auto offsets = batch.offsets(0);
  const bool weighted = batch.fields().back().name == "_weight";
  EventRows samples;
  for (std::size_t i = 0; i < batch.rows(); ++i)
    if (!weighted || batch["_weight"].as<float>()[i] > 0)
      samples.emplace_back(values.begin() + offsets[i], values.begin() + offsets[i + 1]);
  return samples;
}

std::vector<EventRows> epoch_of(Loader& loader) {
  std::vector<EventRows> batches;
  for (const Batch& batch : loader) batches.push_back(samples_of(batch));
  return batches;
}

EventRows joined(const std::vector<EventRows>& batches) {
  EventRows all;
  for (const EventRows& batch : batches) std::ranges::copy(batch, std::back_inserter(all));
  return all;
}

std::uint64_t rows_in(const EventRows& samples) {
  std::uint64_t rows = 0;
  for (const auto& sample : samples) rows += sample.size();
  return rows;
}

std::string refusal(const Dataset& data, const LoaderOptions& options, ErrorCode code = ErrorCode::kInvalidArgument) {
  try {
    Loader(data, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST_F(ByTokensOfEvents, EachEventOnceUnderTheBudgetOnEveryRank) {
  for (const Order& shuffle : {Order(InOrder{}), Order(BlockShuffle{}), Order(ExactShuffle{})})
    for (const std::uint32_t world : {1u, 2u, 4u}) {
      std::vector<std::vector<EventRows>> ranks;
      for (std::uint32_t rank = 0; rank < world; ++rank) {
        Loader loader(events(), options_of(shuffle, rank, world));
        for (int epoch = 0; epoch < 2; ++epoch) {
          const std::uint64_t steps = loader.num_batches();
          std::vector<EventRows> batches = epoch_of(loader);
          EXPECT_EQ(batches.size(), steps);
          if (epoch == 0) ranks.push_back(std::move(batches));
        }
        for (const EventRows& batch : ranks.back()) {
          EXPECT_LE(rows_in(batch), kBudget);
          EXPECT_LE(batch.size(), loader.batch_rows());
        }
      }
      EventRows all;
      for (const auto& rank : ranks) {
        EXPECT_EQ(rank.size(), ranks[0].size());
        std::ranges::copy(joined(rank), std::back_inserter(all));
      }
      std::ranges::sort(all);
      EXPECT_EQ(all, events_);
    }
}

TEST_F(ByTokensOfEvents, StepsAreTheSameForEveryNumberOfRanks) {
  Loader one(events(), options_of(BlockShuffle{}, 0, 1, 4));
  const std::vector<EventRows> whole = epoch_of(one);
  for (const std::uint32_t world : {2u, 4u}) {
    std::vector<EventRows> steps(whole.size());
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      Loader loader(events(), options_of(BlockShuffle{}, rank, world, 4));
      const std::vector<EventRows> own = epoch_of(loader);
      ASSERT_EQ(own.size(), whole.size());
      for (std::size_t k = 0; k < own.size(); ++k) std::ranges::copy(own[k], std::back_inserter(steps[k]));
    }
    EXPECT_EQ(steps, whole);
  }
  const std::string more = refusal(events(), options_of(BlockShuffle{}, 0, 8, 4));
  EXPECT_NE(more.find("planned for 4 ranks, and there are 8"), std::string::npos) << more;
}

TEST_F(ByTokensOfEvents, AStateGoesOnAtEveryStepAlsoOnOtherRanks) {
  Loader whole(events(), options_of(BlockShuffle{}, 0, 1, 2));
  Loader two(events(), options_of(BlockShuffle{}, 1, 2));
  std::vector<std::string> states{whole.state()};
  std::vector<EventRows> batches;
  for (const Batch& batch : whole) {
    EXPECT_EQ(samples_of(whole.batch(0, batches.size())), samples_of(batch));
    batches.push_back(samples_of(batch));
    states.push_back(whole.state());
  }
  for (std::size_t step = 0; step < batches.size(); ++step) {
    Loader rest(events(), options_of(BlockShuffle{}));  // of one rank and lane, but for the state
    rest.load_state(states[step]);
    EXPECT_EQ(rest.num_batches(), batches.size());
    std::size_t at = step;
    for (const Batch& batch : rest) ASSERT_EQ(samples_of(batch), batches[at++]);
    EXPECT_EQ(at, batches.size());
    two.load_state(states[step]);
    at = step;
    for (const Batch& batch : two) {
      EventRows& both = batches[at++];
      const EventRows own = samples_of(batch);
      ASSERT_LE(own.size(), both.size());
      ASSERT_TRUE(std::equal(own.rbegin(), own.rend(), both.rbegin()));
    }
    EXPECT_EQ(at, batches.size());
  }
  LoaderOptions unranked = options_of(BlockShuffle{});
  unranked.rank = unranked.world_size = std::nullopt;
  Loader told(events(), unranked);  // its rank is known later, as by a framework
  told.set_rank(0, 2);
  told.load_state(states[1]);
  std::size_t at = 1;
  for (const Batch& batch : told) {
    const EventRows own = samples_of(batch);
    ASSERT_TRUE(own.size() < batches[at].size() && std::equal(own.begin(), own.end(), batches[at].begin()));
    ++at;
  }
  EXPECT_EQ(at, batches.size());
  Loader one(events(), options_of(BlockShuffle{}));
  Loader too_many(events(), unranked);
  too_many.set_rank(0, 2);
  EXPECT_THROW(too_many.load_state(one.state()), Error);  // whose steps have one lane
  Loader other(events(), options_of(BlockShuffle{}, 0, 1, 4));
  EXPECT_THROW(other.load_state(states[3]), Error);  // of other lanes, by name
  Loader fixed(events(), {.batch = Samples{8}, .order = BlockShuffle{}, .seed = 3});
  EXPECT_THROW(fixed.load_state(states[3]), Error);
}

TEST_F(ByTokensOfEvents, ManyEventsArePlannedTogether) {
  std::vector<std::uint64_t> offsets{0};
  while (offsets.back() < 60'000) offsets.push_back(offsets.back() + offsets.size() * 7 % 9);
  offsets.back() = 60'000;
  testing::write_npy<std::int64_t>(folder_.path("many.npy"), 60'000, 0);
  const Dataset many =
      spans(open({folder_.path("many.npy")}, {.fields = {{"value", "many"}}}), {.offset_list = offsets});
  LoaderOptions options = options_of(BlockShuffle{});
  std::get<ByTokens>(options.batch).tokens = 2048;
  Loader loader(many, options);
  EventRows all;
  for (const EventRows& batch : epoch_of(loader)) {
    EXPECT_LE(rows_in(batch), 2048u);
    std::ranges::copy(batch, std::back_inserter(all));
  }
  EXPECT_LE(loader.num_batches(), 32u);  // 30 at least
  ASSERT_EQ(all.size(), offsets.size() - 1);
  EXPECT_EQ(rows_in(all), 60'000u);
}

TEST_F(ByTokensOfEvents, TailsAndLimits) {
  LoaderOptions options = options_of(BlockShuffle{}, 0, 4);
  const auto epochs_of = [&] {
    std::vector<std::vector<EventRows>> ranks;
    for (options.rank = 0; *options.rank < 4; ++*options.rank) {
      Loader loader(events(), options);
      ranks.push_back(epoch_of(loader));
    }
    return ranks;
  };
  std::get<ByTokens>(options.batch).tail = Tail::kDrop;
  std::size_t samples = 0;
  const auto dropped = epochs_of();
  for (const auto& rank : dropped) samples += joined(rank).size();
  EXPECT_EQ(samples, events_.size() / 4 * 4);
  for (std::size_t k = 0; k < dropped[0].size(); ++k)
    for (const auto& rank : dropped) EXPECT_EQ(rank[k].size(), dropped[0][k].size());
  std::get<ByTokens>(options.batch).tail = Tail::kPad;
  samples = 0;
  for (const auto& rank : epochs_of()) samples += joined(rank).size();
  EXPECT_EQ(samples, events_.size());
  std::get<ByTokens>(options.batch).max_samples = 3;
  for (const auto& rank : epochs_of())
    for (const EventRows& batch : rank) EXPECT_LE(batch.size(), 3u);
}

TEST_F(ByTokensOfEvents, EmptyEventsAreSpreadOverTheSteps) {
  Loader loader(events(), options_of(BlockShuffle{}));
  for (const EventRows& batch : epoch_of(loader)) {
    const auto empty = std::ranges::count_if(batch, [](const auto& sample) { return sample.empty(); });
    EXPECT_LE(empty, 10);  // of 50
    EXPECT_LE(batch.size(), 14u);
  }
}

TEST_F(ByTokensOfEvents, LongEventsAreRefusedByPlaceOrComeAlone) {
  LoaderOptions options = options_of(BlockShuffle{});
  std::get<ByTokens>(options.batch).tokens = 20;
  const std::string said = refusal(events(), options);
  for (const char* part : {"10 of 202 samples are longer than the budget of 20 rows", "sample 0, with 40 rows",
                           "rows 0 to 39", "value_0.npy", "Give a budget of 40"})
    EXPECT_NE(said.find(part), std::string::npos) << said;
  std::get<ByTokens>(options.batch).too_long = ByTokens::kAlone;
  Loader loader(events(), options);
  const auto batches = epoch_of(loader);
  for (const EventRows& batch : batches) EXPECT_TRUE(rows_in(batch) <= 20 || batch.size() == 1);
  EXPECT_EQ(std::ranges::count_if(batches, [](const EventRows& batch) { return rows_in(batch) == 40; }), 10);
  EventRows all = joined(batches);
  std::ranges::sort(all);
  EXPECT_EQ(all, events_);
}

TEST_F(ByTokensOfEvents, TheLeastBudgetIsTheOneThatIsNamed) {
  LoaderOptions options = options_of(BlockShuffle{});
  std::get<ByTokens>(options.batch).tokens = 4096;
  const std::uint64_t least = smallest_budget(events(), options);
  ASSERT_GT(least, 0u);
  options.memory = least / 2;
  EXPECT_NE(refusal(events(), options, ErrorCode::kOutOfBudget), "");
  options.memory = least;
  Loader loader(events(), options);
  EventRows all = joined(epoch_of(loader));
  std::ranges::sort(all);
  EXPECT_EQ(all, events_);
  EXPECT_LE(loader.report().memory.peak_bytes, least);
}

TEST_F(ByTokensOfEvents, WhatCannotBeCutIsRefusedByName) {
  LoaderOptions options = options_of(BlockShuffle{});
  EXPECT_NE(refusal(part("value"), options).find("no field is ragged"), std::string::npos);
  options.order = Listed{{1, 2, 3}, true, {}};
  EXPECT_NE(refusal(events(), options, ErrorCode::kUnsupported).find("lists rows"), std::string::npos);
  options.order = OnlineSampler{3};
  EXPECT_NE(refusal(events(), options, ErrorCode::kUnsupported).find("gives rows during the epoch"), std::string::npos);
  options.order = Weighted{std::vector<double>(events_.size(), 1.0), true, 50};
  Loader weighted(events(), options);
  EXPECT_EQ(joined(epoch_of(weighted)).size(), 50u);
}

}  // namespace
}  // namespace headrace
