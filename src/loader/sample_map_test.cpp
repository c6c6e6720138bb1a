// Samples that are no rows, through the real window: events over several units, windows that overlap, boxes over grids
// of cells. What arrives is compared with plain loops over the same values.
#include <gtest/gtest.h>
#include <headrace/loader.h>
#include <rapidcheck.h>

#include <array>
#include <set>
#include <thread>

#include "assembly/copying/finisher.h"
#include "assembly/servers/part_server.h"
#include "assembly/window/request_window.h"
#include "catalog/samples/box_map.h"
#include "catalog/samples/span_map.h"
#include "dataset/testing/mapped_data.h"
#include "delivery/slot_arena.h"
#include "order/steps/fixed_steps.h"

namespace headrace {
namespace {

using testing::fake_value;
using testing::FakeVolume;
using testing::heavy_tailed;
using testing::table_of;
using testing::volume_of;

/// What a case runs: a map over groups of columns, all elements uint32.
struct MapCase {
  std::shared_ptr<const SampleMap> map;
  std::vector<SourceGroup> groups;
  std::shared_ptr<const BoxMap> boxes;  // the map, where it is one
  std::vector<SlotField> fields;
  std::shared_ptr<const Finisher> finisher = {};
};

struct Settings {
  std::uint64_t batch = 8, slots = 1;
  unsigned threads = 1;
  BlockShuffleShape shape{2, 2};
  bool exact = false;
};

struct Delivered {
  std::uint64_t end = 0;  // samples of the epoch handed out
  std::vector<SampleRef> samples;
  std::vector<std::vector<std::uint64_t>> starts;
  std::vector<std::vector<std::uint32_t>> fields;
  friend bool operator==(const Delivered&, const Delivered&) = default;
};

std::shared_ptr<const Sampler> sampler_of(const MapCase& c, const Settings& settings) {
  return settings.exact ? make_global_shuffle(c.map->shuffle_blocks(), 7)
                        : make_block_shuffle(c.map->shuffle_blocks(), settings.shape, 7);
}

/// Deliver `epochs` epochs, the first of them from `position` on.
std::vector<Delivered> run(const MapCase& c, const Settings& settings, std::uint64_t epochs, std::uint64_t position = 0,
                           std::optional<Error>* error = nullptr) {
  auto arena = std::make_shared<SlotArena>(c.fields, 1, 1 << 20);
  const Finishing finishing = c.finisher ? c.finisher->finishing() : Finishing{};
  RequestWindow window(
      std::make_shared<FixedSteps>(sampler_of(c, settings), settings.batch, RankShare{}, Tail::kPartial),
      c.map->shuffle_blocks(), {.max_slots = settings.slots, .map = c.map, .finishing = finishing, .row_weight = 1},
      *arena);
  arena->set_release_callback([&] { window.memory_released(); });
  const MappedSource mapped{nullptr, c.map, c.boxes, c.groups, {}, {}};
  StageBoard board;
  std::vector<std::unique_ptr<DecodeCounters>> counters;
  for (unsigned t = 0; t < settings.threads; ++t)
    counters.push_back(std::make_unique<DecodeCounters>(board.add_thread()));
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < settings.threads; ++t)
    threads.emplace_back([&, t] {
      PartServer server(mapped, *counters[t]);
      server.prepare().value();
      Claim claim;
      std::vector<RowDigest> digests;
      while (window.claim(claim)) {
        if (claim.kind == Claim::Kind::kFinish) {
          const WindowSlot& slot = *claim.runs[0].slot;
          const auto failure = finish_task(
              *c.finisher,
              {slot.memory->fields, slot.content.samples, slot.content.starts, *c.map->shuffle_blocks(), slot.epoch},
              claim.unit);
          EXPECT_FALSE(failure);
          window.complete(claim, {});
          continue;
        }
        digests.assign(claim.runs.size(), {});
        const auto failures = server.serve(claim, digests, window.cancel_flag());
        window.complete(claim, failures, digests);
      }
    });
  std::vector<Delivered> out;
  for (std::uint64_t e = 0; e < epochs; ++e) {
    window.start_epoch(e, e == 0 ? position : 0);
    for (;;) {
      auto next = window.next();
      if (!next.ok()) {
        if (error)
          *error = next.error();
        else
          ADD_FAILURE() << next.error().what();
        break;
      }
      if (!*next) break;
      const StepContent& content = (**next).content;
      Delivered& d = out.emplace_back();
      d.end = content.step.end;
      d.samples = content.samples;
      d.starts = content.starts;
      for (std::size_t f = 0; f < c.fields.size(); ++f) {
        const auto* data = reinterpret_cast<const std::uint32_t*>((**next).memory->fields[f]);
        d.fields.emplace_back(data, data + content.sizes.group_rows[c.fields[f].group] * c.fields[f].row_bytes / 4);
      }
    }
    if (error && *error) break;
  }
  window.stop();
  threads.clear();
  arena->set_release_callback({});
  return out;
}

std::uint64_t number_of(const MapCase& c, SampleRef s) {
  return c.map->shuffle_blocks()->first_row(s.block) + s.row;
}

/// Each sample once an epoch, whatever its shuffle block.
void expect_permutation(const MapCase& c, const std::vector<Delivered>& all, std::uint64_t epochs) {
  std::vector<std::uint64_t> seen(c.map->shuffle_blocks()->num_rows(), 0);
  for (const Delivered& d : all)
    for (const SampleRef s : d.samples) ++seen[number_of(c, s)];
  for (const std::uint64_t n : seen) ASSERT_EQ(n, epochs);
}

/// The same batches at hostile settings, and resumed at every step.
/// A unit is named by a shuffle block exactly if the shuffle block is named by the unit, each once; and every part lies
/// in a unit that its sample's shuffle block names.
void expect_mirrored(const SampleMap& map) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> by_block, by_unit, parts;
  std::vector<std::uint32_t> named, ends;
  std::vector<Part> found;
  for (std::uint32_t block = 0; block < map.shuffle_blocks()->num_blocks(); ++block) {
    named.clear();
    map.units_of(block, {}, named);
    for (const std::uint32_t unit : named) EXPECT_TRUE(by_block.emplace(block, unit).second) << block << " " << unit;
    for (std::uint32_t row = 0; row < map.shuffle_blocks()->block_rows(block); ++row) {
      const SampleRef sample{block, row};
      found.clear(), ends.clear();
      map.expand({&sample, 1}, {}, found, ends);
      for (const Part& part : found) parts.emplace(block, part.unit);
    }
  }
  for (std::uint32_t unit = 0; unit < map.num_units(); ++unit) {
    named.clear();
    map.blocks_of(unit, named);
    for (const std::uint32_t block : named) EXPECT_TRUE(by_unit.emplace(block, unit).second) << block << " " << unit;
  }
  EXPECT_EQ(by_block, by_unit);
  for (const auto& part : parts) EXPECT_TRUE(by_block.contains(part)) << part.first << " " << part.second;
}

