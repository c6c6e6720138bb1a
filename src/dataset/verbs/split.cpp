#include <headrace/split.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/random/keyed_permutation.h"
#include "base/random/philox.h"
#include "dataset/dataset_contents.h"
#include "dataset/facts/label.h"
#include "dataset/recipe/refuse.h"
#include "dataset/recipe/verb_options.h"
#include "dataset/samples/mapped_samples.h"
#include "dataset/verbs/select_rows.h"

namespace headrace {
namespace {

enum KeyUse : std::uint64_t { kRows = 20, kFiles = 21, kRuns = 22 };
constexpr double kSlack = 1e-9;  // 0.7 + 0.2 + 0.1 is 1
using Parts = std::vector<std::vector<std::uint64_t>>;
using Runs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // first sample and end of each

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

/// The runs of each part, one or, where the circle closes, two.
std::vector<Runs> split_circle(std::uint64_t samples, std::span<const double> shares, std::uint64_t seed) {
  const std::vector<double> all = with_rest(shares);
  std::vector<double> owed(all.size(), 0.0);
  const std::vector<std::uint64_t> counts = apportion(samples, all, owed);
  std::uint64_t first = KeyedRandom(RandomKey::of({seed, kRuns})).below(samples);
  std::vector<Runs> parts(shares.size());
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const std::uint64_t end = first + counts[p];
    if (end > samples && first < samples) {
      parts[p] = {{0, end - samples}, {first, samples}};
    } else if (counts[p] > 0) {
      const std::uint64_t turn = first >= samples ? samples : 0;
      parts[p] = {{first - turn, end - turn}};
    }
    first = end;
  }
  return parts;
}

/// Return where a run of boxes ends, without those from the first on that has elements of boxes of the next part's.
std::uint64_t end_of_boxes(const BoxMap& boxes, std::uint64_t first, std::uint64_t end, std::uint64_t next) {
  const auto ref = [&](std::uint64_t sample) {
    const BlockTable::RowPlace at = boxes.shuffle_blocks()->find(sample);
    return SampleRef{static_cast<std::uint32_t>(at.block), at.row_in_block};
  };
  const BoxPlace limit = boxes.place_of(ref(next), {});
  std::uint64_t kept = end;
  for (std::uint64_t i = end; i-- > first;) {
    const BoxPlace at = boxes.place_of(ref(i), {});
    if (at.volume != limit.volume || at.start[0] + boxes.box()[0] <= limit.start[0]) break;  // and so are all before
    if (boxes.last_meeting(ref(i)) >= boxes.number_of(ref(next))) kept = i;
  }
  return kept;
}

/// Take the samples at a run's end away that have rows of the next part's.
void part_overlapping(const MappedSource& mapped, std::vector<Runs>& parts) {
  const auto rows = [&](std::uint64_t sample) {
    const BlockTable::RowPlace at = mapped.map->shuffle_blocks()->find(sample);
    return *mapped.map->rows_of({static_cast<std::uint32_t>(at.block), at.row_in_block});
  };
  std::vector<std::pair<std::uint64_t, std::size_t>> begins;  // of all runs, and whose they are
  for (std::size_t p = 0; p < parts.size(); ++p)
    for (const auto& run : parts[p]) begins.emplace_back(run.first, p);
  std::ranges::sort(begins);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    for (auto& [first, end] : parts[p]) {
      auto next = std::ranges::lower_bound(begins, std::pair(end, std::size_t{0}));
      while (next != begins.end() && next->second == p) ++next;
      if (next == begins.end()) continue;
      if (mapped.boxes) {
        end = end_of_boxes(*mapped.boxes, first, end, next->first);
        continue;
      }
      const std::uint64_t limit = rows(next->first).first;
      std::uint64_t least = first;  // the first sample that reaches behind the limit is at least this one
      for (std::uint64_t last = end; least < last;) {
        const std::uint64_t middle = least + (last - least) / 2;
        if (rows(middle).end() > limit)
          last = middle;
        else
          least = middle + 1;
      }
      end = least;
    }
    std::erase_if(parts[p], [](const auto& run) { return run.first == run.second; });
  }
}

