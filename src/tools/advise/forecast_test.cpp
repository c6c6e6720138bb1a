#include "tools/advise/forecast.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

/// 1,000 rows/s by one thread and 1,800 by two, of which 70 % decoding, 10 % reading, 20 % scattering; 100 bytes a row.
Probe a_probe() {
  Probe p;
  p.one = {1, 1000, 0.1, 0.7, 0.2, 1, 100};
  p.many = {2, 1800, 0.1, 0.7, 0.2, 1, 100};
  p.gather_one_rows_per_s = 12000, p.gather_rows_per_s = 20000;
  p.stored_bytes_a_row = 100;
  p.reads.cold_bytes_per_s = 1e9;
  p.reads.warm_bytes_per_s = 1e9;
  return p;
}
DataFacts some_facts() {
  DataFacts f;
  f.rows = f.epoch_samples = 10000;
  f.sample_bytes = 400;
  f.decoded_bytes = 4'000'000;
  f.stored_bytes = 1'000'000;
  return f;
}
RecodeProbe a_recoding() {
  return {"x", 1 << 20, {{"as stored", 4, 1e9}, {"LZ4 + byte shuffle", 2, 10e9}, {"zstd-1 + byte shuffle", 4, 5e9}}};
}

TEST(Forecast, ThreadsBetweenAndBeyondWhatWasMeasured) {
  Probe p = a_probe();
  p.many = {4, 3400, 0.1, 0.7, 0.2, 1, 100};
  EXPECT_DOUBLE_EQ(p.rows_per_s(1), 1000);
  EXPECT_DOUBLE_EQ(p.rows_per_s(2), 1800);
  EXPECT_DOUBLE_EQ(p.rows_per_s(4), 3400);
  EXPECT_DOUBLE_EQ(p.rows_per_s(64), 3400);
}

TEST(Forecast, DecodingAllFirstMustPayInTheEpochsThereAre) {
  CacheAdvice ram;
  ram.kind = CacheAdvice::Kind::kAllInMemory, ram.kept_share = 1, ram.later = 1e5;
  ram.keep_seconds_a_row = 1e-2, ram.hit_seconds_a_row = 1e-5;  // to keep a row takes as long as ten decodings
  EXPECT_NE(over_epochs(ram, 1, 1000, 1000, 3).kind, CacheAdvice::Kind::kAllInMemory);
  EXPECT_NE(over_epochs(ram, 1, 1000, 1000, 3).reason.find("3 epochs"), std::string::npos);
  EXPECT_EQ(over_epochs(ram, 1, 1000, 1000, 1000).kind, CacheAdvice::Kind::kAllInMemory);
  ram.keep_seconds_a_row = 0;
  EXPECT_EQ(over_epochs(ram, 1, 1000, 1000, 3).kind, CacheAdvice::Kind::kAllInMemory);
}

/// Other threads read ahead of decoding: the slower of the two counts, not their sum.
TEST(Forecast, ReadsOfFilesThatAnswerLateAreBesideDecoding) {
  Probe p = a_probe();
  p.reads.seconds_a_read = 5e-3;
  ASSERT_TRUE(p.reads.late());
  const Forecast fed = forecast(p, some_facts(), 1, 2);
  EXPECT_DOUBLE_EQ(fed.cold, fed.warm);
  p.reads.cold_bytes_per_s = 50'000;  // 500 rows a second
  const Forecast starved = forecast(p, some_facts(), 1, 2);
  EXPECT_NEAR(starved.cold, 500, 1e-6);
  EXPECT_EQ(starved.cold_bottleneck, Bottleneck::kReading);
  p.reads.seconds_a_read = 1e-4;
  EXPECT_LT(forecast(p, some_facts(), 1, 2).cold, 0.9 * starved.cold);
}

TEST(Forecast, EachDecodeCostsAgainButRowsAreMovedOnce) {
  const double once = forecast(a_probe(), some_facts(), 1, 2).warm;
  EXPECT_NEAR(once, 1800, 180);
  const double thrice = forecast(a_probe(), some_facts(), 3, 2).warm;
  EXPECT_NEAR(once / thrice, 0.8 * 3 + 0.2, 1e-9);
  EXPECT_EQ(forecast(a_probe(), some_facts(), 3, 2).warm_bottleneck, Bottleneck::kDecodingAgain);
  DataFacts addressable = some_facts();
  addressable.chunked_share = 0;
  EXPECT_DOUBLE_EQ(forecast(a_probe(), addressable, 3, 2).warm, once);
}

TEST(Forecast, ASlowDiskShowsInTheColdRateOnly) {
  Probe p = a_probe();
  p.reads.cold_bytes_per_s = 50'000;  // 500 rows/s
  const Forecast f = forecast(p, some_facts(), 1, 2);
  EXPECT_DOUBLE_EQ(f.cold_read_limit, 500);
  EXPECT_LT(f.cold, 500);
  EXPECT_EQ(f.cold_bottleneck, Bottleneck::kReading);
  EXPECT_EQ(f.warm_bottleneck, Bottleneck::kDecoding);
  EXPECT_DOUBLE_EQ(f.warm, forecast(a_probe(), some_facts(), 1, 2).warm);
}

