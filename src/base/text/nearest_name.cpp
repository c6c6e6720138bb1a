#include "base/text/nearest_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace headrace {
namespace {

constexpr std::size_t kLongestCompared = 256;  // the cost is a product of lengths, and names may come from a file

std::string folded(std::string_view name) {
  std::string out(name.substr(0, kLongestCompared));
  for (char& c : out) c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// The smaller of the distances of the whole paths and of their last parts; and that of the whole paths, which decides
/// between many of the same last part.
std::pair<std::size_t, std::size_t> distances_to_path(std::string_view name, std::string_view path) {
  const std::size_t whole = edit_distance(name, path);
  if (path.find('/') == std::string_view::npos && name.find('/') == std::string_view::npos) return {whole, whole};
  return {std::min(whole, edit_distance(last_part(name), last_part(path))), whole};
}

std::size_t distance_to_path(std::string_view name, std::string_view path) {
  return distances_to_path(name, path).first;
}

}  // namespace

std::size_t edit_distance(std::string_view a_text, std::string_view b_text) {
  const std::string a = folded(a_text), b = folded(b_text);
  // Optimal string alignment: three rows of the table.
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::vector<std::string> nearest_names(std::string_view name, std::span<const std::string> candidates) {
  std::vector<std::pair<std::pair<std::size_t, std::size_t>, std::size_t>> order;  // distances, place
  for (std::size_t i = 0; i < candidates.size(); ++i) order.emplace_back(distances_to_path(name, candidates[i]), i);
  std::sort(order.begin(), order.end());
  std::vector<std::string> names;
  for (const auto& [distances, i] : order) names.push_back(candidates[i]);
  return names;
}

std::optional<std::string> did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  const std::vector<std::string> order = nearest_names(name, candidates);
  if (name.empty() || order.empty()) return std::nullopt;
  const auto near = [&](const std::string& candidate) {
    return distance_to_path(name, candidate) <= std::max<std::size_t>(1, name.size() / 3);
  };
  if (near(order.front())) return order.front();
  const std::string wanted = folded(name);
  for (const std::string& candidate : order) {
    const std::string have = folded(candidate);
    if (wanted.size() >= 3 &&
        (have.find(wanted) != std::string::npos || (have.size() >= 3 && wanted.find(have) != std::string::npos)))
      return candidate;
  }
  return std::nullopt;
}

std::optional<MisspeltKey> misspelt_key(std::span<const std::string> keys, std::span<const std::string_view> known) {
  std::vector<std::string> missing;
  for (const std::string_view key : known)
    if (std::ranges::find(keys, key) == keys.end()) missing.emplace_back(key);
  for (const std::string& key : keys)
    if (std::ranges::find(known, key) == known.end())
      if (const auto meant = did_you_mean(key, missing)) return MisspeltKey{*meant, key};
  return std::nullopt;
}

std::string list_names(std::span<const std::string> names, std::size_t at_most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), at_most); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > at_most) text += fmt::format(" and {} more", names.size() - at_most);
  return text;
}

}  // namespace headrace
