#include "dataset/facts/stats_store.h"

#include <bit>

#include "base/packed.h"

namespace headrace {

std::optional<std::vector<FeatureMoments>> StatsStore::find(const std::string& key) const {
  const std::optional<std::string> kept = facts_.find(key);
  if (!kept) return std::nullopt;
  PackedReader in(*kept);
  std::vector<FeatureMoments> moments(in.count());
  for (FeatureMoments& m : moments) {
    for (std::uint64_t* number : {&m.count, &m.nans, &m.infinities}) *number = in.number();
    for (double* value : {&m.mean, &m.mean_rest, &m.squares, &m.least, &m.largest})
      *value = std::bit_cast<double>(in.number());
  }
  if (!in.complete()) return std::nullopt;
  return moments;
}

void StatsStore::keep(const std::string& key, const std::vector<FeatureMoments>& moments) const {
  PackedWriter out;
  out.number(moments.size());
  for (const FeatureMoments& m : moments) {
    for (const std::uint64_t n : {m.count, m.nans, m.infinities}) out.number(n);
    for (const double v : {m.mean, m.mean_rest, m.squares, m.least, m.largest})
      out.number(std::bit_cast<std::uint64_t>(v));
  }
  facts_.keep(key, out.take());
}

}  // namespace headrace