TEST(Forecast, TheCacheThatFitsIsChosen) {
  const Probe p = a_probe();
  const DataFacts facts = some_facts();
  const Forecast f = forecast(p, facts, 1, 2);
  CodingProbe coding{10, 8e6, {{BlockCoding::kLz4, 0.5, 4e6, 4e5}}};
  const auto choose = [&](std::uint64_t room, std::uint64_t page_cache) {
    return choose_cache(p, &coding, facts, f, 2, {room, room, page_cache});
  };
  EXPECT_EQ(choose(4'000'000, 8'000'000).kind, CacheAdvice::Kind::kAllInMemory);
  const CacheAdvice recoded = choose(2'300'000, 8'000'000);
  EXPECT_EQ(recoded.kind, CacheAdvice::Kind::kRecoded) << "half the size, and some";
  EXPECT_GT(recoded.keep_seconds_a_row, 0);
  coding.trials[0].decode_ns = 8e6;
  EXPECT_NE(choose(2'300'000, 8'000'000).kind, CacheAdvice::Kind::kRecoded) << "no faster than the files";
  coding.trials[0].decode_ns = 4e5;
  EXPECT_EQ(choose(500'000, 8'000'000).kind, CacheAdvice::Kind::kDirectory);
  for (const std::uint64_t room : {4'000'000, 2'300'000, 500'000}) {
    const CacheAdvice c = choose(room, 8'000'000);
    EXPECT_GT(c.later, f.warm);
    EXPECT_FALSE(c.reason.empty());
  }
}

TEST(Forecast, EpochsConvergeAsTheCacheFills) {
  CacheAdvice cache{CacheAdvice::Kind::kRecoded, 1, 0.5, 5000, 0.0004, 0.0002, ""};
  const std::vector<double> some = forecast_epochs(cache, 1000, 10000, 10);
  EXPECT_NEAR(some[0], 11.2, 0.2);  // 10 s of decoding, and a little for keeping
  EXPECT_NEAR(some[9], 2, 1e-6);
  cache.kind = CacheAdvice::Kind::kAllInMemory;  // asked for: at once
  const std::vector<double> ram = forecast_epochs(cache, 1000, 10000, 10);
  EXPECT_NEAR(ram[0], 14, 1e-6);
  EXPECT_NEAR(ram[1], 2, 1e-6);
  cache.kind = CacheAdvice::Kind::kNone;
  for (const double seconds : forecast_epochs(cache, 1000, 10000, 3)) EXPECT_NEAR(seconds, 10, 1e-6);
}

TEST(Forecast, NoCacheWhereRowsComeAsFastFromTheFiles) {
  Probe p = a_probe();
  p.gather_one_rows_per_s = p.gather_rows_per_s = 1900;
  const DataFacts facts = some_facts();
  const Forecast f = forecast(p, facts, 1, 2);
  EXPECT_EQ(choose_cache(p, nullptr, facts, f, 2, {8'000'000, 8'000'000, 8'000'000}).kind, CacheAdvice::Kind::kNone);
}

TEST(Forecast, AFasterCodecGainsOnTheDecodingAlone) {
  const auto rate = [](std::size_t i) { return recoded_forecast(a_probe(), a_recoding(), i, some_facts(), 1, 2); };
  EXPECT_DOUBLE_EQ(rate(0).warm, forecast(a_probe(), some_facts(), 1, 2).warm);
  // LZ4 decodes ten times as fast, and twice the bytes are read.
  EXPECT_NEAR(rate(1).warm / rate(0).warm, 1 / (0.2 + 0.2 + 0.07), 1e-9);
}

TEST(Forecast, CompressingWhatIsNotCompressedCostsDecodingAndSavesReading) {
  Probe p = a_probe();
  p.one = {1, 1000, 0.7, 0, 0.3, 1, 100}, p.many = {2, 1800, 0.7, 0, 0.3, 1, 100};
  p.stored_bytes_a_row = 400;
  p.reads.cold_bytes_per_s = 40'000;  // 100 rows/s
  const RecodeProbe recode{"x", 400, {{"as stored", 1, 1e13}, {"zstd-1 + byte shuffle", 10, 4e6}}};
  const Forecast now = forecast(p, some_facts(), 1, 2), then = recoded_forecast(p, recode, 1, some_facts(), 1, 2);
  EXPECT_GT(then.cold, 4 * now.cold);
  EXPECT_NEAR(then.decode_limit, 4e6 / 400 * 1.8, 1e-6);
}

}  // namespace
}  // namespace headrace
