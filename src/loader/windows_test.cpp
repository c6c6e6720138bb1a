// Windows of files through a loader, as C++ users make them.
#include <headrace/windows.h>

#include <gtest/gtest.h>
#include <headrace/loader.h>
#include <headrace/split.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "format/testing/npy_files.h"

namespace headrace {
namespace {

constexpr std::uint64_t kRows = 1000;  // of each of two files; tokens count on from file to file

class Windows : public ::testing::Test {
 protected:
  Windows() {
    for (int i = 0; i < 2; ++i)
      testing::write_npy<std::int64_t>(folder_.path("corpus_" + std::to_string(i) + ".npy"), kRows, i * 1000);
  }
  [[nodiscard]] Dataset tokens() const { return open({folder_.path("corpus_*.npy")}); }

  const TemporaryFolder folder_;
};

/// The first token of each window of a batch, each of which counts on from it.
std::vector<std::int64_t> firsts(const Batch& batch, std::uint64_t rows) {
  const auto values = batch["corpus"].as<std::int64_t>();
  std::vector<std::int64_t> first;
  for (std::uint64_t i = 0; i < batch.rows(); ++i) {
    first.push_back(values[i * rows]);
    for (std::uint64_t k = 0; k < rows; ++k)
      EXPECT_EQ(values[i * rows + k], first.back() + static_cast<std::int64_t>(k));
  }
  EXPECT_EQ(values.size(), batch.rows() * rows);
  return first;
}

TEST_F(Windows, ComeOnceAnEpochFromWhateverPart) {
  const Dataset data = windows(tokens(), {.length = 16, .lookahead = 1});
  EXPECT_EQ(data.size(), 2 * 62u);  // 61 x 16 + 17 <= 1000
  EXPECT_EQ(data.fields()[0].dims.text(), "(17,)");
  const std::vector<Dataset> parts = split(data, std::vector{0.8, 0.2}, {.seed = 1});
  std::vector<std::set<std::int64_t>> tokens_of;
  for (const Dataset& part : parts)
    for (const std::uint32_t threads : {1u, 4u}) {
      Loader loader(part, {.batch = Samples{8}, .order = BlockShuffle{}, .threads = threads});
      for (int epoch = 0; epoch < 2; ++epoch) {
        std::vector<std::int64_t> all;
        for (const Batch& batch : loader) std::ranges::copy(firsts(batch, 17), std::back_inserter(all));
        EXPECT_EQ(all.size(), part.size());
        EXPECT_EQ(std::set(all.begin(), all.end()).size(), all.size());
        std::set<std::int64_t>& held = tokens_of.emplace_back();
        for (const std::int64_t first : all) {
          EXPECT_EQ(first % 1000 % 16, 0);
          for (std::int64_t k = 0; k < 17; ++k) held.insert(first + k);
        }
      }
    }
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(tokens_of[i], tokens_of[0]);
  for (const std::int64_t token : tokens_of[4]) EXPECT_FALSE(tokens_of[0].contains(token)) << token;
  EXPECT_GE(parts[0].size() + parts[1].size() + 2, data.size());
}

TEST_F(Windows, GoAcrossFilesWhereTheyMay) {
  const Dataset data = windows(tokens(), {.length = 300, .stride = 100, .across_files = true});
  EXPECT_EQ(data.size(), 18u);
  EXPECT_EQ(data.files()[0].rows, 10u);
  EXPECT_EQ(data.files()[1].rows, 8u);
  const Batch all = data.slice(0, data.size());
  const std::vector<std::int64_t> first = firsts(all, 300);
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i], static_cast<std::int64_t>(i) * 100);
}

TEST_F(Windows, AStateGoesOnAtEveryStep) {
  const Dataset data = windows(tokens(), {.length = 30, .stride = 17});
  const LoaderOptions options{.batch = Samples{11}, .order = BlockShuffle{}, .threads = 2};
  Loader whole(data, options);
  std::vector<std::vector<std::int64_t>> batches;
  std::vector<std::string> states;
  for (const Batch& batch : whole) {
    batches.push_back(firsts(batch, 30));
    states.push_back(whole.state());
  }
  for (std::size_t step = 0; step + 1 < batches.size(); ++step) {
    Loader rest(data, options);
    rest.load_state(states[step]);
    std::size_t at = step + 1;
    for (const Batch& batch : rest) ASSERT_EQ(firsts(batch, 30), batches[at++]);
    EXPECT_EQ(at, batches.size());
  }
}

}  // namespace
}  // namespace headrace