void expect_same_everywhere(const MapCase& c, const Settings& settings, const std::vector<Delivered>& all) {
  if (!c.map->draws_samples()) expect_mirrored(*c.map);
  for (const std::uint64_t slots : {1u, 2u, 7u})
    for (const unsigned threads : {1u, 3u}) {
      Settings other = settings;
      other.slots = slots;
      other.threads = threads;
      EXPECT_EQ(run(c, other, 2), all) << slots << " slots, " << threads << " threads";
    }
  for (std::size_t step = 0; step + 1 < all.size() && all[step].end > (step ? all[step - 1].end : 0); ++step) {
    const std::vector<Delivered> rest = run(c, settings, 1, all[step].end);
    std::size_t at = step + 1;
    for (const Delivered& d : rest) ASSERT_EQ(d, all[at++]) << "resumed after step " << step;
  }
}

// ------------------------------------------------------------------------------------------------------------- spans

/// Events: a ragged run of rows of two columns, and a label. Lengths are heavy-tailed; many are 0, some cross units.
MapCase events(const std::vector<std::uint64_t>& lengths, std::uint64_t chunk_rows, std::uint64_t block_samples,
               std::shared_ptr<testing::FakeFaults> faults = std::make_shared<testing::FakeFaults>()) {
  std::vector<std::uint64_t> starts{0};
  for (const std::uint64_t n : lengths) starts.push_back(starts.back() + n);
  MapCase c;
  const std::uint64_t rows = std::max<std::uint64_t>(starts.back(), 1), third = rows / 3;
  c.groups.push_back(table_of({third + 1, 1, rows - third}, {{3, chunk_rows}, {1, chunk_rows * 2}}, std::move(faults)));
  c.groups.push_back(table_of({lengths.size()}, {{2, 16}}));
  c.map = std::make_shared<SpanMap>(SpanMap::Options{.block_samples = block_samples,
                                                     .rows = c.groups[0].layout.table,
                                                     .side = c.groups[1].layout.table,
                                                     .row_weight = row_weight(2),
                                                     .side_weight = row_weight(1),
                                                     .spans = Spans::between(starts)});
  c.fields = {{12, 0}, {4, 0}, {8, 1}};
  return c;
}

