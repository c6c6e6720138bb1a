#include "assembly/window/request_list.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <vector>

namespace headrace {
namespace {

std::vector<Request> read(const RequestList& list, RequestList::ItemBits bits) {
  std::vector<Request> out(list.size());
  list.write(out, bits);
  return out;
}

TEST(RequestList, BitsHoldTheItemsBelowAnEnd) {
  EXPECT_EQ(RequestList::item_bits(0), 1u);
  EXPECT_EQ(RequestList::item_bits(2), 1u);
  EXPECT_EQ(RequestList::item_bits(3), 2u);
  EXPECT_EQ(RequestList::item_bits(65536), 16u);
  EXPECT_EQ(RequestList::item_bits(65537), 17u);
  EXPECT_EQ(RequestList::item_bits(std::uint64_t{1} << 31), 31u);
  EXPECT_EQ(RequestList::item_bits((std::uint64_t{1} << 31) + 1), 0u);  // nothing is left for positions
  EXPECT_TRUE(RequestList::are_packed(16, 65536));
  EXPECT_FALSE(RequestList::are_packed(16, 65537));
  EXPECT_FALSE(RequestList::are_packed(0, 1));
}

TEST(RequestList, GivesBackWhatWasAddedWhateverFits) {
  EXPECT_TRUE(rc::check([] {
    const std::uint64_t items = std::uint64_t{1} << *rc::gen::inRange(0, 33);
    const RequestList::ItemBits bits = *rc::gen::arbitrary<bool>() ? RequestList::item_bits(items) : 0;
    const std::uint32_t far = *rc::gen::inRange(0, 33) == 0 ? ~std::uint32_t{0} : 1u << *rc::gen::inRange(0, 32);
    RequestList list, other;
    for (int round = 0; round < 2; ++round) {
      std::vector<Request> want;
      for (int n = *rc::gen::inRange(0, 20); n > 0; --n) {
        const auto item = static_cast<std::uint32_t>(*rc::gen::inRange<std::uint64_t>(0, items));
        want.push_back({item, *rc::gen::inRange<std::uint32_t>(0, far)});
      }
      for (const Request& r : want) list.add(r, bits);
      RC_ASSERT(list.size() == want.size());
      RC_ASSERT(list.empty() == want.empty());
      list.swap(other);
      RC_ASSERT(list.empty());
      const std::vector<Request> got = read(other, bits);
      for (std::size_t i = 0; i < want.size(); ++i)
        RC_ASSERT(got[i].item == want[i].item && got[i].position == want[i].position);
      other.clear();
    }
  }));
}

}  // namespace
}  // namespace headrace
