// Custom samplers: orders other than those of `shuffle`.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace headrace {

/// Draws rows with weights. Takes 16 bytes a row.
struct Weighted {
  std::vector<double> weights;    ///< One for each row: finite, not negative, not all zero.
  bool replacement = true;        ///< False: each row at most once; rows with larger weights tend to come earlier.
  std::uint64_t num_samples = 0;  ///< Epoch length; 0: as many as rows (without replacement: rows of positive weight).
};

/// Draws every class equally often: with C classes, each run of C samples has one of each class. Takes 8 bytes a row.
struct Balanced {
  std::string by;                 ///< Field with the class: one number per sample, or one-hot. It is read completely.
  std::uint64_t num_samples = 0;  ///< Samples of an epoch; 0: number of rows.
};

/// Delivers these rows in this order, repeats allowed. Takes 8 bytes a sample.
struct Listed {
  std::vector<std::uint64_t> rows;  ///< Row numbers of epoch 0.
  /// True: they also hold for later epochs, unless Loader::set_rows() gives others. False: each epoch needs a call of
  /// Loader::set_rows().
  bool every_epoch = true;
  /// Samples of each batch, in order: at least one in each, together as many as there are rows. Leave batch_size out
  /// then. Over several ranks, rank r of W gets each W-th batch from the r-th on. Empty: batches of batch_size.
  std::vector<std::uint64_t> batch_rows = {};
};

/// Takes row numbers from Loader::feed() while the epoch goes on: for samplers that learn from the batches. A loader
/// with this order cannot be resumed in the middle of an epoch; its states are those of the beginning of an epoch.
struct OnlineSampler {
  std::uint64_t num_samples = 0;  ///< Samples of an epoch.
};

/// Any of the samplers.
using SamplerChoice = std::variant<Weighted, Balanced, Listed, OnlineSampler>;

}  // namespace headrace
