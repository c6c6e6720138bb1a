// The part of `cache` that looks after the user's index store: what is remembered of files that were opened.
#include "tools/inspect/index_listing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <headrace/bytes.h>

#include <algorithm>

#include "storage/index_store.h"
#include "tools/json.h"
#include "tools/text_table.h"

namespace headrace {
namespace {

IndexStore store_of_user() {
  auto store = IndexStore::of_user();
  if (!store)
    throw Error(ErrorCode::kNotFound, "nothing is remembered of files that were opened")
        .with_hint("HEADRACE_CACHE is \"off\", or there is no home directory: name a directory in HEADRACE_CACHE.");
  return *store;
}

std::string listing(const std::string& directory, const std::vector<IndexStore::Listed>& indexes) {
  if (indexes.empty()) return fmt::format("There are no indexes in {}\n", directory);
  TextTable table({{"Index"},
                   {"State"},
                   {"Files", TextTable::Align::kRight},
                   {"On disk", TextTable::Align::kRight},
                   {"First file"}});
  std::uint64_t bytes = 0;
  for (const auto& index : indexes) {
    bytes += index.bytes;
    table.add({index.name, index.state, std::to_string(index.files.size()), format_bytes(index.bytes),
               index.files.empty() ? "" : index.files.front()});
  }
  return fmt::format("{}\n\n{} index{} in {}, {}\n", fmt::join(table.lines(), "\n"), indexes.size(),
                     indexes.size() == 1 ? "" : "es", directory, format_bytes(bytes));
}

}  // namespace

ToolResult index_list() {
  const IndexStore store = store_of_user();
  const auto indexes = store.list().value();
  ToolResult result;
  Json list = Json::array();
  for (const auto& index : indexes) {
    result.findings = result.findings || index.state != "valid";
    list.push_back({{"name", index.name}, {"state", index.state}, {"bytes", index.bytes}, {"files", index.files}});
  }
  result.text = listing(store.directory(), indexes);
  result.json = dump({{"directory", store.directory()}, {"indexes", std::move(list)}});
  return result;
}

ToolResult index_remove(const std::string& name) {
  const IndexStore store = store_of_user();
  store.remove(name).value();
  ToolResult result;
  result.text = fmt::format("Removed the index {}\n", name);
  result.json = dump({{"directory", store.directory()}, {"removed", name}});
  return result;
}

}  // namespace headrace
