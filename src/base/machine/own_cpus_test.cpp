#include "base/machine/own_cpus.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/machine/cpu_count.h"

namespace headrace {
namespace {

TEST(OwnCpus, AreThisProcesssShare) {
  ::setenv("LOCAL_WORLD_SIZE", "1", 1);
  const OwnCpus alone = own_cpus();
  ::setenv("LOCAL_WORLD_SIZE", "1000000", 1);
  const OwnCpus shared = own_cpus();
  ::unsetenv("LOCAL_WORLD_SIZE");
  EXPECT_EQ(alone.count, static_cast<std::uint32_t>(usable_cpu_count()));
  EXPECT_EQ(alone.reason, "the processors this process may use");
  EXPECT_EQ(shared.count, 1u);
  if (alone.count == 1) return;
  EXPECT_NE(shared.reason.find("1000000 processes on this host, says LOCAL_WORLD_SIZE"), std::string::npos);
}

}  // namespace
}  // namespace headrace
