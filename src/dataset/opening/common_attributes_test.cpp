#include "dataset/opening/common_attributes.h"

#include <gtest/gtest.h>

#include <limits>

namespace headrace {
namespace {

Attributes with(std::map<std::string, AttributeValue> values) {
  return {std::move(values), {}};
}

TEST(CommonAttributes, WhatAllFilesSayStays) {
  CommonAttributes common;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const char* path : {"a.nc", "b.nc", "c.nc"}) common.add(with({{"units", "K"}, {"fill", nan}}), path);
  EXPECT_EQ(common.result().values.size(), 2u);
  EXPECT_TRUE(common.result().left_out.empty());
  EXPECT_EQ(common.warning(), "");
}

TEST(CommonAttributes, WhatDiffersIsLeftOutAndSaysBothValues) {
  CommonAttributes common;
  common.add(with({{"history", "monday"}, {"units", "K"}}), "a.nc");
  common.add(with({{"history", "tuesday"}, {"units", "K"}}), "b.nc");
  common.add(with({{"history", "monday"}, {"units", "K"}}), "c.nc");
  EXPECT_EQ(common.result().values, with({{"units", "K"}}).values);
  EXPECT_EQ(common.result().left_out.at("history"), "a.nc has monday, b.nc has tuesday");
  EXPECT_EQ(common.warning(), "");  // no value means another thing for it
}

TEST(CommonAttributes, ADifferenceInWhatValuesMeanIsAWarning) {
  CommonAttributes common;
  common.add(with({{"scale_factor", 0.5}}), "a.nc");
  common.add(with({{"scale_factor", 0.25}}), "b.nc");
  EXPECT_EQ(common.warning(), "scale_factor: a.nc has 0.5, b.nc has 0.25");
}

TEST(CommonAttributes, OneThatALaterFileLacksOrAdds) {
  CommonAttributes common;
  common.add(with({{"add_offset", 1.5}}), "a.nc");
  common.add(with({{"units", "K"}}), "b.nc");
  EXPECT_TRUE(common.result().values.empty());
  EXPECT_EQ(common.result().left_out.at("add_offset"), "a.nc has 1.5, b.nc has nothing");
  EXPECT_EQ(common.result().left_out.at("units"), "b.nc has K, a.nc has nothing");
  EXPECT_EQ(common.warning(), "add_offset: a.nc has 1.5, b.nc has nothing");
}

}  // namespace
}  // namespace headrace
