// One use of a loader, from open() to close(), while something fails; and whether it ended as it should.
#pragma once

#include <headrace/loader/loader.h>

#include <string>
#include <vector>

#include "fault_points.h"

namespace headrace::faults {

/// What is kept between epochs, and by whom.
enum class Keeping : std::uint8_t { kNothing, kRam, kEncoded, kDirectory, kHost, kPreload };

/// Files whose values say where they lie. Written once, read by every run.
struct Data {
  std::vector<std::string> paths;
  static constexpr std::uint64_t kRowsOfFile = 150;
  /// Write two files into a folder: arrays with chunks of different lengths, native and read by libhdf5.
  static Data write(const std::string& folder);
  [[nodiscard]] std::uint64_t rows() const { return kRowsOfFile * paths.size(); }
};

struct Ending {
  bool right = false;  ///< Nothing went wrong but what was made to.
  std::string text;    ///< What came, or what is wrong.
  Counted counted;     ///< Of the run with the fault.
};

/// Open, deliver two epochs and close while a fault is armed; then once more without. In between and after it, memory,
/// budget, descriptors and threads must be those of before. `scratch` is an empty folder.
Ending run(const Data& data, Keeping keeping, const Fault& fault, const std::string& scratch);

}  // namespace headrace::faults
