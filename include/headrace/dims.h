// Dims: the extents of one sample. The first ones may differ from sample to sample (ragged).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace headrace {

/// Extents of one sample of a field. Ragged extents come first, one for each level of nesting: an event with a list of
/// pulses of three values is (ragged, 3); an event with sensors that have lists of pulses is (ragged, ragged, 3). The
/// extents behind them are the shape of a row, which is dense.
class Dims {
 public:
  /// Stands for an extent that differs from sample to sample.
  static constexpr std::uint64_t kRagged = ~std::uint64_t{0};

  Dims() = default;  ///< A scalar.
  /// Throws Error(kInvalidArgument) if a ragged extent follows a fixed one.
  Dims(std::initializer_list<std::uint64_t> extents) : Dims(std::vector<std::uint64_t>(extents)) {}
  explicit Dims(std::vector<std::uint64_t> extents);  ///< The same of a vector.

  /// Return all extents; kRagged stands for those that differ between samples.
  [[nodiscard]] const std::vector<std::uint64_t>& extents() const { return extents_; }
  /// Return the number of ragged extents: 0 for dense fields.
  [[nodiscard]] std::size_t levels() const { return levels_; }
  /// Return true if any extent is ragged.
  [[nodiscard]] bool is_ragged() const { return levels_ > 0; }
  /// Return the shape of a row.
  [[nodiscard]] std::vector<std::uint64_t> row_shape() const;
  /// Return the number of elements in a row. For a dense field this is a whole sample.
  [[nodiscard]] std::uint64_t row_elements() const;
  /// Return text such as "(128, 4)", "(ragged, 3)" or "()".
  [[nodiscard]] std::string text() const;
  friend bool operator==(const Dims&, const Dims&) = default;

 private:
  std::vector<std::uint64_t> extents_;
  std::size_t levels_ = 0;
};

}  // namespace headrace
