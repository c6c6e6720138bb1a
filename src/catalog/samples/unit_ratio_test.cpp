#include "catalog/samples/unit_ratio.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(UnitRatio, LengthsAndTimesAreCompared) {
  EXPECT_EQ(unit_ratio("micrometer", "nanometer"), 1000);  // exact
  EXPECT_DOUBLE_EQ(*unit_ratio("nanometer", "micrometer"), 0.001);
  EXPECT_DOUBLE_EQ(*unit_ratio("angstrom", "nanometer"), 0.1);
  EXPECT_DOUBLE_EQ(*unit_ratio("meter", "millimeter"), 1000);
  EXPECT_DOUBLE_EQ(*unit_ratio("yard", "foot"), 3);
  EXPECT_DOUBLE_EQ(*unit_ratio("\u00b5m", "nm"), 1000);
  EXPECT_DOUBLE_EQ(*unit_ratio("petameter", "picometer"), 1e27);
  EXPECT_DOUBLE_EQ(*unit_ratio("picometer", "parsec"), 1e-12 / 3.0856775814913673e16);
  EXPECT_DOUBLE_EQ(*unit_ratio("minute", "millisecond"), 60000);
}

TEST(UnitRatio, OthersAreEqualOnlyByTheirText) {
  EXPECT_EQ(unit_ratio("pixel", "pixel"), 1);
  EXPECT_EQ(unit_ratio("", ""), 1);
  for (const char* other : {"", "pixel", "Nanometer", "nanometers", "nano", "meternano", "second", "nanosecond"}) {
    EXPECT_FALSE(unit_ratio("nanometer", other)) << other;
    EXPECT_FALSE(unit_ratio(other, "nanometer")) << other;
  }
}

}  // namespace
}  // namespace headrace
