// What the tools make of windows.
#include <gtest/gtest.h>
#include <headrace/tools.h>

#include <string>

#include "base/testing/temporary_folder.h"
#include "dataset/recipe/data_tree.h"
#include "dataset/recipe/verb_options.h"
#include "format/testing/npy_files.h"

namespace headrace {
namespace {

TEST(WindowsInTools, AreMeasured) {
  const TemporaryFolder folder;
  for (int i = 0; i < 2; ++i)
    testing::write_npy<std::int64_t>(folder.path("corpus_" + std::to_string(i) + ".npy"), 1000, i * 1000);
  RunConfig run;
  run.data = node_of(WindowOptions{.length = 16, .lookahead = 1}, tree_of({folder.path("corpus_*.npy")}));
  run.loader.batch = Samples{8};
  run.loader.order = BlockShuffle{};
  run.loader.memory = std::uint64_t{32} << 20;
  const Dataset data = open_run(run);
  EXPECT_EQ(data.size(), 124u);
  const ToolResult memory = check_memory(run);
  EXPECT_EQ(memory.exit_status, 0);
  EXPECT_NE(memory.text.find("the batches and all decoded data fit"), std::string::npos) << memory.text;
  EXPECT_EQ(memory.text.find("COMPARE"), std::string::npos) << memory.text;
  Loader loader(data, run.loader);
  EXPECT_NE(bench(loader, {}, {}).text.find("124"), std::string::npos);
  EXPECT_FALSE(order(loader, {}).text.empty());
  const ToolResult batch = replay(loader, {0, 0});
  EXPECT_NE(batch.text.find("windows, from rows"), std::string::npos) << batch.text;
  EXPECT_NE(advise(run, {0, 0.05}).text.find("124 samples of"), std::string::npos);
}

}  // namespace
}  // namespace headrace
