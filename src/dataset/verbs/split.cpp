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
#include "dataset/facts/sample_groups.h"
#include "dataset/recipe/refuse.h"
#include "dataset/recipe/verb_options.h"
#include "dataset/samples/mapped_samples.h"
#include "dataset/verbs/select_rows.h"

namespace headrace {
namespace {

/// What is kept together: SplitOptions::by.
enum class Whole : std::uint8_t { kRows, kFiles, kRuns, kGroups };

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

/// Return the part of each group, or of each file: the largest first, equal ones in random order, each to the part that
/// lacks the most rows; the last part, which is left out, lacks what is missing to 1. The last ones go to parts that
/// would be empty. \param sizes  Rows of each.
std::vector<std::size_t> split_groups(std::span<const std::uint64_t> sizes, std::span<const double> shares,
                                      std::uint64_t seed) {
  std::vector<double> wanted = with_rest(shares);
  if (wanted.back() <= kSlack) wanted.pop_back();
  const std::uint64_t rows = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  for (double& w : wanted) w *= static_cast<double>(rows);
  std::vector<double> lacks = wanted;
  std::vector<std::size_t> part_of(sizes.size(), wanted.size());
  std::vector<bool> chosen(wanted.size(), false);
  const KeyedPermutation random(std::max<std::size_t>(sizes.size(), 1), RandomKey::of({seed, kFiles}));
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (sizes[random(i)] > 0) order.push_back(random(i));
  std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t f) { return sizes[f]; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::size_t empty = 0, best = 0;
    for (std::size_t p = 0; p < shares.size(); ++p) empty += !chosen[p];
    const bool only_empty = order.size() - i <= empty;
    const auto may = [&](std::size_t p) { return !only_empty || (p < shares.size() && !chosen[p]); };
    while (best + 1 < wanted.size() && !may(best)) ++best;
    for (std::size_t p = best + 1; p < wanted.size(); ++p)
      if (may(p) && lacks[p] > lacks[best]) best = p;
    lacks[best] -= static_cast<double>(sizes[order[i]]);
    chosen[best] = true;
    part_of[order[i]] = best;
  }
  return part_of;
}

Parts split_files(std::span<const FileEntry> files, std::span<const double> shares, std::uint64_t seed) {
  std::vector<std::uint64_t> sizes;
  for (const FileEntry& f : files) sizes.push_back(f.rows);
  const std::vector<std::size_t> part_of = split_groups(sizes, shares, seed);
  Parts parts(shares.size());
  std::uint64_t row = 0;
  for (std::size_t f = 0; f < files.size(); ++f)
    for (const std::uint64_t end = row + sizes[f]; row < end; ++row)
      if (part_of[f] < parts.size()) parts[part_of[f]].push_back(row);
  return parts;
}

Parts split_sample_groups(const SampleGroups& groups, std::span<const double> shares, std::uint64_t seed) {
  const std::vector<std::size_t> part_of = split_groups(groups.sizes, shares, seed);
  Parts parts(shares.size());
  for (std::uint64_t i = 0; i < groups.of_sample.size(); ++i)
    if (const std::size_t part = part_of[groups.of_sample[i]]; part < parts.size()) parts[part].push_back(i);
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

Whole how_to_split(const Dataset& data, const SplitOptions& options) {
  const SampleSource& source = impl_of(data)->source;
  const MappedSource* const mapped = remade(*impl_of(data), "a split");
  refuse_drawn(*impl_of(data), "a split");
  const bool overlaps = mapped && mapped->maker->overlaps();
  const std::string& said = options.by;
  const Whole by = said == "auto"   ? (overlaps ? Whole::kRuns : Whole::kRows)
                   : said == "row"  ? Whole::kRows
                   : said == "file" ? Whole::kFiles
                   : said == "run"  ? Whole::kRuns
                                    : Whole::kGroups;
  const bool is_field = std::ranges::find(data.fields(), said, &Field::name) != data.fields().end();
  if (is_field && by == Whole::kRuns && said != "auto")  // whose values the user may have meant
    throw refuse("by='run' is a way to split, and there is a field 'run'",
                 "Open the field by another name, or without it: fields={\"run_number\": \"run\"}.")
        .with_field(said);
  if (!is_field && by == Whole::kGroups && !axis_of(data, said))
    throw Error(ErrorCode::kFieldMissing, fmt::format("by='{}' is no field", said))
        .with_field(said)
        .with_hint("A split is by 'row', 'file', 'run', the number of an axis, or one of the fields.");
  if (!options.stratify.empty() && by != Whole::kRows)
    throw refuse(
        fmt::format("{} are kept whole, so classes cannot be shared out", by == Whole::kFiles  ? "files"
                                                                          : by == Whole::kRuns ? "runs of samples"
                                                                                               : "groups"),
        by == Whole::kRuns ? "Leave out stratify." : "Leave out stratify, or split by row.");
  if ((by == Whole::kRows || by == Whole::kGroups) && overlaps)
    throw refuse(fmt::format("{} overlap: a split by {} would put the same rows into several parts", source.what(),
                             by == Whole::kRows ? "row" : said),
                 "Split by run, or make them with a stride of their whole length.");
  if (by == Whole::kFiles && mapped && !mapped->maker->follows_files())
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{} go on from file to file, so files cannot be kept apart", source.what()))
        .with_hint("Make them without across_files, or split by run.");
  if (source.mixture())
    throw refuse("a mixture cannot be split: its samples are drawn by weight", "Split its parts, then mix.");
  return by;
}

/// The samples of each part.
std::vector<std::shared_ptr<const RowSet>> parts_of(const Dataset& data, Whole by, const Label* label,
                                                    std::span<const double> shares, const SplitOptions& options) {
  const std::uint64_t seed = options.seed;
  std::vector<std::shared_ptr<const RowSet>> sets;
  if (by == Whole::kRuns) {
    std::vector<Runs> runs = split_circle(data.size(), shares, seed);
    const MappedSource* const mapped = impl_of(data)->source.mapped();
    if (mapped && mapped->maker->overlaps()) part_overlapping(*mapped, runs);
    for (const Runs& part : runs) sets.push_back(std::make_shared<const RowSet>(data.size(), std::span(part)));
    return sets;
  }
  const Parts parts = by == Whole::kFiles ? split_files(data.files(), shares, seed)
                      : by == Whole::kGroups
                          ? split_sample_groups(find_sample_groups(data, options.by, options.go_on), shares, seed)
                          : split_rows(data.size(), label, shares, seed);
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
  const Whole by = how_to_split(data, options);
  Label label;
  if (!options.stratify.empty()) {
    label = read_label(data, options.stratify, options.go_on);
    if (label.classes.empty()) throw without_classes(options.stratify, "stratify");
  }
  const std::vector<std::shared_ptr<const RowSet>> parts =
      parts_of(data, by, options.stratify.empty() ? nullptr : &label, shares, options);
  std::vector<Dataset> out;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (parts[p]->size() == 0)
      throw by == Whole::kFiles
          ? refuse(fmt::format("{} files are too few for part {}, a share of {}", data.files().size(), p, shares[p]),
                   "Split by row (samples that overlap: by run), or into fewer parts.")
      : by == Whole::kGroups
          ? refuse(fmt::format("the groups of {} are too few for part {}, a share of {}", options.by, p, shares[p]),
                   "Split by row (samples that overlap: by run), or into fewer parts.")
          : refuse(fmt::format("part {}, a share of {}, of {} {} would be empty{}", p, shares[p], data.size(),
                               impl_of(data)->source.what(),
                               by == Whole::kRuns ? ", without those that reach into the next part" : ""),
                   "Raise the share.");
    out.push_back(select_set(data, parts[p], impl_of(data)->node_with(node_of_part(shares, options, p, parts[p]))));
  }
  return out;
}

}  // namespace headrace
