// NumberColumn: a column of a table of numbers, in a type of its own.
#pragma once

#include <headrace/dtype.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace headrace {

/// Numbers of one type, shared by all copies of the column. Never changes. Threads: any.
class NumberColumn {
 public:
  NumberColumn() = default;
  /// Copy numbers into a part of the process's memory. \param bytes  In native byte order, as many as fill elements.
  /// Throws kOutOfBudget.
  NumberColumn(DType dtype, std::span<const std::byte> bytes);
  /// Copy numbers of a type of C++.
  template <class T>
  static NumberColumn of(const std::vector<T>& values) {
    constexpr auto kKind = std::is_floating_point_v<T> ? DType::Kind::kFloat
                           : std::is_signed_v<T>       ? DType::Kind::kInt
                                                       : DType::Kind::kUInt;
    return NumberColumn({kKind, sizeof(T)}, std::as_bytes(std::span(values)));
  }

  [[nodiscard]] const DType& dtype() const { return dtype_; }  ///< Type of a number.
  [[nodiscard]] std::size_t size() const { return size_; }     ///< How many numbers there are.
  [[nodiscard]] std::span<const std::byte> bytes() const;      ///< The numbers.
  friend bool operator==(const NumberColumn& a, const NumberColumn& b);

 private:
  struct Memory;
  DType dtype_;
  std::size_t size_ = 0;
  std::shared_ptr<const Memory> memory_;  ///< Null: there are none.
};

}  // namespace headrace
