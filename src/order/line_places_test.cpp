#include "order/line_places.h"

#include <gtest/gtest.h>

#include <numeric>

namespace headrace {
namespace {

/// Return, for files of one size, the variance of how many of `streams` lie in each, in units of what it would be for
/// random ones.
double effect_of_files(const std::vector<std::uint32_t>& places, const std::vector<std::uint32_t>& streams,
                       std::uint64_t files) {
  std::vector<double> lie_in(files);
  for (const std::uint32_t v : streams) ++lie_in[places[v] * files / places.size()];
  const double share = 1 / static_cast<double>(files), mean = static_cast<double>(streams.size()) * share;
  double squares = 0;
  for (const double n : lie_in) squares += (n - mean) * (n - mean);
  return squares / static_cast<double>(files) / (mean * (1 - share));
}

/// The mean over stretches of 1 / `parts` of the streams, as `order` has them.
double mean_effect(const std::vector<std::uint32_t>& places, const std::vector<std::uint32_t>& order,
                   std::uint64_t parts, std::uint64_t files) {
  double sum = 0;
  for (std::uint64_t p = 0; p < parts; ++p) {
    const auto begin = order.begin() + static_cast<std::ptrdiff_t>(order.size() * p / parts);
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(order.size() * (p + 1) / parts);
    sum += effect_of_files(places, {begin, end}, files);
  }
  return sum / static_cast<double>(parts);
}

TEST(LinePlaces, PartsOfABatchAndOfTheRanksLieInAllFiles) {
  for (const std::uint32_t streams : {64u, 96u, 192u, 256u, 384u, 512u, 768u, 1024u, 1536u, 6144u}) {
    const StreamShares shares(streams, streams);
    const std::vector<std::uint32_t> places = line_places(shares.phases());
    std::vector<std::uint32_t> by_number(streams), by_phase(streams);
    std::iota(by_number.begin(), by_number.end(), 0);
    for (std::uint32_t v = 0; v < streams; ++v) by_phase[shares.phase(v)] = v;
    for (const std::uint64_t parts : {1, 2, 3, 4, 6, 7, 8})
      for (const std::uint64_t files : {2, 3, 4, 10}) {
        EXPECT_LT(mean_effect(places, by_phase, parts, files), 1) << streams << "/" << parts << " of " << files;
        EXPECT_LT(mean_effect(places, by_number, parts, files), 1) << streams << "/" << parts << " of " << files;
      }
  }
}

TEST(LinePlaces, EveryStreamHasAPlace) {
  for (const std::uint32_t streams : {1u, 2u, 3u, 5u, 12u, 35u, 48u, 1000u, 4096u}) {
    const StreamShares shares(streams, streams);
    std::vector<std::uint32_t> places = line_places(shares.phases());
    std::ranges::sort(places);
    for (std::uint32_t p = 0; p < streams; ++p) ASSERT_EQ(places[p], p) << streams;
  }
}

}  // namespace
}  // namespace headrace
