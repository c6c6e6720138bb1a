#include "dataset/files/array_patterns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

namespace headrace {
namespace {

constexpr std::size_t kLines = 20, kManyAlike = 4;

struct Pattern {
  std::string text;
  std::vector<const ArrayInfo*> arrays;
};

std::vector<Pattern> patterns_of(const std::vector<const ArrayInfo*>& arrays) {
  std::vector<Pattern> patterns;
  std::unordered_map<std::string, std::size_t> known;
  for (const ArrayInfo* const array : arrays) {
    std::string text = path_pattern(array->path);
    const auto [at, fresh] = known.emplace(text, patterns.size());
    if (fresh) patterns.push_back({std::move(text), {}});
    patterns[at->second].arrays.push_back(array);
  }
  return patterns;
}

std::string line_of(const Pattern& pattern) {
  const ArrayInfo& first = *pattern.arrays[0];
  std::string shown = fmt::format("{} ({})", first.path, fmt::join(first.shape, ", "));
  if (pattern.arrays.size() == 1) return shown;
  const auto [least, most] = std::ranges::minmax_element(pattern.arrays, {}, &ArrayInfo::rows);
  const std::string rows = (*least)->rows() == (*most)->rows()
                               ? fmt::format("{}", (*least)->rows())
                               : fmt::format("{} to {}", (*least)->rows(), (*most)->rows());
  return fmt::format("{}: {} arrays of {} rows, the first {}", pattern.text, pattern.arrays.size(), rows, shown);
}

}  // namespace

std::string path_pattern(std::string_view path) {
  std::string pattern;
  for (const char c : path) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit)
      pattern += c;
    else if (pattern.empty() || pattern.back() != '*')
      pattern += '*';
  }
  return pattern;
}

std::string array_lines(const std::vector<const ArrayInfo*>& arrays) {
  // A handful of arrays are shown one by one, whatever their names.
  std::vector<Pattern> patterns;
  if (arrays.size() > kLines / 2)
    patterns = patterns_of(arrays);
  else
    for (const ArrayInfo* const array : arrays) patterns.push_back({array->path, {array}});
  std::string text;
  for (std::size_t i = 0; i < std::min(patterns.size(), kLines); ++i) text += "\n  " + line_of(patterns[i]);
  if (patterns.size() > kLines) {
    std::size_t left = 0;
    for (std::size_t i = kLines; i < patterns.size(); ++i) left += patterns[i].arrays.size();
    text += fmt::format("\n  and {} more arrays", left);
  }
  return text;
}

bool is_array_for_each_sample(const std::vector<const ArrayInfo*>& arrays) {
  return std::ranges::any_of(patterns_of(arrays), [](const Pattern& p) { return p.arrays.size() >= kManyAlike; });
}

}  // namespace headrace
