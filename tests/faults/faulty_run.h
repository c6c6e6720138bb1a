// Uses of a loader, from open() to close(), while something fails; and whether each ended as it should.
#pragma once

#include <headrace/loader.h>

#include <string>
#include <utility>
#include <vector>

#include "fault_points.h"

namespace headrace::faults {

/// What is kept between epochs, and by whom.
enum class Keeping : std::uint8_t { kNothing, kRam, kEncoded, kDirectory, kHost, kPreload };

/// Files whose values say where they lie. Written once, read by every run.
struct Data {
  std::vector<std::string> paths;
  std::uint64_t rows_of_file = 0;
  std::uint64_t packed_width = 0;  ///< Numbers of a row in the array that gives the blocks.
  std::uint64_t memory_bytes = 0;  ///< Of a loader.
  /// Write two files into a folder: arrays with chunks of different lengths, decoded natively, and native ones that
  /// libhdf5 converts. For kEncoded they are larger than the memory, and have enough blocks for codings to be tried.
  static Data write(const std::string& folder, Keeping keeping);
  [[nodiscard]] std::uint64_t rows() const { return rows_of_file * paths.size(); }
};

struct Ending {
  bool right = false;  ///< Nothing went wrong but what was made to.
  std::string text;    ///< What came, or what is wrong.
  Counted counted;     ///< Of the run with the fault.
};

/// One fault after another in this process, and each time whether the loader's use ended as it should.
class FaultyRuns {
 public:
  /// \param scratch  An empty folder.
  FaultyRuns(const Data& data, Keeping keeping, std::string scratch)
      : data_(data), keeping_(keeping), scratch_(std::move(scratch)) {}

  /// Open, deliver two epochs and close while a fault is armed; then once more without. In between, the budget, the
  /// descriptors and the threads must be those of before, and after it all must come. Call it again only if it was
  /// right.
  Ending run(const Fault& fault);

 private:
  const Data& data_;
  const Keeping keeping_;
  const std::string scratch_;
  int runs_ = 0;
};

}  // namespace headrace::faults
