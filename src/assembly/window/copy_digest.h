// CopyDigest: which rows were copied to which places, computed from the addresses of the copies.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/random/divisor.h"
#include "catalog/row_digest.h"

namespace headrace {

/// Rows that lie one behind the other in memory, and which rows they are: said by the code that decoded or kept them.
struct RowsAt {
  const std::byte* data = nullptr;  ///< First byte of the first row.
  std::size_t stride_bytes = 0;     ///< From row to row.
  std::uint64_t first_row = 0;      ///< Number of the first row among all stored rows of the data set.
  std::uint64_t count = 0;
};

/// Divides by a size that the compiler knows.
template <std::uint64_t kBytes>
struct KnownDivisor {
  [[nodiscard]] static constexpr std::uint64_t value() { return kBytes; }
  [[nodiscard]] constexpr Divisor::Parts divide(std::uint64_t x) const { return {x / kBytes, x % kBytes}; }
};

/// What a copy from or to the middle of a row adds to a sum of hashes.
inline constexpr std::uint64_t kMisalignedCopy = 0xD6E8FEB86659FD93u;

/// Adds up run_hash() over the copies from one source to one field of a batch. Threads: one.
template <class RowDivisor = Divisor>
class CopyDigest {
 public:
  /// \param stride  From row to row of the source. \param to  Place 0 of the field. \param first_place  Its number.
  /// \param row_bytes  From place to place.
  CopyDigest(const RowsAt& from, const RowDivisor& stride, const std::byte* to, std::uint64_t first_place,
             const RowDivisor& row_bytes)
      : from_(from), stride_(stride), to_(to), first_place_(first_place), row_bytes_(row_bytes) {}

  /// Note that `count` rows were copied, the first from `source` to `target`: the addresses that the copy was given.
  /// \param distance  What the rows' numbers are above those that the source goes by. \return Number of the first row.
  std::uint64_t saw(const std::byte* source, const std::byte* target, std::uint64_t count = 1,
                    std::uint64_t distance = 0) {
    const Divisor::Parts row = stride_.divide(static_cast<std::uint64_t>(source - from_.data));
    const Divisor::Parts place = row_bytes_.divide(static_cast<std::uint64_t>(target - to_));
    const std::uint64_t number = from_.first_row + row.quotient + distance;
    hash_ += run_hash(number, first_place_ + place.quotient, count);
    misaligned_ |= row.remainder | place.remainder;  // the middle of a row is no row
    return number;
  }
  /// Return the sum of the hashes; something else where an address lay between two rows.
  [[nodiscard]] std::uint64_t hash() const { return hash_ + misaligned_ * kMisalignedCopy; }

 private:
  const RowsAt from_;
  const RowDivisor stride_;
  const std::byte* const to_;
  const std::uint64_t first_place_;
  const RowDivisor row_bytes_;
  std::uint64_t hash_ = 0, misaligned_ = 0;
};

}  // namespace headrace
