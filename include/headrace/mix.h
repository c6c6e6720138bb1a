// mix(): several data sets as one, drawn in given proportions.
#pragma once

#include <headrace/dataset.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headrace {

/// One part of a mixture.
struct MixPart {
  std::string name;   ///< Name for messages.
  Dataset data;       ///< The data set to draw from.
  double weight = 0;  ///< Share of the samples, relative to the other parts; 0: its number of rows.
};

/// When an epoch of a mixture ends.
enum class MixStop : std::uint8_t {
  kFirst,  ///< When the first part has been used up, to within a few samples.
  kAll,    ///< When every part has been used up, to within a few samples. Smaller parts are repeated meanwhile.
};

/// Options of mix().
struct MixOptions {
  /// Weights are raised to the power of 1/temperature: above 1 makes parts more equal, below 1 less. At least 1e-3.
  double temperature = 1;
  MixStop stop = MixStop::kFirst;  ///< When an epoch ends.
  std::uint64_t num_samples = 0;   ///< Samples of an epoch; 0: as `stop` says.
};

/// Return a data set with the rows of all parts, one part after the other. A Loader draws from the parts by weight:
/// each in the order of the loader's `shuffle`, continuing where the previous epoch ended, so that all its rows come
/// equally often. The fields of the parts must agree in name, type and shape. No I/O. Throws kInvalidArgument.
Dataset mix(const std::vector<MixPart>& parts, const MixOptions& options = {});

}  // namespace headrace
