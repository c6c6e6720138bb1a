// Attributes: what a file says about an array, or about itself, beside the values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace headrace {

/// Value of an attribute: a scalar or a text, or a list of numbers or texts. A list of one is its only entry.
using AttributeValue = std::variant<bool, std::int64_t, std::uint64_t, double, std::string, std::vector<std::int64_t>,
                                    std::vector<double>, std::vector<std::string>>;

/// Return a value as text, for people: "GeV", "1.5", "[0, 10]", "true". Numbers have as many digits as give the same
/// number again.
std::string text_of(const AttributeValue& value);

/// Attributes by name.
struct Attributes {
  std::map<std::string, AttributeValue> values;  ///< What was read.
  std::map<std::string, std::string> left_out;   ///< What was not, and why: "a table of 3 axes".
  /// True if both are equal.
  friend bool operator==(const Attributes&, const Attributes&) = default;
};

}  // namespace headrace
