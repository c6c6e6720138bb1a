// A label column, read whole: class numbers, or a quantity.
#pragma once

#include <headrace/dataset.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

struct Label {
  std::string name;
  std::vector<std::uint32_t> classes;  ///< Class of each row, below num_classes; empty for a quantity.
  std::uint32_t num_classes = 0;
  std::vector<double> values;  ///< Value of each row; empty where there are classes.
  std::uint64_t num_nan = 0;   ///< Rows whose label is NaN: of class kNoClass, or of that value.
  static constexpr std::uint32_t kNoClass = ~std::uint32_t{0};
};

/// What becomes of rows whose label is NaN.
enum class NanLabels : std::uint8_t {
  kRefused,  ///< They are kCorruptData: what is done with labels needs one of each row.
  kCounted,
};

/// Number the classes: whole numbers of at most 1000 kinds in ascending order; of a one-hot row the place of
/// its 1 is the class; other numbers are a quantity. Integers are compared exactly, whatever their size. A row of one
/// entry is that number. Throws: kFieldMissing; kInvalidArgument: not a number a sample; kCorruptData: NaN, or a row of
/// several entries that is not one-hot, that is, one 1 and otherwise 0.
Label read_label(const Dataset& data, const std::string& field, const std::function<bool()>& go_on = {},
                 NanLabels nan = NanLabels::kRefused);

/// Return the error of one that needs classes `to` something, and `field` has none.
Error without_classes(const std::string& field, std::string_view to);

}  // namespace headrace
