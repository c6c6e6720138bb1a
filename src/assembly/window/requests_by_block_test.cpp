#include "assembly/window/requests_by_block.h"

#include <gtest/gtest.h>

#include <set>

namespace headrace {
namespace {

TEST(RequestsByBlock, GroupsEverySampleOnceByBlockAndPosition) {
  std::vector<SampleRef> samples;
  for (std::uint32_t i = 0; i < 500; ++i) samples.push_back({(i * 7919) % 13, (i * 31) % 40});
  const RequestsByBlock wanted(samples);
  std::set<std::uint32_t> positions;
  std::uint32_t last_block = 0;
  std::size_t end = 0;
  for (const RequestsByBlock::Block& block : wanted.blocks) {
    EXPECT_EQ(block.begin, end);
    EXPECT_TRUE(end == 0 || block.unit > last_block) << "each block once, in ascending order";
    last_block = block.unit;
    end = block.end;
    std::uint32_t last_position = 0;
    for (const Request& r : wanted.of(block)) {
      EXPECT_EQ(samples[r.position], (SampleRef{block.unit, r.item}));
      EXPECT_TRUE(positions.insert(r.position).second);
      EXPECT_GE(r.position, last_position);
      last_position = r.position;
    }
  }
  EXPECT_EQ(end, samples.size());
  EXPECT_EQ(positions.size(), samples.size());
  EXPECT_EQ(wanted.blocks.size(), 13u);
}

TEST(RequestsByBlock, OfNothingIsEmpty) {
  const RequestsByBlock wanted({});
  EXPECT_TRUE(wanted.blocks.empty() && wanted.requests.empty());
}

}  // namespace
}  // namespace headrace
