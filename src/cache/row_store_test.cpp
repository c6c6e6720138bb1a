// The suite of every row store, for each kind there is.
#include "cache/row_store.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>

#include "cache/host/host_arena.h"
#include "cache/testing/caches.h"
#include "cache/testing/row_store_suite.h"
#include "cache/testing/rows.h"

namespace headrace {
namespace {

using namespace testing_rows;

TEST(RowLayout, CountsRowsBlocksAndBytes) {
  const RowLayout layout = layout_of(10, 4);
  EXPECT_EQ(layout.rows(), 10u);
  EXPECT_EQ(layout.num_blocks(), 3u);
  EXPECT_EQ(layout.row_bytes(), 68u);
  EXPECT_EQ(layout.data_bytes(), 680u);
  EXPECT_EQ(block_bytes(layout, 0, 2), (ByteRange{480, 120}));
}

TEST(RowStoreInMemory, PaysForAllRows) {
  const auto store = RowStore::in_memory(layout_of(10, 4)).value();
  EXPECT_EQ(store->charged_bytes(), RowStore::pages_for(store->layout()));
  EXPECT_GE(store->charged_bytes(), store->layout().data_bytes());
}

RowStoreCase memory() {
  RowStoreCase made;
  made.open = [](const RowLayout& layout) { return RowStore::in_memory(layout); };
  return made;
}

RowStoreCase host_arena() {
  static std::atomic<int> number{0};
  const std::string key = fmt::format("suite {} {}", ::getpid(), ++number);
  RowStoreCase made;
  made.open = [key](const RowLayout& layout) { return open_host_arena(key, layout, std::uint64_t{1} << 40); };
  made.shared = true;
  return made;
}

RowStoreCase cache_directory() {
  const auto folders = std::make_shared<CacheFolders>();
  RowStoreCase made;
  made.open = [folders](const RowLayout& layout) -> Result<std::shared_ptr<RowStore>> {
    CacheOrigin origin = folders->origin;
    origin.sources[0].rows = layout.rows();
    HEADRACE_ASSIGN(const CacheOpened opened, open_cache_directory(folders->directory, origin, layout));
    return opened.store;
  };
  made.shared = true;
  made.persistent = true;
  made.writable = false;
  made.holder = folders;
  return made;
}

[[maybe_unused]] const bool registered = [] {
  register_row_store_tests("RowStoreSuite", "Memory", memory);
  register_row_store_tests("RowStoreSuite", "HostArena", host_arena);
  register_row_store_tests("RowStoreSuite", "CacheDirectory", cache_directory);
  return true;
}();

}  // namespace
}  // namespace headrace
