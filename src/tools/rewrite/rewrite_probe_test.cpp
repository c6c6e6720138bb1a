#include "tools/rewrite/rewrite_probe.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

RewriteForecast forecast(double source, double codec) {
  RewriteForecast f;
  f.source_decode_bytes_per_s = source, f.source_ratio = 2;
  f.codecs.push_back({"lz4", {}, 2, 1e9, codec});
  return f;
}

TEST(RewriteForecast, AGainWithinTheNoiseIsNone) {
  EXPECT_EQ(forecast(1.0e9, 1.1e9).faster(), 1);
  EXPECT_EQ(forecast(1.1e9, 1.0e9).faster(), 1);
  EXPECT_FALSE(forecast(1.0e9, 1.1e9).pays());
  EXPECT_EQ(forecast(1.0e9, 3.0e9).faster(), 3);
  EXPECT_TRUE(forecast(1.0e9, 3.0e9).pays());
  EXPECT_EQ(forecast(2.0e9, 1.0e9).faster(), 0.5);
  EXPECT_FALSE(forecast(2.0e9, 1.0e9).pays());
}

TEST(RewriteForecast, WhatWasNotMeasuredOrDoesNotChangeIsNoGain) {
  EXPECT_EQ(forecast(0, 3.0e9).faster(), 1);
  RewriteForecast same = forecast(1.0e9, 7.6e9);
  same.stored_so = true;
  EXPECT_EQ(same.faster(), 1);
  EXPECT_FALSE(same.pays());
}

}  // namespace
}  // namespace headrace
