#include <fmt/format.h>
#include <fmt/ranges.h>
#include <headrace/attribute.h>

#include <type_traits>

namespace headrace {

std::string text_of(const AttributeValue& value) {
  return std::visit(
      []<class T>(const T& v) -> std::string {
        if constexpr (std::is_same_v<T, std::string>)
          return v;
        else if constexpr (std::is_arithmetic_v<T>)
          return fmt::format("{}", v);
        else
          return fmt::format("[{}]", fmt::join(v, ", "));
      },
      value);
}

}  // namespace headrace
