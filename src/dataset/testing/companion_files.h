// Two files of a data set, and files beside them in which some of its fields lie.
#pragma once

#include <gtest/gtest.h>
#include <headrace/dataset.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "format/testing/hdf5_files.h"
#include "format/testing/npy_files.h"

namespace headrace::testing {

/// Two files of a data set; beside each an HDF5 file in chunks of another length, and a .npy file.
class CompanionFilesTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kRowsAFile = 200;

  CompanionFilesTest() {
    for (const int i : {0, 1}) {
      const std::string number = std::to_string(i);
      // Arrays in chunks lie where libhdf5 puts them: at other offsets than those of the file beside.
      Hdf5Writer(folder_.path("own_" + number + ".h5"))
          .write("x", {.shape = {kRowsAFile, 3}, .chunk = {32, 3}, .gzip = 1});
      Hdf5Writer(folder_.path("side_" + number + ".h5")).write("y", {.shape = {kRowsAFile, 2}, .chunk = {50, 2}});
      write_npy(folder_.path("flat_" + number + ".npy"), kRowsAFile, 1000 * (i + 1));
    }
  }
  [[nodiscard]] Dataset open_all() const {
    return open(folder_.path("own_*.h5"), {.fields = {{"flat", folder_.path("flat_*.npy") + "::"},
                                                      {"x", "x"},
                                                      {"y", folder_.path("side_*.h5") + "::y"}}});
  }
  /// Check that row i of `batch` is row rows[i] of the data set.
  static void check(const Batch& batch, const std::vector<std::uint64_t>& rows) {
    ASSERT_EQ(batch.rows(), rows.size());
    const auto flat = batch["flat"].as<std::int32_t>(), x = batch["x"].as<std::int32_t>(),
               y = batch["y"].as<std::int32_t>();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto file = static_cast<std::int32_t>(rows[i] / kRowsAFile),
                 row = static_cast<std::int32_t>(rows[i] % kRowsAFile);
      ASSERT_EQ(flat[i], 1000 * (file + 1) + row);
      for (std::int32_t j = 0; j < 3; ++j) ASSERT_EQ(x[3 * i + static_cast<std::size_t>(j)], 3 * row + j);
      for (std::int32_t j = 0; j < 2; ++j) ASSERT_EQ(y[2 * i + static_cast<std::size_t>(j)], 2 * row + j);
    }
  }

  TemporaryFolder folder_;
};

}  // namespace headrace::testing
