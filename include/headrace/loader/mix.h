// mix(): several data sets as one, drawn in given proportions.
#pragma once

#include <headrace/loader/dataset.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headrace {

struct MixPart {
  std::string name;  ///< For messages.
  Dataset data;
  double weight = 0;  ///< Share of the samples, relative to the others'; 0: as many as it has rows.
};

/// When an epoch of a mixture ends.
enum class MixStop : std::uint8_t {
  kFirst,  ///< When the first part has been gone through, to within a few samples.
  kAll,    ///< When every part has been gone through once, to within a few samples; smaller ones come again meanwhile.
};

struct MixOptions {
  /// Weights to the power of 1/temperature: above 1 evens the parts out, below sharpens. At least 1e-3.
  double temperature = 1;
  MixStop stop = MixStop::kFirst;
  std::uint64_t num_samples = 0;  ///< An epoch; 0: as `stop` says.
};

/// Rows of all parts, one part after the other; a Loader draws from them by their weights: each part in the order that
/// the loader's `shuffle` says, and on from where the epoch before ended, so that its rows come equally often.
/// The parts' fields agree in name, type and shape. No I/O. Throws kInvalidArgument.
Dataset mix(const std::vector<MixPart>& parts, const MixOptions& options = {});

}  // namespace headrace
