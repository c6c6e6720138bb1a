#include "format/nearest_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace headrace {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, 256), b = b.substr(0, 256);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::vector<std::string> nearest_first(std::string_view wanted, std::vector<std::string> names) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (std::string& name : names) {
    const std::size_t d = std::min(edit_distance(wanted, name), edit_distance(last_part(wanted), last_part(name)));
    ranked.emplace_back(d, std::move(name));
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<std::size_t, std::string>::first);
  std::vector<std::string> out;
  for (auto& [distance, name] : ranked) out.push_back(std::move(name));
  return out;
}

std::string list_names(const std::vector<std::string>& names, std::size_t shown) {
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < shown; ++i) out += (i ? ", " : "") + names[i];
  if (names.size() > shown) out += fmt::format(" and {} more", names.size() - shown);
  return out;
}

}  // namespace headrace
