// Builds that are killed at any moment leave a valid cache or one that is continued, and never a wrong row.
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

#include "cache/testing/caches.h"
#include "cache/testing/processes.h"

namespace headrace {
namespace {

using namespace testing_rows;
using namespace testing_processes;
using Lookup = RowStore::Lookup;

constexpr int kKills = 200;

/// Builds, removes and builds again, until it is killed.
int build_until_killed(const CacheFolders& c) {
  for (;;) {
    const auto opened = c.open();
    if (!opened.ok()) return 1;
    if (!fill_all(*opened->store)) {
      // Another child fills blocks too: they are busy for a moment.
      for (std::uint64_t block = 0; block < c.layout.num_blocks(); ++block)
        opened->store->wait(block, std::chrono::milliseconds(100));
    }
  }
}

TEST(CacheKilled, AtAnyMomentLeavesAValidCacheOrOneThatIsContinued) {
  CacheFolders c;
  c.layout = layout_of(1200, 30);
  c.origin.sources[0].rows = 1200;
  std::mt19937 random(1);
  int whole = 0, partial = 0, empty = 0, continued = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    std::vector<pid_t> children;
    for (int child = 0; child <= kill % 3 / 2; ++child)  // a third of them with two builders
      children.push_back(start([&] { return build_until_killed(c); }));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 15000));
    for (const pid_t pid : children) kill_and_join(pid);

    const auto opened = c.open();
    ASSERT_TRUE(opened.ok()) << opened.error().what();
    for (const std::string& note : opened->notes) ADD_FAILURE() << note;
    RowStore& store = *opened->store;
    std::uint64_t ready = 0;
    for (std::uint64_t block = 0; block < c.layout.num_blocks(); ++block) {
      const Lookup found = store.look_up(block);
      ASSERT_NE(found, Lookup::kBusy);
      ASSERT_NE(found, Lookup::kFull);
      if (found == Lookup::kFill) {
        store.abandon(block);
        continue;
      }
      ++ready;
      ASSERT_TRUE(store.check(block).ok());
      ASSERT_TRUE(has_rows(store, block)) << "kill " << kill << ", block " << block;
    }
    ++(store.complete() ? whole : ready != 0 ? partial : empty);
    if (kill % 5 != 4) continue;
    if (!store.complete() && ready != 0) ++continued;
    ASSERT_TRUE(fill_all(store));
    const auto entries = list_caches(c.directory).value();
    const auto valid = std::find_if(entries.begin(), entries.end(),
                                    [](const CacheEntry& entry) { return entry.state == CacheEntry::State::kValid; });
    ASSERT_NE(valid, entries.end());
    ASSERT_EQ(verify_cache(c.directory, valid->name, nullptr).value().state, CacheEntry::State::kValid);
    ASSERT_TRUE(all_rows_are_right(*c.store()));
    ASSERT_TRUE(remove_cache(c.directory, valid->name).ok());
  }
  std::printf("%d kills: %d whole, %d partial (%d continued to the end), %d empty\n", kKills, whole, partial, continued,
              empty);
}

}  // namespace
}  // namespace headrace
