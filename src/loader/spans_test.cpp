// Spans of files through a loader, as C++ users make them.
#include <headrace/spans.h>

#include <gtest/gtest.h>
#include <headrace/loader.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "format/testing/npy_files.h"

namespace headrace {
namespace {

/// Two files of 300 values that count on; events of 1 to 24 rows, none of which is as long as the one before.
class SpansOfRows : public ::testing::Test {
 protected:
  SpansOfRows() {
    for (int file = 0; file < 2; ++file) {
      std::vector<std::int64_t> keys, offsets{0};
      for (std::int64_t event = 0; offsets.back() < 300; ++event) {
        const std::int64_t length = std::min<std::int64_t>(1 + event * 7 % 24, 300 - offsets.back());
        keys.insert(keys.end(), static_cast<std::size_t>(length), 1000 * file + event);
        offsets.push_back(offsets.back() + length);
        events_.emplace_back();
        for (std::int64_t row = offsets.end()[-2]; row < offsets.back(); ++row)
          events_.back().push_back(300 * file + row);
      }
      const std::string number = std::to_string(file);
      testing::write_npy<std::int64_t>(folder_.path("value_" + number + ".npy"), 300, 300 * file);
      testing::write_npy(folder_.path("key_" + number + ".npy"), keys);
      testing::write_npy(folder_.path("offsets_" + number + ".npy"), offsets);
    }
  }
  [[nodiscard]] Dataset part(const std::string& name) const { return open({folder_.path(name + "_*.npy")}); }

  const TemporaryFolder folder_;
  std::vector<std::vector<std::int64_t>> events_;
};

std::vector<std::vector<std::int64_t>> samples_of(const Batch& batch) {
  const auto values = batch["value"].as<std::int64_t>();
  const auto offsets = batch.offsets(0);
  std::vector<std::vector<std::int64_t>> samples;
  for (std::size_t i = 0; i < batch.rows(); ++i)
    samples.emplace_back(values.begin() + offsets[i], values.begin() + offsets[i + 1]);
  return samples;
}

TEST_F(SpansOfRows, AreTheSameByKeyAndByOffsets) {
  for (const Dataset& data :
       {spans(part("value"), {.key = part("key")}), spans(part("value"), {.offsets = part("offsets")})}) {
    EXPECT_EQ(data.size(), events_.size());
    EXPECT_EQ(data.fields()[0].dims.text(), "(ragged,)");
    EXPECT_EQ(samples_of(data.slice(0, data.size())), events_);
    Loader loader(open_recipe(data.recipe()), {.batch = Samples{7}, .order = BlockShuffle{}, .threads = 3});
    for (int epoch = 0; epoch < 2; ++epoch) {
      std::vector<std::vector<std::int64_t>> got;
      for (const Batch& batch : loader) std::ranges::copy(samples_of(batch), std::back_inserter(got));
      EXPECT_NE(got, events_);
      std::ranges::sort(got);
      EXPECT_EQ(got, events_);
    }
  }
}

TEST_F(SpansOfRows, AStateGoesOnAtEveryStep) {
  const Dataset data = spans(part("value"), {.key = part("key")});
  const LoaderOptions options{.batch = Samples{5}, .order = BlockShuffle{}, .threads = 2};
  Loader whole(data, options);
  std::vector<std::vector<std::vector<std::int64_t>>> batches;
  std::vector<std::string> states;
  for (const Batch& batch : whole) {
    batches.push_back(samples_of(batch));
    states.push_back(whole.state());
  }
  for (std::size_t step = 0; step + 1 < batches.size(); ++step) {
    Loader rest(data, options);
    rest.load_state(states[step]);
    std::size_t at = step + 1;
    for (const Batch& batch : rest) ASSERT_EQ(samples_of(batch), batches[at++]);
    EXPECT_EQ(at, batches.size());
  }
}

TEST_F(SpansOfRows, BatchesThatAreReadyAreDroppedWhereTheLoaderGoesElsewhere) {
  const Dataset data = spans(part("value"), {.key = part("key")});
  Loader loader(data, {.batch = Samples{4}, .order = BlockShuffle{}, .threads = 2});
  const std::string start = loader.state();
  const std::vector<std::vector<std::int64_t>> first = samples_of(loader.batch(0, 0));
  for (int i = 0; i < 20; ++i) {
    loader.load_state(start);
    Loader::Epoch epoch = loader.epoch();
    EXPECT_EQ(samples_of(*epoch.next()), first);
    EXPECT_TRUE(epoch.wait(std::chrono::seconds(10)));  // the next one is there
  }
}

TEST_F(SpansOfRows, AreRefusedWithThePlaceOfTheFault) {
  const auto refused = [&](const SpanOptions& options, ErrorCode code, const std::string& text) {
    try {
      (void)spans(part("value"), options);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  refused({}, ErrorCode::kInvalidArgument, "one of a key, offsets and a table");
  refused({.key = part("offsets")}, ErrorCode::kInvalidArgument, "rows, the fields have 300");
  refused({.key = part("key"), .targets = part("offsets")}, ErrorCode::kInvalidArgument, "rows for");
  testing::write_npy(folder_.path("offsets_1.npy"), std::vector<std::int64_t>{0, 5, 3, 300});
  refused({.offsets = part("offsets")}, ErrorCode::kCorruptData, "offset 2 is 3, below the 5 before it");
  std::vector<std::int64_t> keys(300, 7);
  keys[20] = 8;
  testing::write_npy(folder_.path("key_1.npy"), keys);
  refused({.key = part("key")}, ErrorCode::kCorruptData, "the key 7 stands at rows 0 to 19 and comes back at rows 21");
}

}  // namespace
}  // namespace headrace
