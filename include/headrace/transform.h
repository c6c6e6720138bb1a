// Transform: what is done with the fields of a sample on their way into a batch, as a value.
#pragma once

#include <headrace/number_column.h>
#include <headrace/whole_number.h>

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace headrace {

/// One setting of a transform. A list of whole numbers is one where double would round some. Columns are those of a
/// table.
using Setting = std::variant<bool, std::int64_t, double, std::string, std::vector<double>, std::vector<std::string>,
                             std::vector<WholeNumber>, std::vector<NumberColumn>>;

/// A transform by its name, with the fields that it reads and its settings; those that are left out have defaults.
/// docs/transforms.md lists the names. For example {"Standardize", {"x"}, {{"mean", 0.5}, {"std", 2.0}}}.
struct Transform {
  std::string name;                         ///< Name, as in Python: "SymmetricPairs".
  std::vector<std::string> fields;          ///< Fields that it reads.
  std::map<std::string, Setting> settings;  ///< Settings by name.
  friend bool operator==(const Transform&, const Transform&) = default;

  /// Return it as text on one line, with every setting: "Standardize(x, mean=0.5, std=2)". More than 32 numbers are
  /// told by how many they are and a hash of them.
  [[nodiscard]] std::string text() const;
};

}  // namespace headrace
