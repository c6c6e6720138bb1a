// Fields that lie in files beside the data set's own, in whole epochs.
#include <gtest/gtest.h>
#include <headrace/loader.h>

#include "dataset/testing/companion_files.h"

namespace headrace {
namespace {

class CompanionFilesEpochs : public testing::CompanionFilesTest {};

TEST_F(CompanionFilesEpochs, EachRowComesOnceWithWhatLiesBesideIt) {
  const Dataset data = open_all();
  for (const auto mode : {CacheChoice::kNone, CacheChoice::kRam}) {
    LoaderOptions options;
    options.batch = Samples{30};
    options.order = ExactShuffle{};
    options.provenance = true;
    options.cache.mode = mode;
    Loader loader(data, options);
    for (int epoch = 0; epoch < 2; ++epoch) {
      std::uint64_t delivered = 0;
      for (const Batch& batch : loader) {
        const auto from = batch["_rows"].as<std::int64_t>();  // file and row of each sample
        std::vector<std::uint64_t> numbers;
        for (std::size_t i = 0; i < batch.rows(); ++i)
          numbers.push_back(static_cast<std::uint64_t>(from[2 * i]) * kRowsAFile +
                            static_cast<std::uint64_t>(from[2 * i + 1]));
        check(batch, numbers);
        delivered += batch.rows();
      }
      EXPECT_EQ(delivered, data.size());
    }
  }
}

}  // namespace
}  // namespace headrace
