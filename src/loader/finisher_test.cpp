// Kernels that finish samples and batches, behind a Loader and a Dataset: every way a batch can come about gives the
// bytes that a plain loop gives.
#include <gtest/gtest.h>
#include <headrace/loader.h>
#include <headrace/mix.h>
#include <rapidcheck.h>

#include <functional>
#include <thread>

#include "assembly/copying/finisher.h"
#include "base/random/philox.h"
#include "dataset/testing/mapped_data.h"
#include "loader/plan/plan_for.h"

namespace headrace {
namespace {

using testing::Copy;
using testing::copy_of;
using testing::Events;
using testing::fake_dataset;
using testing::fake_value;
using testing::FakeFaults;
using testing::heavy_tailed;

std::uint32_t noise(std::uint64_t epoch, std::uint64_t sample) {
  return static_cast<std::uint32_t>(RandomKey::of({77, epoch, sample}).low);
}

/// Does what a test says.
struct Custom final : Finisher {
  Finishing tasks{1, false};
  std::function<Status(const FilledBatch&, std::uint32_t)> sample = [](auto&, auto) { return Status(); };
  std::function<Status(const FilledBatch&)> whole = [](auto&) { return Status(); };
  std::string identity() const override { return "custom"; }
  Finishing finishing() const override { return tasks; }
  Status finish_sample(const FilledBatch& batch, std::uint32_t i) const override { return sample(batch, i); }
  Status finish_batch(const FilledBatch& batch) const override { return whole(batch); }
};

/// Adds noise of (epoch, sample) to the first value of each sample's field 0, and then, where the batch is finished
/// too, to the first value of field 1 the sum of those over the batch.
class Noise final : public Finisher {
 public:
  struct Settings {
    Finishing finishing{3, true};
    std::string name = "noise";
    std::uint64_t bad_sample = ~std::uint64_t{0};
    bool throws = false;
  };
  Noise() = default;
  explicit Noise(Settings settings) : settings_(std::move(settings)) {}
  std::string identity() const override { return settings_.name; }
  Finishing finishing() const override { return settings_.finishing; }
  Status finish_sample(const FilledBatch& batch, std::uint32_t i) const override {
    const std::uint64_t sample = batch.sample_number(i);
    if (sample == settings_.bad_sample && settings_.throws) throw std::bad_alloc();
    if (sample == settings_.bad_sample) return Error(ErrorCode::kInvalidArgument, "cannot be turned");
    if (std::uint32_t* value = first(batch, 0, 3, i)) *value += noise(batch.epoch, sample);
    return {};
  }
  Status finish_batch(const FilledBatch& batch) const override {
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < batch.samples.size(); ++i)
      if (const std::uint32_t* value = first(batch, 0, 3, i)) sum += *value;
    for (std::uint32_t i = 0; i < batch.samples.size(); ++i)
      if (std::uint32_t* value = first(batch, 1, 1, i)) *value += sum;
    return {};
  }

