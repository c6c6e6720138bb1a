// Kernels that finish samples and batches, behind a Loader and a Dataset: every way a batch can come about gives the
// bytes that a plain loop gives.
#include <gtest/gtest.h>
#include <headrace/loader/loader.h>
#include <rapidcheck.h>

#include "assembly/finisher.h"
#include "base/philox.h"
#include "loader/plan_for.h"
#include "loader/testing/mapped_data.h"

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

Dataset finished(const Dataset& data, Noise::Settings settings = {}) {
  auto source = std::make_shared<Source>(*data.impl()->source);
  source->finisher = std::make_shared<Noise>(std::move(settings));
  return Dataset(Dataset::Impl::make(std::move(source)));
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
      Loader loader(data,
                    {.batch_size = 7, .shuffle = true, .provenance = true, .cache = {mode, {}}, .threads = threads});
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
  Loader loader(some, {.batch_size = 5});
  expect_finished(*loader.begin(), std::vector<std::uint64_t>{2, 3, 50, 70, 89}, 0);
}

TEST(Finisher, MappedSamplesAtAnyThreadsAndBudgetAreTheSame) {
  EXPECT_TRUE(rc::check([] {
    const Events events(
        heavy_tailed(*rc::gen::inRange<std::size_t>(1, 120), *rc::gen::inRange<std::uint64_t>(0, 1000)));
    Noise::Settings settings;
    settings.finishing = {*rc::gen::inRange<std::uint32_t>(0, 5), *rc::gen::arbitrary<bool>()};
    const Dataset data = finished(*events.data, settings);
    LoaderOptions options{.batch_size = *rc::gen::inRange<std::uint64_t>(1, 20), .shuffle = true, .threads = 2};
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
  const LoaderOptions options{.batch_size = 7, .shuffle = true, .threads = 1};
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
      Loader loader(data, {.batch_size = 10, .threads = threads});
      std::uint64_t before = 0;
      try {
        for (const Batch& batch : loader) before += batch.rows();
        ADD_FAILURE() << "nothing was raised";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), throws ? ErrorCode::kInternal : ErrorCode::kInvalidArgument) << error.what();
      }
      EXPECT_EQ(before, 40u);
      expect_finished(data.take(std::vector<std::uint64_t>{44, 46}), std::vector<std::uint64_t>{44, 46}, 0);
      EXPECT_ANY_THROW((void)data.take(std::vector<std::uint64_t>{45}));
    }
}

TEST(Finisher, VerbsThatWouldMoveFieldsAreRefused) {
  const Dataset data = finished(rows_of(90)), plain = rows_of(90);
  EXPECT_THROW((void)data.choose(std::vector<std::string>{"a1"}), Error);
  EXPECT_THROW((void)mix({{"one", data, 1}, {"two", plain, 1}}), Error);
}

TEST(MappedSamples, MemoryThatIsShortIsAnErrorOfTheBatch) {
  const Events events(heavy_tailed(100, 3));
  Loader loader(*events.data, {.batch_size = 10, .threads = 2});
  events.faults->no_memory = true;
  EXPECT_THROW(
      {
        for (const Batch& batch : loader) (void)batch;
      },
      Error);
}

}  // namespace
}  // namespace headrace
