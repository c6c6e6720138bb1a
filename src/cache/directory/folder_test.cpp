#include "cache/directory/folder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "base/testing/failing_new.h"
#include "base/testing/temporary_folder.h"

namespace headrace {
namespace {

std::uint64_t open_descriptors() {
  std::uint64_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) count += entry.exists() ? 1 : 0;
  return count;
}

TEST(Folder, HoldsNoDescriptorWhereThereIsNoMemoryForItsNames) {
  const TemporaryFolder temporary;
  std::vector<std::string> written;
  for (int i = 0; i < 9; ++i) {
    written.push_back("a name that is too long to lie inside its string " + std::to_string(i));
    temporary.write_text(written.back(), "");
  }
  const auto folder = Folder::open(temporary.path());
  ASSERT_TRUE(folder.ok());
  const std::uint64_t before = open_descriptors();
  std::uint64_t failed = 0;
  for (std::int64_t n = 1;; ++n) {
    SCOPED_TRACE(n);
    std::optional<Result<std::vector<std::string>>> names;
    std::uint64_t failed_now = 0;
    {
      const testing::FailingNew no_memory("", n);
      try {
        names = folder->names();
      } catch (const std::bad_alloc&) {
      }
      failed_now = no_memory.failed();
    }
    ASSERT_EQ(open_descriptors(), before);
    if (failed_now == 0) {
      ASSERT_TRUE(names && names->ok());
      EXPECT_EQ(**names, written);
      break;
    }
    ++failed;
  }
  EXPECT_GT(failed, written.size());  // one for each name at least
}

}  // namespace
}  // namespace headrace
