// cache: what lies in a directory of caches, whether it is intact, and the removal of what is of no use any more.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <headrace/bytes.h>
#include <headrace/tools.h>

#include <algorithm>

#include "base/text/number_text.h"
#include "cache/directory/cache_directory.h"
#include "tools/inspect/index_listing.h"
#include "tools/json.h"
#include "tools/text_table.h"

namespace headrace {
namespace {

using State = CacheEntry::State;
using Progress = std::function<bool(std::uint64_t, std::uint64_t)>;

constexpr std::size_t kSourcesShown = 3;

Json entry_json(const CacheEntry& entry) {
  return {{"name", entry.name}, {"state", to_string(entry.state)}, {"note", entry.note},      {"bytes", entry.bytes},
          {"rows", entry.rows}, {"fields", entry.fields},          {"sources", entry.sources}};
}

void judge(const CacheEntry& entry, ToolResult& result) {
  if (entry.state == State::kDamaged) result.bad_data = true;
  if (entry.state != State::kValid && entry.state != State::kBuilding) result.findings = true;
}

std::string sources_text(const std::vector<std::string>& sources) {
  const std::size_t shown = std::min(sources.size(), kSourcesShown);
  std::string text =
      fmt::format("{}", fmt::join(sources.begin(), sources.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (shown < sources.size()) text += fmt::format(" and {} more", group_digits(sources.size() - shown));
  return text;
}

std::string listing(const std::string& directory, const std::vector<CacheEntry>& entries) {
  if (entries.empty()) return fmt::format("There are no caches in {}\n", directory);
  TextTable table(
      {{"Cache"}, {"State"}, {"Rows", TextTable::Align::kRight}, {"On disk", TextTable::Align::kRight}, {"Fields"}});
  std::uint64_t bytes = 0;
  for (const CacheEntry& entry : entries) {
    bytes += entry.bytes;
    table.add({entry.name, std::string(to_string(entry.state)), entry.rows == 0 ? "" : group_digits(entry.rows),
               format_bytes(entry.bytes), shorten(fmt::format("{}", fmt::join(entry.fields, ", ")), 30)});
  }
  std::string text;
  for (const std::string& line : table.lines()) text += line + "\n";
  text += '\n';
  for (const CacheEntry& entry : entries) {
    if (!entry.note.empty())
      text += paragraph("", 2, fmt::format("{}: {}: {}", entry.name, to_string(entry.state), entry.note));
    if (!entry.sources.empty())
      text += paragraph("", 2, fmt::format("{}: made from {}", entry.name, sources_text(entry.sources)));
  }
  return text + fmt::format("{} cache{}, {}\n", entries.size(), plural(entries.size()), format_bytes(bytes));
}

}  // namespace

ToolResult cache_list(const std::string& directory) {
  if (directory.empty()) return index_list();
  const std::vector<CacheEntry> entries = list_caches(directory).value();
  ToolResult result;
  Json list = Json::array();
  for (const CacheEntry& entry : entries) {
    judge(entry, result);
    list.push_back(entry_json(entry));
  }
  result.text = listing(directory, entries);
  result.json = dump({{"directory", directory}, {"caches", std::move(list)}});
  return result;
}

ToolResult cache_verify(const std::string& directory, const std::string& name, const Progress& progress) {
  std::vector<CacheEntry> entries = list_caches(directory).value();
  if (!name.empty()) {
    const bool there = std::ranges::any_of(entries, [&](const CacheEntry& entry) { return entry.name == name; });
    if (!there) (void)verify_cache(directory, name, {}).value();  // its error says what there is
    std::erase_if(entries, [&](const CacheEntry& entry) { return entry.name != name; });
  }
  const auto is_read = [](const CacheEntry& entry) {
    return entry.state == State::kValid || entry.state == State::kStale;
  };
  std::uint64_t total_bytes = 0, before_bytes = 0;
  for (const CacheEntry& entry : entries) total_bytes += is_read(entry) ? entry.bytes : 0;
  ToolResult result;
  Json list = Json::array();
  for (CacheEntry& entry : entries) {
    if (is_read(entry)) {
      const auto part = [&](std::uint64_t done, std::uint64_t) {
        return !progress || progress(std::min(before_bytes + done, total_bytes), total_bytes);
      };
      entry = verify_cache(directory, entry.name, part).value();
      before_bytes += entry.bytes;
    }
    judge(entry, result);
    list.push_back(entry_json(entry));
    const bool good = entry.state == State::kValid;
    result.text += fmt::format("{} {}\n",
                               entry.state == State::kDamaged ? "BAD    "
                               : good                         ? "GOOD   "
                                                              : "NOTE   ",
                               entry.name);
    if (good)
      result.text += paragraph(
          "", 8,
          fmt::format("{} rows, {}: every checksum agrees", group_digits(entry.rows), format_bytes(entry.bytes)));
    else
      result.text += paragraph("", 8,
                               fmt::format("{}: {}{}", to_string(entry.state), entry.note,
                                           entry.state == State::kStale ? "; every checksum agrees" : ""));
  }
  if (entries.empty()) result.text = fmt::format("There are no caches in {}\n", directory);
  result.json = dump({{"directory", directory}, {"caches", std::move(list)}});
  return result;
}

ToolResult cache_remove(const std::string& directory, const std::string& name) {
  if (directory.empty()) return index_remove(name);
  std::uint64_t bytes = 0;
  for (const CacheEntry& entry : list_caches(directory).value())
    if (entry.name == name) bytes = entry.bytes;
  remove_cache(directory, name).value();
  ToolResult result;
  result.text = fmt::format("Removed {}: {}\n", name, format_bytes(bytes));
  result.json = dump({{"directory", directory}, {"removed", name}, {"bytes", bytes}});
  return result;
}

}  // namespace headrace
