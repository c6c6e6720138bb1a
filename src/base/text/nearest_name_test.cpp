#include "base/text/nearest_name.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(EditDistance, CountsEdits) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("labels", "label"), 1u);
  EXPECT_EQ(edit_distance("lables", "labels"), 1u) << "two neighbours swapped";
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("Batch-Size", "batch_size"), 0u);
}

TEST(NearestNames, NearestFirst) {
  const std::vector<std::string> have{"adjacency_matrix", "feature_matrix", "labels", "events/features"};
  EXPECT_EQ(nearest_names("feature_matrx", have).front(), "feature_matrix");
  EXPECT_EQ(nearest_names("label", have).front(), "labels");
  EXPECT_EQ(nearest_names("features", have).front(), "events/features")
      << "the last part of a path is what people write";
  EXPECT_EQ(nearest_names("run/featuers", have).front(), "events/features");
  EXPECT_EQ(nearest_names("x", have).size(), have.size());
  EXPECT_TRUE(nearest_names("x", {}).empty());
}

TEST(DidYouMean, OnlyWhatIsNear) {
  const std::vector<std::string> have{"adjacency_matrix", "feature_matrix", "labels"};
  EXPECT_EQ(did_you_mean("lables", have), "labels");
  EXPECT_EQ(did_you_mean("adjacency", have), "adjacency_matrix");
  EXPECT_EQ(did_you_mean("zzz", have), std::nullopt);
  EXPECT_EQ(did_you_mean("", have), std::nullopt);
  EXPECT_EQ(did_you_mean("x", {}), std::nullopt);
}

TEST(ListNames, NamesAFewAndCountsTheRest) {
  const std::vector<std::string> names{"a", "b", "c"};
  EXPECT_EQ(list_names(names), "a, b, c");
  EXPECT_EQ(list_names(names, 2), "a, b and 1 more");
  EXPECT_EQ(list_names({}), "");
}

}  // namespace
}  // namespace headrace