 private:
  static std::uint32_t* first(const FilledBatch& batch, std::size_t field, std::uint64_t width, std::uint32_t i) {
    auto* values = reinterpret_cast<std::uint32_t*>(batch.fields[field]);
    if (batch.starts.empty()) return values + i * width;
    const std::vector<std::uint64_t>& starts = batch.starts[0];
    return starts[i] == starts[i + 1] ? nullptr : values + starts[i] * width;
  }
  Settings settings_;
};

Dataset with_finisher(const Dataset& data, std::shared_ptr<const Finisher> finisher) {
  const SampleSource& source = impl_of(data)->source;
  if (const MappedSource* const mapped = source.mapped()) {
    auto made = std::make_shared<MappedSource>(*mapped);
    made->finisher = std::move(finisher);
    return Dataset(Dataset::Impl::make(std::shared_ptr<const MappedSource>(std::move(made))));
  }
  auto made = std::make_shared<Source>(*source.rows());
  made->finisher = std::move(finisher);
  return Dataset(Dataset::Impl::make(std::move(made)));
}
Dataset finished(const Dataset& data, Noise::Settings settings = {}) {
  return with_finisher(data, std::make_shared<Noise>(std::move(settings)));
}
/// The error of an epoch; fails without one.
Error error_of(Loader& loader) {
  try {
    for (const Batch& batch : loader) (void)batch;
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was raised";
  return {ErrorCode::kInternal, ""};
}

/// Rows of a0 (3) and a1 (1); values name their places.
Dataset rows_of(std::uint64_t rows, std::shared_ptr<FakeFaults> faults = std::make_shared<FakeFaults>()) {
  return fake_dataset({rows - rows / 3, rows / 3}, {{3, 8}, {1, 16}}, std::move(faults));
}

/// Compare a batch of rows_of() with a plain loop over the rows that it should hold.
void expect_finished(const Batch& batch, std::span<const std::uint64_t> rows, std::uint64_t epoch) {
  const auto a = batch["a0"].as<std::uint32_t>(), b = batch["a1"].as<std::uint32_t>();
  std::uint32_t sum = 0;
  for (const std::uint64_t row : rows) sum += fake_value(0, row, 0) + noise(epoch, row);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(a[3 * i], fake_value(0, rows[i], 0) + noise(epoch, rows[i])) << i;
    ASSERT_EQ(a[3 * i + 1], fake_value(0, rows[i], 1)) << i;
    ASSERT_EQ(b[i], fake_value(1, rows[i], 0) + sum) << i;
  }
}

std::vector<std::uint64_t> provenance(const Batch& batch) {
  std::vector<std::uint64_t> rows;
  const auto pairs = batch["_rows"].as<std::int64_t>();  // file, row in it
  const std::uint64_t first_of[] = {0, 60};
  for (std::uint64_t i = 0; i < batch.rows(); ++i)
    rows.push_back(first_of[pairs[2 * i]] + static_cast<std::uint64_t>(pairs[2 * i + 1]));
  return rows;
}

TEST(Finisher, RowsDecodedKeptAndPreloadedAreFinishedAlike) {
  const Dataset data = finished(rows_of(90));
  for (const CacheChoice::Mode mode : {CacheChoice::kNone, CacheChoice::kAuto, CacheChoice::kRam})
    for (const std::uint32_t threads : {1u, 3u}) {
      Loader loader(
          data,
          {.batch = Samples{7}, .order = BlockShuffle{}, .provenance = true, .cache = {mode, {}}, .threads = threads});
      if (mode == CacheChoice::kRam) loader.preload();
      for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
        std::uint64_t step = 0, samples = 0;
        for (const Batch& batch : loader) {
          const std::vector<std::uint64_t> rows = provenance(batch);
          expect_finished(batch, rows, epoch);
          expect_finished(loader.batch(epoch, step++), rows, epoch);
          samples += batch.rows();
        }
        EXPECT_EQ(samples, 90u);
      }
    }
}

TEST(Finisher, TakeFinishesTheRowsOfASelectionByTheirOwnNumbers) {
  const Dataset some = finished(rows_of(90)).select(std::vector<std::uint64_t>{2, 3, 50, 70, 89});
  const std::vector<std::uint64_t> places{4, 0, 3, 3};
  expect_finished(some.take(places), std::vector<std::uint64_t>{89, 2, 70, 70}, 0);
  Loader loader(some, {.batch = Samples{5}});
  expect_finished(*loader.begin(), std::vector<std::uint64_t>{2, 3, 50, 70, 89}, 0);
}

TEST(Finisher, MappedSamplesAtAnyThreadsAndBudgetAreTheSame) {
  EXPECT_TRUE(rc::check([] {
    const Events events(
        heavy_tailed(*rc::gen::inRange<std::size_t>(1, 120), *rc::gen::inRange<std::uint64_t>(0, 1000)));
    Noise::Settings settings;
    settings.finishing = {*rc::gen::inRange<std::uint32_t>(0, 5), *rc::gen::arbitrary<bool>()};
    const Dataset data = finished(*events.data, settings);
    LoaderOptions options{
        .batch = Samples{*rc::gen::inRange<std::uint64_t>(1, 20)}, .order = BlockShuffle{}, .threads = 2};
    options.order = BlockShuffle{*rc::gen::element(ShuffleShape{}, ShuffleShape{2, 2, 0}, ShuffleShape{8, 1, 0})};
    Loader easy(data, options);
    std::vector<Copy> want;
    std::vector<std::string> states{easy.state()};
    for (int epoch = 0; epoch < 2; ++epoch)
      for (const Batch& batch : easy) {
        want.push_back(copy_of(batch));
        states.push_back(easy.state());
      }
    options.threads = *rc::gen::inRange<std::uint32_t>(1, 4);
    options.memory = smallest_budget(data, options) * *rc::gen::inRange<std::uint64_t>(100, 200) / 100;
    Loader hard(data, options);
    const std::size_t per_epoch = want.size() / 2, from = *rc::gen::inRange<std::size_t>(0, per_epoch);
    hard.load_state(states[from]);
    std::size_t at = from;
    for (const Batch& batch : hard) {
      RC_ASSERT(copy_of(batch) == want[at]);
      RC_ASSERT(copy_of(hard.batch(1, at - from)) == want[per_epoch + at - from]);
      ++at;
    }
    RC_ASSERT(at == per_epoch);
  }));
}

