// Orders of one's own, beside shuffle: who is drawn, and how often.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace headrace {

/// Rows drawn with weights. 16 bytes a row.
struct Weighted {
  std::vector<double> weights;    ///< One for each row: finite, not negative, not all zero.
  bool replacement = true;        ///< False: each row once at most; heavier rows tend to come earlier.
  std::uint64_t num_samples = 0;  ///< An epoch; 0: as many as there are rows (without replacement: of positive weight).
};

/// Every class equally often: of each run of as many samples as there are classes, one is of each. 8 bytes a row.
struct Balanced {
  std::string by;                 ///< Field with the class: a number a sample, or one-hot. Read whole.
  std::uint64_t num_samples = 0;  ///< An epoch; 0: as many as there are rows.
};

/// Row numbers in the order wanted, repeats allowed. 8 bytes a sample.
struct Listed {
  std::vector<std::uint64_t> rows;  ///< Of epoch 0.
  /// True: of every epoch that Loader::set_rows() gives no others. False: each epoch waits for its own.
  bool every_epoch = true;
};

/// Row numbers given while the epoch goes on, by Loader::feed(): for samplers that learn from the batches. Such an
/// order cannot be gone back to: states are of the beginning of an epoch only.
struct Fed {
  std::uint64_t num_samples = 0;  ///< An epoch.
};

using SamplerChoice = std::variant<Weighted, Balanced, Listed, Fed>;

}  // namespace headrace
