// Where: which values of a field stats() takes: "x[..., 0] != 0 and x[..., 3] < 5".
//
//   expression  = all { "or" all }
//   all         = comparison { "and" comparison }
//   comparison  = "(" expression ")" | operand operator number | number operator operand
//   operand     = FIELD | FIELD "[" "..." "," index "]"
//   operator    = "==" | "!=" | "<" | "<=" | ">" | ">="
//
// FIELD[..., k] is entry k of the last axis and decides for all entries beside it; FIELD alone is every value for
// itself. Anything else is refused: text is never run as a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headrace {

/// Immutable. Threads: any.
class Where {
 public:
  /// Read an expression about `field`, whose last axis has `features` entries. \param scalar  The field has no axis.
  /// Errors: kInvalidArgument  with the place in the text, what was found there, and what is understood.
  static Result<Where> parse(std::string_view text, std::string_view field, std::size_t features, bool scalar);

  /// Put the numbers that values are compared with to the precision of the field's, as NumPy does. \param round  Return
  /// the nearest number that the field can hold.
  void round_numbers(double (*round)(double));

  /// Set `chosen[i]` to 1 where value i is taken, to 0 elsewhere. \param values  Whole vectors of the last axis.
  /// \param spare  depth() times as many bytes as values.
  void choose(std::span<const double> values, std::span<std::uint8_t> chosen, std::span<std::uint8_t> spare) const;
  /// Return how many intermediate results exist at once.
  [[nodiscard]] std::size_t depth() const { return depth_; }
  /// Return the expression in one spelling.
  [[nodiscard]] std::string text() const;

 private:
  enum class Op : std::uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kAnd, kOr };
  static constexpr std::size_t kEach = ~std::size_t{0};  // every value for itself
  struct Step {                                          // in the order of a stack machine
    Op op;
    std::size_t feature;
    double number;
  };
  friend class WhereParser;
  void compare(const Step& step, std::span<const double> values, std::span<std::uint8_t> out) const;

  std::vector<Step> steps_;
  std::string field_;
  std::size_t features_ = 1, depth_ = 0;
};

}  // namespace headrace