TEST(Finisher, AStateIsOfItsFinisherToo) {
  const LoaderOptions options{.batch = Samples{7}, .order = BlockShuffle{}, .threads = 1};
  Loader loader(finished(rows_of(90)), options);
  (void)*loader.begin();
  Noise::Settings louder;
  louder.name = "noise, louder";
  Loader same(finished(rows_of(90)), options), other(finished(rows_of(90), louder), options),
      none(rows_of(90), options);
  same.load_state(loader.state());
  for (Loader* wrong : {&other, &none}) EXPECT_THROW(wrong->load_state(loader.state()), Error);
}

TEST(Finisher, ItsErrorsAreRaisedAtTheBatchAndCostNothingElse) {
  for (const bool throws : {false, true})
    for (const std::uint32_t threads : {1u, 3u}) {
      Noise::Settings settings;
      settings.bad_sample = 45;
      settings.throws = throws;
      const Dataset data = finished(rows_of(90), settings);
      Loader loader(data, {.batch = Samples{10}, .threads = threads});
      std::uint64_t before = 0;
      try {
        for (const Batch& batch : loader) before += batch.rows();
        ADD_FAILURE() << "nothing was raised";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), throws ? ErrorCode::kInternal : ErrorCode::kInvalidArgument) << error.what();
      }
      EXPECT_EQ(before, 40u);
      expect_finished(data.take(std::vector<std::uint64_t>{44, 46}), std::vector<std::uint64_t>{44, 46}, 0);
      EXPECT_THROW((void)data.take(std::vector<std::uint64_t>{45}), Error);
      EXPECT_THROW((void)loader.batch(0, 4), Error);
    }
}

TEST(Finisher, TheFirstSampleThatFailsIsToldForAnyThreadsAndItsBatchIsNotFinished) {
  for (const std::uint32_t threads : {1u, 3u}) {
    auto kernel = std::make_shared<Custom>();
    kernel->tasks = {1, true};
    std::atomic<int> whole{0}, samples{0};
    kernel->sample = [&](const FilledBatch& batch, std::uint32_t i) -> Status {
      if (batch.epoch > 0) return {};  // what was begun ahead
      ++samples;
      if (i == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));  // others fail before
      if (i == 7) throw std::runtime_error("sample 7");
      return i == 0 || i == 5 ? Status(Error(ErrorCode::kInvalidArgument, "sample " + std::to_string(i))) : Status();
    };
    kernel->whole = [&](const FilledBatch& batch) {
      whole += batch.epoch == 0;
      return Status();
    };
    Loader loader(with_finisher(fake_dataset({10}, {{3, 8}}), kernel), {.batch = Samples{10}, .threads = threads});
    EXPECT_NE(std::string(error_of(loader).what()).find("sample 0"), std::string::npos);
    loader.close();
    EXPECT_EQ(whole, 0);
    EXPECT_EQ(samples, 10);
  }
}

TEST(Finisher, WhatAKernelThrowsNamesItAndTheSampleOnEveryPath) {
  auto kernel = std::make_shared<Custom>();
  kernel->sample = [](const FilledBatch& batch, std::uint32_t i) -> Status {
    if (batch.sample_number(i) == 25) throw std::runtime_error("boom");
    return {};
  };
  const Dataset data = with_finisher(fake_dataset({20, 20}, {{3, 8}}), kernel);
  Loader loader(data, {.batch = Samples{10}, .threads = 1});
  std::vector<std::string> told{error_of(loader).what()};
  for (const auto& work : std::vector<std::function<void()>>{
           [&] { (void)loader.batch(0, 2); }, [&] { (void)data.take(std::vector<std::uint64_t>{25}); }}) {
    try {
      work();
      ADD_FAILURE() << "nothing was raised";
    } catch (const Error& error) {
      told.emplace_back(error.what());
    }
  }
  for (const std::string& text : told) EXPECT_EQ(text, "unexpected, in 'custom' of sample 25: boom");
}

