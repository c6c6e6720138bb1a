#include <headrace/dataset/split.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/keyed_permutation.h"
#include "base/philox.h"
#include "dataset/label.h"
#include "dataset/refuse.h"

namespace headrace {
namespace {

enum KeyUse : std::uint64_t { kRows = 20, kFiles = 21 };
constexpr double kSlack = 1e-9;  // 0.7 + 0.2 + 0.1 is 1
using Parts = std::vector<std::vector<std::uint64_t>>;

void check_shares(std::span<const double> shares) {
  if (shares.empty()) throw refuse("a split into no parts", "Give at least one share.");
  double sum = 0;
  for (const double share : shares) {
    if (!std::isfinite(share) || share <= 0)
      throw refuse(fmt::format("a share of {}", share), "Shares are positive numbers, such as 0.8 and 0.2.");
    sum += share;
  }
  if (sum > 1 + kSlack) throw refuse(fmt::format("the shares add up to {}", sum), "They may add up to 1 at most.");
}

/// The shares, and what is missing to 1.
std::vector<double> with_rest(std::span<const double> shares) {
  std::vector<double> all(shares.begin(), shares.end());
  all.push_back(std::max(0.0, 1 - std::accumulate(all.begin(), all.end(), 0.0)));
  return all;
}

/// Rows of each part, by largest remainders; `owed` carries what was rounded off from one class to the next, so that
/// totals are exact as well.
std::vector<std::uint64_t> apportion(std::uint64_t rows, const std::vector<double>& shares, std::vector<double>& owed) {
  std::vector<std::uint64_t> counts(shares.size());
  std::uint64_t given = 0;
  for (std::size_t p = 0; p < shares.size(); ++p) {
    owed[p] += shares[p] * static_cast<double>(rows);
    counts[p] = std::min(rows - given, static_cast<std::uint64_t>(std::max(0.0, std::floor(owed[p] + kSlack))));
    given += counts[p];
    owed[p] -= static_cast<double>(counts[p]);
  }
  for (; given < rows; ++given) {
    const auto most = static_cast<std::size_t>(std::ranges::max_element(owed) - owed.begin());
    ++counts[most];
    owed[most] -= 1;
  }
  return counts;
}

/// Rows of one class keep their order: the i-th goes to the part in whose range position_of(i) lies.
Parts split_rows(std::uint64_t rows, const Label* label, std::span<const double> shares, std::uint64_t seed) {
  const std::uint32_t num_classes = label ? label->num_classes : 1;
  std::vector<std::uint64_t> sizes(num_classes, 0), seen(num_classes, 0);
  for (std::uint64_t r = 0; r < rows; ++r) ++sizes[label ? label->classes[r] : 0];
  std::vector<KeyedPermutation> places;
  std::vector<std::vector<std::uint64_t>> ends(num_classes);
  const std::vector<double> all = with_rest(shares);
  std::vector<double> owed(all.size(), 0.0);
  for (std::uint32_t c = 0; c < num_classes; ++c) {
    places.emplace_back(std::max<std::uint64_t>(sizes[c], 1), RandomKey::of({seed, kRows, c}));
    const std::vector<std::uint64_t> counts = apportion(sizes[c], all, owed);
    ends[c].resize(shares.size());
    std::partial_sum(counts.begin(), counts.end() - 1, ends[c].begin());
  }
  Parts parts(shares.size());
  for (std::uint64_t r = 0; r < rows; ++r) {
    const std::uint32_t c = label ? label->classes[r] : 0;
    const std::uint64_t place = places[c].position_of(seen[c]++);
    const auto part = std::upper_bound(ends[c].begin(), ends[c].end(), place) - ends[c].begin();
    if (part < std::ssize(parts)) parts[static_cast<std::size_t>(part)].push_back(r);
  }
  return parts;
}

/// The largest files first, equal ones in random order, each to the part that lacks the most rows; the last part, which
/// is left out, lacks what is missing to 1. The last files go to parts that would be empty.
Parts split_files(std::span<const FileEntry> files, std::span<const double> shares, std::uint64_t seed) {
  std::vector<double> wanted = with_rest(shares);
  if (wanted.back() <= kSlack) wanted.pop_back();
  std::uint64_t rows = 0;
  std::vector<std::uint64_t> first;
  for (const FileEntry& f : files) {
    first.push_back(rows);
    rows += f.rows;
  }
  for (double& w : wanted) w *= static_cast<double>(rows);
  std::vector<double> lacks = wanted;
  std::vector<std::vector<std::size_t>> chosen(wanted.size());
  const KeyedPermutation random(std::max<std::size_t>(files.size(), 1), RandomKey::of({seed, kFiles}));
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < files.size(); ++i)
    if (files[random(i)].rows > 0) order.push_back(random(i));
  std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t f) { return files[f].rows; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::size_t empty = 0, best = 0;
    for (std::size_t p = 0; p < shares.size(); ++p) empty += chosen[p].empty();
    const bool only_empty = order.size() - i <= empty;
    const auto may = [&](std::size_t p) { return !only_empty || (p < shares.size() && chosen[p].empty()); };
    while (best + 1 < wanted.size() && !may(best)) ++best;
    for (std::size_t p = best + 1; p < wanted.size(); ++p)
      if (may(p) && lacks[p] > lacks[best]) best = p;
    lacks[best] -= static_cast<double>(files[order[i]].rows);
    chosen[best].push_back(order[i]);
  }
  Parts parts(shares.size());
  for (std::size_t p = 0; p < parts.size(); ++p) {
    std::sort(chosen[p].begin(), chosen[p].end());
    for (const std::size_t f : chosen[p])
      for (std::uint64_t r = 0; r < files[f].rows; ++r) parts[p].push_back(first[f] + r);
  }
  return parts;
}

}  // namespace

std::vector<Dataset> split(const Dataset& data, std::span<const double> shares, const SplitOptions& options) {
  check_shares(shares);
  if (options.by_file && !options.stratify.empty())
    throw refuse("files are kept whole, so classes cannot be shared out", "Leave out stratify, or split by row.");
  Label label;
  if (!options.stratify.empty()) {
    label = read_label(data, options.stratify, options.go_on);
    if (label.classes.empty()) throw without_classes(options.stratify, "stratify");
  }
  const Parts parts = options.by_file
                          ? split_files(data.files(), shares, options.seed)
                          : split_rows(data.size(), options.stratify.empty() ? nullptr : &label, shares, options.seed);
  std::vector<Dataset> out;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (parts[p].empty())
      throw options.by_file
          ? refuse(fmt::format("{} files are too few for part {}, a share of {}", data.files().size(), p, shares[p]),
                   "Split by row, or into fewer parts.")
          : refuse(fmt::format("part {}, a share of {}, of {} rows would be empty", p, shares[p], data.size()),
                   "Raise the share.");
    out.push_back(data.select(parts[p]));
  }
  return out;
}

}  // namespace headrace
