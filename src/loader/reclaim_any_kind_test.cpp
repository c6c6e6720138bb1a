// A loader gives memory to others at any moment, and no batch changes: every kind of sample, every order.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <headrace/loader.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "loader/engine/access.h"
#include "loader/engine/engine.h"
#include "loader/plan/plan_for.h"
#include "loader/testing/several_loaders.h"

namespace headrace {
namespace {

using namespace std::chrono_literals;
using testing::Asking;
using testing::delivered;
using testing::Events;
using testing::fake_dataset;
using testing::heavy_tailed;
using testing::Placed;
using testing::slow;

/// Data of one kind, and what the kind can be loaded with.
struct Kind {
  Dataset data;
  LoaderOptions options;
};

Kind rows(std::chrono::microseconds delay) {
  return {fake_dataset({700, 300}, {{40, 32}, {3000, 50}, {2, 512}}, slow(delay)), {.batch = Samples{20}}};
}

Kind windows(std::chrono::microseconds delay) {
  std::vector<SourceGroup> groups{testing::table_of({900, 700}, {{8, 50}}, slow(delay))};
  auto map = std::make_shared<SpanMap>(SpanMap::Options{.block_samples = 8,
                                                        .rows = groups[0].layout.table,
                                                        .row_weight = row_weight(1),
                                                        .spans = Spans::windows({{0, 1600}}, 5, 17)});
  return {Dataset(Dataset::Impl::make(make_mapped_source(map, nullptr, std::move(groups), "windows").value())),
          {.batch = Samples{12}}};
}

Kind events(std::chrono::microseconds delay) {
  const Events made(heavy_tailed(300, 1));
  made.faults->delay = delay;
  Kind kind{*made.data, {.batch = Samples{16}}};
  if (*rc::gen::arbitrary<bool>()) kind.options.batch = ByTokens{.tokens = 300};
  return kind;
}

Kind patches(std::chrono::microseconds) {
  const CellGrid grid{3, {20, 18, 16}, {5, 6, 4}, 4};
  std::vector<Axes> starts;
  for (std::uint64_t z = 0; z < 16; z += 3)
    for (std::uint64_t y = 0; y < 14; y += 2)
      for (std::uint64_t x = 0; x < 12; x += 5) starts.push_back({z, y, x});
  std::vector<SourceGroup> groups{testing::volume_of(0, grid)};
  auto map = testing::boxes_at({grid}, {4, 4, 4}, starts, 9);
  return {Dataset(Dataset::Impl::make(make_mapped_source(map, map, std::move(groups), "patches").value())),
          {.batch = Samples{7}}};
}

Kind any_kind() {
  const std::chrono::microseconds delay(*rc::gen::element(0, 0, 30, 200));
  constexpr std::array kKinds{&rows, &windows, &events, &patches};
  Kind kind = kKinds[*rc::gen::inRange<std::size_t>(0, kKinds.size())](delay);
  kind.options.order = *rc::gen::element<Order>(InOrder{}, BlockShuffle{}, ExactShuffle{});
  kind.options.seed = *rc::gen::inRange<std::uint64_t>(0, 100);
  kind.options.threads = *rc::gen::inRange<std::uint32_t>(1, 4);
  if (auto* const samples = std::get_if<Samples>(&kind.options.batch))
    samples->tail = *rc::gen::element(Tail::kPartial, Tail::kDrop, Tail::kPad);
  if (*rc::gen::arbitrary<bool>()) kind.options.cache.mode = CacheChoice::kNone;
  if (*rc::gen::arbitrary<bool>()) kind.options.rank = 1, kind.options.world_size = 3;
  return kind;
}

/// Say where two runs begin to differ; empty: nowhere.
std::string difference(const std::vector<Placed>& got, const std::vector<Placed>& want) {
  for (std::size_t i = 0; i < std::min(got.size(), want.size()); ++i)
    if (got[i] != want[i])
      return fmt::format("batch {} is number {} of epoch {} and should be {} of {}; content {}", i, got[i].index,
                         got[i].epoch, want[i].index, want[i].epoch,
                         got[i].content == want[i].content ? "equal" : "differs");
  return got.size() == want.size() ? "" : fmt::format("{} batches, not {}", got.size(), want.size());
}

TEST(Reclaim, AtRandomMomentsChangesNoBatchOfAnyKind) {
  std::uint64_t given = 0;
  EXPECT_TRUE(rc::check([&] {
    const Kind kind = any_kind();
    LoaderOptions options = kind.options;
    std::vector<Placed> want;
    {
      Loader easy(kind.data, options);
      want = delivered(easy, 2, [] {});
    }
    options.memory = smallest_budget(kind.data, options) * *rc::gen::inRange<std::uint64_t>(100, 1000) / 100;
    Loader hard(kind.data, options);
    const Asking asking(*rc::gen::inRange<std::uint64_t>(0, 1000));
    std::uint64_t batches = 0;
    std::string differs;
    try {
      differs = difference(delivered(hard, 2,
                                     [&] {
                                       if (++batches % 5 == 0) std::this_thread::sleep_for(200us);
                                       if (batches % 3 == 0) engine_of(hard)->take_back();
                                     }),
                           want);
    } catch (const Error& error) {
      differs = error.what();
    }
    RC_ASSERT(differs == std::string());  // printed where it is not
    given += asking.given();
  }));
  EXPECT_GT(given, 100u);
}

}  // namespace
}  // namespace headrace