TEST(Finisher, AnyNumberOfSamplesMayBeOneTask) {
  for (const std::uint32_t together : {1u, 9u, 10u, 11u, ~std::uint32_t{0}}) {
    auto kernel = std::make_shared<Custom>();
    kernel->tasks.samples_per_task = together;
    std::atomic<int> samples{0};
    kernel->sample = [&](const FilledBatch& batch, std::uint32_t) {
      samples += batch.epoch == 0;
      return Status();
    };
    Loader loader(with_finisher(fake_dataset({30}, {{3, 8}}), kernel), {.batch = Samples{10}, .threads = 2});
    for (const Batch& batch : loader) (void)batch;
    EXPECT_EQ(samples, 30) << together;
  }
}

TEST(Finisher, TheOldestBatchComesFirstWhateverItWaitsFor) {
  auto faults = std::make_shared<FakeFaults>();
  auto kernel = std::make_shared<Custom>();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> seen;  // sample, decodes before it was finished
  kernel->sample = [&](const FilledBatch& batch, std::uint32_t i) {
    if (batch.epoch == 0) seen.emplace_back(batch.sample_number(i), faults->decodes);
    return Status();
  };
  // The first batch needs two blocks; the others only the first of them, and are whole before it is.
  const Dataset data = with_finisher(fake_dataset({6000}, {{4096, 64}}, faults), kernel);
  const Listed listed{{0, 1, 64 * 20, 64 * 20 + 1, 2, 3, 4, 5, 6, 7, 8, 9}, true};
  Loader loader(data, {.batch = Samples{4}, .order = listed, .cache = {CacheChoice::kNone, {}}, .threads = 1});
  for (const Batch& batch : loader) (void)batch;
  ASSERT_EQ(seen.size(), 12u);
  for (const auto& [sample, decodes] : seen) EXPECT_EQ(decodes, seen[0].second) << sample;
  EXPECT_EQ(seen[0].first, 0u);
}

TEST(Finisher, ALabelIsWhatIsStored) {
  const Dataset data = finished(fake_dataset({50}, {{3, 8}, {1, 8}}));
  Loader loader(data, {.batch = Samples{10}, .order = Balanced{"a1", 0}, .threads = 1});
  EXPECT_EQ((*loader.begin()).rows(), 10u);
}

TEST(Finisher, VerbsThatWouldMoveFieldsAreRefused) {
  const Dataset data = finished(rows_of(90)), plain = rows_of(90);
  EXPECT_THROW((void)data.choose(std::vector<std::string>{"a1"}), Error);
  EXPECT_THROW((void)mix({{"one", data, 1}, {"two", plain, 1}}), Error);
}

TEST(MappedSamples, MemoryThatIsShortIsAnErrorOfTheBatch) {
  const Events events(heavy_tailed(100, 3));
  Loader loader(*events.data, {.batch = Samples{10}, .threads = 2});
  events.faults->no_memory = true;
  EXPECT_THROW(
      {
        for (const Batch& batch : loader) (void)batch;
      },
      Error);
}

TEST(TakeRows, MemoryThatIsShortIsAnErrorOnAnyThread) {
  auto faults = std::make_shared<FakeFaults>();
  const Dataset data = fake_dataset({6000}, {{4096, 64}}, faults);
  std::vector<std::uint64_t> large, spread;
  for (std::uint64_t i = 0; i < 4200; ++i) large.push_back(i % 40);  // one block; as much as is read by another thread
  for (std::uint64_t i = 0; i < 6000; i += 50) spread.push_back(i);  // many: several threads
  faults->no_memory = true;
  const auto go_on = [] { return true; };
  for (const auto& rows : {large, spread}) {
    EXPECT_THROW((void)data.take(rows), Error);
    EXPECT_THROW((void)data.take(rows, go_on), Error);
  }
  faults->no_memory = false;
  EXPECT_EQ(data.take(large, go_on)["a0"].as<std::uint32_t>()[1], fake_value(0, 0, 1));
}

TEST(TakeRows, IsGivenUpWhenAskedTo) {
  auto faults = std::make_shared<FakeFaults>();
  faults->delay = std::chrono::milliseconds(10);
  const Dataset data = fake_dataset({6000}, {{4096, 64}}, faults);
  EXPECT_THROW((void)data.slice(0, 6000, [] { return false; }), Error);
  EXPECT_THROW((void)data.slice(0, 6000, []() -> bool { throw std::runtime_error("the caller's own"); }),
               std::runtime_error);
  EXPECT_LT(faults->decodes, 94u);  // of the blocks there are, twice
}

}  // namespace
}  // namespace headrace
