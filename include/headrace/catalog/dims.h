// Dims: the extents of one sample, of which the first may differ from sample to sample.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace headrace {

/// Extents of one sample of a field. Ragged ones come first, one a level of nesting: an event of pulses of three values
/// is (ragged, 3), an event of sensors of pulses (ragged, ragged, 3). What is behind them is a row: dense, of one
/// shape.
class Dims {
 public:
  static constexpr std::uint64_t kRagged = ~std::uint64_t{0};

  Dims() = default;  ///< A scalar.
  /// Throws Error(kInvalidArgument) where a ragged extent stands behind a fixed one.
  Dims(std::initializer_list<std::uint64_t> extents) : Dims(std::vector<std::uint64_t>(extents)) {}
  explicit Dims(std::vector<std::uint64_t> extents);

  /// All of them, kRagged where they differ.
  [[nodiscard]] const std::vector<std::uint64_t>& extents() const { return extents_; }
  /// Return how many are ragged: 0 for dense fields.
  [[nodiscard]] std::size_t levels() const { return levels_; }
  [[nodiscard]] bool is_ragged() const { return levels_ > 0; }
  /// Shape of a row.
  [[nodiscard]] std::vector<std::uint64_t> row_shape() const;
  /// Elements of a row; of a sample, where nothing is ragged.
  [[nodiscard]] std::uint64_t row_elements() const;
  /// "(128, 4)", "(ragged, 3)", "()".
  [[nodiscard]] std::string text() const;
  friend bool operator==(const Dims&, const Dims&) = default;

 private:
  std::vector<std::uint64_t> extents_;
  std::size_t levels_ = 0;
};

}  // namespace headrace