void expect_events(const MapCase& c, const std::vector<std::uint64_t>& lengths, const std::vector<Delivered>& all) {
  std::vector<std::uint64_t> starts{0};
  for (const std::uint64_t n : lengths) starts.push_back(starts.back() + n);
  for (const Delivered& d : all)
    for (std::size_t i = 0; i < d.samples.size(); ++i) {
      const std::uint64_t event = number_of(c, d.samples[i]);
      ASSERT_EQ(d.starts[0][i + 1] - d.starts[0][i], lengths[event]);
      for (std::uint64_t k = 0; k < lengths[event]; ++k) {
        const std::uint64_t place = d.starts[0][i] + k, row = starts[event] + k;
        for (std::uint64_t j = 0; j < 3; ++j) ASSERT_EQ(d.fields[0][place * 3 + j], fake_value(0, row, j));
        ASSERT_EQ(d.fields[1][place], fake_value(1, row, 0));
      }
      for (std::uint64_t j = 0; j < 2; ++j) ASSERT_EQ(d.fields[2][i * 2 + j], fake_value(0, event, j));
    }
}

TEST(SampleMaps, EventsOverTwoAndThreeUnitsArriveWhole) {
  const std::vector<std::uint64_t> lengths = heavy_tailed(150, 1);
  const MapCase c = events(lengths, 32, 10);
  std::size_t crossing = 0, far = 0;
  std::vector<Part> parts;
  std::vector<std::uint32_t> ends;
  for (std::uint32_t block = 0; block < c.map->shuffle_blocks()->num_blocks(); ++block)
    for (std::uint32_t row = 0; row < c.map->shuffle_blocks()->block_rows(block); ++row) {
      const SampleRef sample{block, row};
      parts.clear(), ends.clear();
      c.map->expand({&sample, 1}, {}, parts, ends);
      crossing += parts.size() == 3;  // two of the pulses, one of the label
      far += parts.size() > 3;
    }
  // Blocks of small rows are made of many chunks, so that few events cross: there must be some all the same.
  Settings settings;
  settings.slots = 4, settings.threads = 2;
  const std::vector<Delivered> all = run(c, settings, 2);
  expect_events(c, lengths, all);
  expect_permutation(c, all, 2);
  expect_same_everywhere(c, settings, all);
  EXPECT_GT(crossing + far, 0u);
}

TEST(SampleMaps, AnyEventsAnySettings) {
  EXPECT_TRUE(rc::check([] {
    const auto lengths = heavy_tailed(*rc::gen::inRange<std::size_t>(1, 120), *rc::gen::inRange<std::uint64_t>(0, 99));
    const MapCase c = events(lengths, *rc::gen::inRange<std::uint64_t>(1, 60), *rc::gen::inRange<std::uint64_t>(1, 30));
    Settings settings;
    settings.batch = *rc::gen::inRange<std::uint64_t>(1, 40);
    settings.slots = *rc::gen::inRange<std::uint64_t>(1, 9);
    settings.threads = *rc::gen::inRange<unsigned>(1, 4);
    settings.shape = {*rc::gen::inRange<std::uint32_t>(1, 5), *rc::gen::inRange<std::uint32_t>(1, 4)};
    settings.exact = *rc::gen::arbitrary<bool>();
    const std::vector<Delivered> all = run(c, settings, 2);
    expect_events(c, lengths, all);
    expect_permutation(c, all, 2);
    RC_ASSERT(!::testing::Test::HasFailure());
  }));
}

