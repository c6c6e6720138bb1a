#include <headrace/group_totals.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dataset/recipe/refuse.h"

namespace headrace {
namespace {

constexpr std::int64_t kNoGroup = -1;

/// The order of numbers with NaN above all of them, as argmax and topk have it elsewhere.
template <class T>
bool is_larger(T a, T b) {
  return a > b || (std::isnan(a) && !std::isnan(b));
}

void check_size(std::string_view what, std::size_t size, std::uint64_t wanted) {
  if (size != 0 && size != wanted)
    throw refuse(fmt::format("there is memory for {} {}; {} are expected", size, what, wanted),
                 "Give one for each group and class.");
}

void check(const GroupTotals& totals, std::span<const std::int64_t> group) {
  const std::uint64_t cells = totals.groups * totals.classes;
  check_size("counts", totals.count.size(), totals.groups);
  check_size("rows with NaN", totals.nan.size(), totals.groups);
  check_size("votes", totals.votes.size(), cells);
  check_size("sums", totals.sum.size(), cells);
  check_size("maxima", totals.max.size(), cells);
  check_size("largest values", totals.tops.size(), cells * totals.top);
  for (std::size_t i = 0; i < group.size(); ++i)
    if (group[i] < kNoGroup || (group[i] >= 0 && static_cast<std::uint64_t>(group[i]) >= totals.groups))
      throw refuse(fmt::format("row {} of the batch is of group {}; there are groups 0 to {}", i, group[i],
                               static_cast<std::int64_t>(totals.groups) - 1),
                   "Give the number of groups that there are, and numbers below it.");
}

/// Put a value in its place among falling ones; the last falls out.
void insert(std::span<double> falling, double value) {
  std::size_t at = falling.size();
  while (at > 0 && is_larger(value, falling[at - 1])) --at;
  if (at == falling.size()) return;
  std::move_backward(falling.begin() + static_cast<std::ptrdiff_t>(at), falling.end() - 1, falling.end());
  falling[at] = value;
}

template <class T>
void add(const GroupTotals& totals, std::span<const std::int64_t> group, std::span<const T> values) {
  const std::uint64_t classes = totals.classes;
  if (values.size() != group.size() * classes)
    throw refuse(fmt::format("{} values for {} rows of {} classes", values.size(), group.size(), classes),
                 "Give one for each row and class.");
  check(totals, group);
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (group[i] == kNoGroup) continue;
    const auto g = static_cast<std::size_t>(group[i]);
    const std::span<const T> row = values.subspan(i * classes, classes);
    if (!totals.count.empty()) ++totals.count[g];
    const bool has_nan = std::ranges::any_of(row, [](T value) { return std::isnan(value); });
    if (has_nan && !totals.nan.empty()) ++totals.nan[g];
    if (!has_nan && !totals.votes.empty() && classes > 0) {
      std::size_t best = 0;
      for (std::size_t c = 1; c < classes; ++c)
        if (row[c] > row[best]) best = c;
      ++totals.votes[g * classes + best];
    }
    if (!totals.sum.empty())
      for (std::size_t c = 0; c < classes; ++c) totals.sum[g * classes + c] += static_cast<double>(row[c]);
    if (!totals.max.empty())
      for (std::size_t c = 0; c < classes; ++c) {
        double& max = totals.max[g * classes + c];
        if (is_larger(static_cast<double>(row[c]), max)) max = static_cast<double>(row[c]);
      }
    if (!totals.tops.empty())
      for (std::size_t c = 0; c < classes; ++c)
        insert(totals.tops.subspan((g * classes + c) * totals.top, totals.top), static_cast<double>(row[c]));
  }
}

}  // namespace

void add_rows(const GroupTotals& totals, std::span<const std::int64_t> group, std::span<const float> values) {
  add(totals, group, values);
}
void add_rows(const GroupTotals& totals, std::span<const std::int64_t> group, std::span<const double> values) {
  add(totals, group, values);
}

void add_votes(const GroupTotals& totals, std::span<const std::int64_t> group, std::span<const std::int64_t> label) {
  if (label.size() != group.size())
    throw refuse(fmt::format("{} classes for {} rows", label.size(), group.size()), "Give one for each row.");
  check(totals, group);
  for (std::size_t i = 0; i < label.size(); ++i)
    if (label[i] < 0 || static_cast<std::uint64_t>(label[i]) >= totals.classes)
      throw refuse(fmt::format("row {} of the batch votes for class {}; there are classes 0 to {}", i, label[i],
                               static_cast<std::int64_t>(totals.classes) - 1),
                   "Give classes by their numbers, from 0.");
  for (std::size_t i = 0; i < label.size(); ++i) {
    if (group[i] == kNoGroup) continue;
    const auto g = static_cast<std::size_t>(group[i]);
    if (!totals.count.empty()) ++totals.count[g];
    if (!totals.votes.empty()) ++totals.votes[g * totals.classes + static_cast<std::size_t>(label[i])];
  }
}

}  // namespace headrace
