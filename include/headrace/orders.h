// Orders of samples: as stored, shuffled by blocks or exactly, or by a sampler.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace headrace {

/// How much a block shuffle mixes at any time: the number of streams and of blocks in the pool of each stream, or the
/// decoded bytes from which both are computed. All 0: the default. See docs/how-it-works.md.
struct ShuffleShape {
  std::uint32_t streams = 0;      ///< Parts of the data that are read at once.
  std::uint32_t pool_blocks = 0;  ///< Blocks of each part that are mixed.
  std::uint64_t bytes = 0;        ///< Decoded bytes from which the other two follow.
  friend bool operator==(const ShuffleShape&, const ShuffleShape&) = default;
};

/// Delivers samples as stored.
struct InOrder {};

/// Shuffles: small data by a permutation, larger data by blocks, each of which is decoded once. Of whole groups: their
/// order, each epoch anew.
struct BlockShuffle {
  ShuffleShape shape = {};  ///< How much is mixed. The default follows from the data and the global batch alone.
};

/// Delivers one permutation of all rows; blocks are decoded more often where memory is short.
struct ExactShuffle {};

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

/// An order of samples: any of those above. Copies share it.
class Order {
 public:
  /// Any of the orders.
  using Choice = std::variant<InOrder, BlockShuffle, ExactShuffle, Weighted, Balanced, Listed, OnlineSampler>;
  Order() : Order(InOrder{}) {}
  /// Convert any of the orders.
  template <class T>
  requires std::constructible_from<Choice, T> Order(T choice)  // NOLINT: `.order = BlockShuffle{}` is the point
      : choice_(std::make_shared<const Choice>(std::move(choice))) {}

  /// Return the order if it is a T; else null.
  template <class T>
  [[nodiscard]] const T* get() const {
    return std::get_if<T>(choice_.get());
  }
  /// Return true if the order is a T.
  template <class T>
  [[nodiscard]] bool is() const {
    return std::holds_alternative<T>(*choice_);
  }
  /// Return true for BlockShuffle and ExactShuffle.
  [[nodiscard]] bool is_shuffle() const { return is<BlockShuffle>() || is<ExactShuffle>(); }
  /// Return true for an order that is neither that of storage nor a shuffle.
  [[nodiscard]] bool is_sampler() const { return !is<InOrder>() && !is_shuffle(); }
  /// Return what copies share.
  [[nodiscard]] const std::shared_ptr<const Choice>& shared() const { return choice_; }

 private:
  std::shared_ptr<const Choice> choice_;
};

}  // namespace headrace