SplitBy how_to_split(const Dataset& data, const SplitOptions& options) {
  const SampleSource& source = impl_of(data)->source;
  const MappedSource* const mapped = remade(*impl_of(data), "a split");
  refuse_drawn(*impl_of(data), "a split");
  const bool overlaps = mapped && mapped->maker->overlaps();
  const SplitBy by = options.by != SplitBy::kAuto ? options.by : overlaps ? SplitBy::kRun : SplitBy::kRow;
  if (!options.stratify.empty() && by != SplitBy::kRow)
    throw by == SplitBy::kFile
        ? refuse("files are kept whole, so classes cannot be shared out", "Leave out stratify, or split by row.")
        : refuse("runs of samples are kept whole, so classes cannot be shared out", "Leave out stratify.");
  if (by == SplitBy::kRow && overlaps)
    throw refuse(fmt::format("{} overlap: a split by row would put the same rows into several parts", source.what()),
                 "Split by run, or make them with a stride of their whole length.");
  if (by == SplitBy::kFile && mapped && !mapped->maker->follows_files())
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{} go on from file to file, so files cannot be kept apart", source.what()))
        .with_hint("Make them without across_files, or split by run.");
  if (source.mixture())
    throw refuse("a mixture cannot be split: its samples are drawn by weight", "Split its parts, then mix.");
  return by;
}

/// The samples of each part.
std::vector<std::shared_ptr<const RowSet>> parts_of(const Dataset& data, SplitBy by, const Label* label,
                                                    std::span<const double> shares, std::uint64_t seed) {
  std::vector<std::shared_ptr<const RowSet>> sets;
  if (by == SplitBy::kRun) {
    std::vector<Runs> runs = split_circle(data.size(), shares, seed);
    const MappedSource* const mapped = impl_of(data)->source.mapped();
    if (mapped && mapped->maker->overlaps()) part_overlapping(*mapped, runs);
    for (const Runs& part : runs) sets.push_back(std::make_shared<const RowSet>(data.size(), std::span(part)));
    return sets;
  }
  const Parts parts =
      by == SplitBy::kFile ? split_files(data.files(), shares, seed) : split_rows(data.size(), label, shares, seed);
  for (const std::vector<std::uint64_t>& part : parts)
    sets.push_back(std::make_shared<const RowSet>(data.size(), std::span(part)));
  return sets;
}

/// Parts without names go by their numbers.
SplitNode node_of_part(std::span<const double> shares, const SplitOptions& options, std::size_t part,
                       std::shared_ptr<const RowSet> rows) {
  const auto name = [&](std::size_t p) { return options.names.empty() ? fmt::format("{}", p) : options.names[p]; };
  SplitNode node{{}, name(part), options.seed, options.stratify, options.by, std::move(rows)};
  for (std::size_t p = 0; p < shares.size(); ++p) node.parts.emplace_back(name(p), shares[p]);
  return node;
}

}  // namespace

std::vector<Dataset> split(const Dataset& data, std::span<const double> shares, const SplitOptions& options) {
  check_shares(shares);
  if (!options.names.empty() && options.names.size() != shares.size())
    throw refuse(fmt::format("{} names for {} parts", options.names.size(), shares.size()), "Name each part, or none.");
  const SplitBy by = how_to_split(data, options);
  Label label;
  if (!options.stratify.empty()) {
    label = read_label(data, options.stratify, options.go_on);
    if (label.classes.empty()) throw without_classes(options.stratify, "stratify");
  }
  const std::vector<std::shared_ptr<const RowSet>> parts =
      parts_of(data, by, options.stratify.empty() ? nullptr : &label, shares, options.seed);
  std::vector<Dataset> out;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (parts[p]->size() == 0)
      throw by == SplitBy::kFile
          ? refuse(fmt::format("{} files are too few for part {}, a share of {}", data.files().size(), p, shares[p]),
                   "Split by row, or into fewer parts.")
          : refuse(fmt::format("part {}, a share of {}, of {} {} would be empty{}", p, shares[p], data.size(),
                               impl_of(data)->source.what(),
                               by == SplitBy::kRun ? ", without those that reach into the next part" : ""),
                   "Raise the share.");
    out.push_back(select_set(data, parts[p], impl_of(data)->node_with(node_of_part(shares, options, p, parts[p]))));
  }
  return out;
}

}  // namespace headrace