TEST(SampleMaps, AFailedUnitFailsTheFirstBatchThatNeedsIt) {
  const std::vector<std::uint64_t> lengths = heavy_tailed(150, 3);
  auto faults = std::make_shared<testing::FakeFaults>();
  faults->bad_rows = {400};
  const MapCase c = events(lengths, 32, 10, faults), good = events(lengths, 32, 10);
  Settings settings;
  settings.slots = 4;
  std::size_t batches = ~std::size_t{0};
  for (const unsigned threads : {1u, 3u}) {
    settings.threads = threads;
    std::optional<Error> error;
    const std::vector<Delivered> some = run(c, settings, 1, 0, &error), all = run(good, settings, 1);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::kCorruptData);
    ASSERT_LT(some.size(), all.size());
    EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin()));
    if (batches == ~std::size_t{0}) batches = some.size();
    EXPECT_EQ(some.size(), batches);
  }
}

TEST(SampleMaps, WindowsThatOverlapByOne) {
  constexpr std::uint64_t kLength = 17, kWindows = 60;
  MapCase c;
  c.groups.push_back(table_of({kLength * kWindows + 1}, {{1, 50}}));
  c.map = std::make_shared<SpanMap>(
      SpanMap::Options{.block_samples = 6,
                       .rows = c.groups[0].layout.table,
                       .row_weight = row_weight(1),
                       .spans = Spans::windows({{0, kLength * kWindows + 1}}, kLength, kLength + 1)});
  c.fields = {{4, 0}};
  Settings settings;
  settings.slots = 3, settings.threads = 2;
  const std::vector<Delivered> all = run(c, settings, 2);
  for (const Delivered& d : all)
    for (std::size_t i = 0; i < d.samples.size(); ++i)
      for (std::uint64_t k = 0; k <= kLength; ++k)
        ASSERT_EQ(d.fields[0][i * (kLength + 1) + k], fake_value(0, number_of(c, d.samples[i]) * kLength + k, 0));
  expect_permutation(c, all, 2);
  expect_same_everywhere(c, settings, all);
}

/// Turns each event's values round; then looks its label up in a table and adds the batch's first values.
class TurnRound final : public Finisher {
 public:
  static constexpr std::array<std::uint32_t, 5> kTable{11, 22, 33, 44, 55};
  std::string identity() const override { return "turn round"; }
  Finishing finishing() const override { return {3, true}; }
  Status finish_sample(const FilledBatch& batch, std::uint32_t i) const override {
    auto* values = reinterpret_cast<std::uint32_t*>(batch.fields[1]);
    std::reverse(values + batch.starts[0][i], values + batch.starts[0][i + 1]);
    return {};
  }
  Status finish_batch(const FilledBatch& batch) const override {
    const auto* values = reinterpret_cast<const std::uint32_t*>(batch.fields[1]);
    auto* labels = reinterpret_cast<std::uint32_t*>(batch.fields[2]);
    const std::vector<std::uint64_t>& starts = batch.starts[0];
    for (std::size_t i = 0; i < batch.samples.size(); ++i) {
      labels[2 * i] = kTable[batch.sample_number(i) % kTable.size()];
      labels[2 * i + 1] = 0;
      for (std::size_t k = 0; k < batch.samples.size(); ++k)
        if (starts[k] < starts[k + 1]) labels[2 * i + 1] += values[starts[k]];
    }
    return {};
  }
};

