#include "order/stream_shares.h"

namespace headrace {

std::vector<std::uint32_t> stream_radices(std::uint32_t streams) {
  std::vector<std::uint32_t> radices;
  for (std::uint32_t factor = 2; streams > 1; ++factor)
    for (; streams % factor == 0; streams /= factor) radices.push_back(factor);
  return radices;
}

std::vector<std::uint32_t> digit_reversal(const std::vector<std::uint32_t>& radices) {
  std::uint32_t streams = 1;
  for (std::uint32_t r : radices) streams *= r;
  std::vector<std::uint32_t> phase(streams);
  for (std::uint32_t v = 0; v < streams; ++v) {
    std::uint32_t rest = v, reversed = 0;
    for (std::size_t i = radices.size(); i-- > 0; rest /= radices[i])
      reversed = reversed * radices[i] + rest % radices[i];
    phase[v] = reversed;
  }
  return phase;
}

StreamsOfStep::StreamsOfStep(const StreamShares& shares)
    : shares_(&shares), stream_of_phase_(shares.streams()), gives_(shares.streams() / 64 + 1) {
  for (std::uint32_t v = 0; v < shares.streams(); ++v) stream_of_phase_[shares.phase(v)] = v;
}

}  // namespace headrace
