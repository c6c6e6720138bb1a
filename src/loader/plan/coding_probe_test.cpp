#include "loader/plan/coding_probe.h"

#include <gtest/gtest.h>

#include "dataset/dataset_contents.h"
#include "dataset/testing/fake_source.h"

namespace headrace {
namespace {

std::optional<CodingProbe> probe(const Dataset& data) {
  const auto budget = MemoryBudget::process()->child("probe", 64 << 20);
  return probe_codings(*impl_of(data), *budget);
}

TEST(CodingProbe, OfSelectedRowsIsOfTheWholeBlocksThatHoldThem) {
  const Dataset data = testing::fake_dataset({4096, 2048}, {{500, 512}, {1, 512}});  // 1 MB a block
  std::vector<std::uint64_t> one_of_each_block;
  for (std::uint64_t row = 0; row < data.size(); row += 512) one_of_each_block.push_back(row + 7);
  const auto whole = probe(data), selected = probe(data.select(one_of_each_block));
  ASSERT_TRUE(whole && selected);
  EXPECT_EQ(whole->rows, 512u);
  EXPECT_EQ(selected->rows, whole->rows);
  ASSERT_EQ(selected->trials.size(), whole->trials.size());
  for (std::size_t i = 0; i < whole->trials.size(); ++i)  // the blocks are the same, and what becomes of them
    EXPECT_EQ(selected->trials[i].coded_share, whole->trials[i].coded_share);
}

}  // namespace
}  // namespace headrace