TEST(SampleMaps, SamplesAndBatchesAreFinishedInOrder) {
  const std::vector<std::uint64_t> lengths = heavy_tailed(90, 5);
  MapCase c = events(lengths, 32, 10);
  c.finisher = std::make_shared<TurnRound>();
  Settings settings;
  settings.slots = 3, settings.threads = 3;
  const std::vector<Delivered> all = run(c, settings, 2);
  std::vector<std::uint64_t> starts{0};
  for (const std::uint64_t n : lengths) starts.push_back(starts.back() + n);
  for (const Delivered& d : all) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < d.samples.size(); ++i) {
      const std::uint64_t event = number_of(c, d.samples[i]);
      for (std::uint64_t k = 0; k < lengths[event]; ++k)
        ASSERT_EQ(d.fields[1][d.starts[0][i] + k], fake_value(1, starts[event + 1] - 1 - k, 0));
      if (lengths[event] > 0) sum += fake_value(1, starts[event + 1] - 1, 0);
    }
    for (std::size_t i = 0; i < d.samples.size(); ++i) {
      ASSERT_EQ(d.fields[2][2 * i], TurnRound::kTable[number_of(c, d.samples[i]) % TurnRound::kTable.size()]);
      ASSERT_EQ(d.fields[2][2 * i + 1], sum);
    }
  }
  expect_permutation(c, all, 2);
  expect_same_everywhere(c, settings, all);
}

// ------------------------------------------------------------------------------------------------------------- boxes

MapCase boxes_of(std::vector<CellGrid> grids, const Axes& box, std::vector<Axes> starts, std::uint64_t block_samples) {
  MapCase c;
  for (std::uint32_t g = 0; g < grids.size(); ++g) c.groups.push_back(volume_of(g, grids[g]));
  c.boxes = testing::boxes_at(grids, box, std::move(starts), block_samples);
  c.map = c.boxes;
  for (std::size_t g = 0; g < grids.size(); ++g) c.fields.push_back({c.boxes->box_elements(g) * 4, g});
  return c;
}

void expect_boxes(const MapCase& c, const std::vector<Delivered>& all) {
  for (const Delivered& d : all)
    for (std::size_t i = 0; i < d.samples.size(); ++i)
      for (std::size_t g = 0; g < c.groups.size(); ++g) {
        const CellGrid& grid = c.boxes->volumes()[0].grids[g];
        const std::uint64_t elements = c.boxes->box_elements(g);
        for (std::uint64_t e = 0; e < elements; ++e) {
          Axes at{};
          std::uint64_t left = e;
          for (std::size_t a = grid.rank; a-- > 0;) {
            at[a] = c.boxes->place_of(d.samples[i], {}).start[a] + left % c.boxes->box()[a];
            left /= c.boxes->box()[a];
          }
          ASSERT_EQ(d.fields[g][i * elements + e], FakeVolume::value(static_cast<std::uint32_t>(g), grid, at));
        }
      }
}

TEST(SampleMaps, BoxesOverGridsOfThreeArrays) {
  const Axes shape{20, 24, 30}, box{7, 9, 11};
  std::vector<Axes> starts;
  for (std::uint64_t i = 0; i < 50; ++i)
    starts.push_back({i * 7 % (20 - 7 + 1), i * 5 % (24 - 9 + 1), i * 11 % (30 - 11 + 1)});
  const MapCase c =
      boxes_of({{3, shape, {8, 8, 8}, 4}, {3, shape, {5, 24, 7}, 4}, {3, shape, {20, 3, 16}, 4}}, box, starts, 5);
  Settings settings;
  settings.slots = 4, settings.threads = 2;
  const std::vector<Delivered> all = run(c, settings, 2);
  expect_boxes(c, all);
  expect_permutation(c, all, 2);
  expect_same_everywhere(c, settings, all);
}

/// Cells of the leading axes: (files, long, short, mels, frames), and a label a file.
TEST(SampleMaps, CellsOfLeadingAxesWithABroadcastColumn) {
  std::vector<Axes> starts;
  for (std::uint64_t f = 0; f < 6; ++f)
    for (std::uint64_t i = 0; i < 3; ++i)
      for (std::uint64_t j = 0; j < 4; ++j) starts.push_back({f, i, j, 0, 0});
  const MapCase c = boxes_of({{5, {6, 3, 4, 5, 2}, {2, 2, 3, 5, 2}, 4}, {1, {6}, {4}, 4}}, {1, 1, 1, 5, 2}, starts, 12);
  Settings settings;
  settings.slots = 3, settings.threads = 2;
  const std::vector<Delivered> all = run(c, settings, 2);
  expect_boxes(c, all);
  expect_permutation(c, all, 2);
  expect_same_everywhere(c, settings, all);
}

}  // namespace
}  // namespace headrace
