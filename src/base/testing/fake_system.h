// A tree of small files that stands for /proc and /sys, in tests.
#pragma once

#include <gtest/gtest.h>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/machine/available_memory.h"
#include "base/testing/temporary_folder.h"

namespace headrace::testing {

class FakeSystem : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};  // no limit

  FakeSystem() {
    write("/proc/meminfo",
          "MemTotal:       16000 kB\nMemFree:         1000 kB\nMemAvailable:    8000 kB\nCached:  3000 kB\n");
    write("/proc/self/status", "Name:\tx\nVmSize:\t    500 kB\n");
  }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  /// `path` leads to `target`, which is a path of the tree too.
  void link(const std::string& path, const std::string& target) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::filesystem::create_symlink(root_ + target, root_ + path);
  }
  MemoryProbe probe(std::uint64_t address_space = kNone) { return {root_, address_space}; }
  TemporaryFolder folder_;
  const std::string root_ = folder_.path();
};

}  // namespace headrace::testing
