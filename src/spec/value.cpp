#include "spec/value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/text/nearest_name.h"
#include "base/text/number_text.h"

namespace headrace {
namespace {

constexpr std::size_t kLongestFound = 60;  // characters of a value that an error repeats

Value of_plain(const Value& value) {
  const std::string& text = *value.text();
  Value out{text, false, value.line};
  if (text == "true" || text == "True") return out.is = true, out;
  if (text == "false" || text == "False") return out.is = false, out;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == ".nan") return out.is = std::numeric_limits<double>::quiet_NaN(), out;
  if (text == ".inf" || text == "-.inf") return out.is = text[0] == '-' ? -kInfinity : kInfinity, out;
  const std::size_t digit = text.starts_with('-') ? 1 : 0;
  const bool leads_with_0 = text.size() > digit + 1 && text[digit] == '0' && text[digit + 1] != '.';
  if (digit == text.size() || leads_with_0) return out;  // 010 is eight to some readers of YAML
  const bool is_whole = text.find_first_not_of("0123456789", digit) == std::string::npos;
  const char* const end = text.data() + text.size();
  if (is_whole) {
    std::uint64_t above = 0;
    std::int64_t below = 0;
    if (digit == 0 && std::from_chars(text.data(), end, above).ec == std::errc())
      return out.is = WholeNumber(above), out;
    if (digit == 1 && std::from_chars(text.data(), end, below).ec == std::errc())
      return out.is = WholeNumber(below), out;
  }
  const bool is_real = text.find_first_of("0123456789") != std::string::npos && text.find_first_of("xX") == text.npos;
  if (const std::optional<double> number = is_real ? number_of(text) : std::nullopt) out.is = *number;
  return out;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + "\"";
}

/// Text with its control characters written out: a zero byte would end an error's text.
std::string printable(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += static_cast<unsigned char>(c) < 0x20 ? fmt::format("\\x{:02x}", static_cast<unsigned char>(c))
                                                : std::string(1, c);
  return out;
}

/// True for a word that every reader takes for text without quotes.
bool is_bare_key(const std::string& key) {
  const auto is_part = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (key.empty() || !is_part(key[0])) return false;
  for (const char* const word : {"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
    if (edit_distance(key, word) == 0) return false;
  return std::ranges::all_of(key, [&](char c) { return is_part(c) || (c >= '0' && c <= '9'); });
}

std::string real_text(double number) {
  if (std::isnan(number)) return ".nan";
  if (std::isinf(number)) return number < 0 ? "-.inf" : ".inf";
  std::string text = fmt::format("{}", number);
  if (const std::size_t e = text.find('e'); e != std::string::npos && text.find('.') == std::string::npos)
    return text.insert(e, ".0");  // 1.0e+22: YAML 1.1 takes 1e+22 for text
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;  // 2.0 stays a real number
}

}  // namespace

// Here, where an entry of a map is known.
Value::Value() = default;
Value::Value(Any any, bool is_plain, int in_line) : is(std::move(any)), plain(is_plain), line(in_line) {}
Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

std::string At::text() const {
  const std::string before = above ? above->text() : "";
  return before + (before.empty() || key.empty() || key[0] == '[' ? "" : ".") + key;
}

const ReadContext& At::read_context() const {
  static const ReadContext nothing;
  for (const At* at = this; at; at = at->above)
    if (at->context) return *at->context;
  return nothing;
}

Value resolved(const Value& value) {
  if (const ValueList* const list = value.list()) {
    ValueList items;
    for (const Value& item : *list) items.push_back(resolved(item));
    return {std::move(items), false, value.line};
  }
  if (const ValueMap* const map = value.map()) {
    ValueMap entries;
    for (const auto& [key, item, line] : *map) entries.push_back({key, resolved(item), line});
    return {std::move(entries), false, value.line};
  }
  return value.plain && value.text() ? of_plain(value) : value;
}

std::string flow_text(const Value& value) {
  if (value.plain) return flow_text(resolved(value));
  return std::visit(
      []<class T>(const T& one) -> std::string {
        if constexpr (std::is_same_v<T, std::monostate>) {
          return "null";
        } else if constexpr (std::is_same_v<T, bool>) {
          return one ? "true" : "false";
        } else if constexpr (std::is_same_v<T, WholeNumber>) {
          return one.text();
        } else if constexpr (std::is_same_v<T, double>) {
          return real_text(one);
        } else if constexpr (std::is_same_v<T, std::string>) {
          return quoted(one);
        } else if constexpr (std::is_same_v<T, NumberColumn>) {
          return fmt::format("\"{} numbers of {}\"", one.size(), one.dtype().name());
        } else if constexpr (std::is_same_v<T, Foreign>) {
          return quoted(one.text);
        } else {
          std::string out;
          for (const auto& item : one) {
            out += out.empty() ? "" : ", ";
            if constexpr (std::is_same_v<T, ValueMap>)
              out += (is_bare_key(item.key) ? item.key : quoted(item.key)) + ": " + flow_text(item.value);
            else
              out += flow_text(item);
          }
          return std::is_same_v<T, ValueMap> ? "{" + out + "}" : "[" + out + "]";
        }
      },
      value.is);
}

std::string found(const Value& value) {
  if (value.plain && value.text()) {
    const Value meant = resolved(value);
    const bool is_number = !meant.text() && !std::holds_alternative<bool>(meant.is);
    return is_number ? *value.text() : found(meant);  // as it was written
  }
  if (value.is_none()) return "nothing";
  if (const auto* const foreign = std::get_if<Foreign>(&value.is)) return foreign->text;
  if (const std::string* const text = value.text())
    return text->size() <= kLongestFound ? "'" + printable(*text) + "'"
                                         : fmt::format("a text of {} characters", text->size());
  std::string text = flow_text(value);
  if (text.size() <= kLongestFound) return text;
  if (const ValueList* const list = value.list()) return fmt::format("a list of {}", list->size());
  return value.map() ? "a map" : "an array of numbers";
}

Error refused(const Value& value, const At& at, std::string_view what, std::string_view hint) {
  const std::string place = at.text();
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("{}{}{}{}", value.line > 0 ? fmt::format("line {}: ", value.line) : "", place,
                           place.empty() ? "" : ": ", what))
      .with_hint(hint);
}

Error unexpected(const Value& value, const At& at, std::string_view expected) {
  const std::string place = at.text();
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("{}{}{}must be {}, not {}", value.line > 0 ? fmt::format("line {}: ", value.line) : "",
                           place, place.empty() ? "" : " ", expected, found(value)));
}

Status check_twice(const ValueMap& map, const At& at) {
  std::vector<const ValueEntry*> order;
  for (const ValueEntry& entry : map) order.push_back(&entry);
  std::ranges::stable_sort(order, {}, &ValueEntry::key);
  for (std::size_t i = 1; i < order.size(); ++i) {
    const ValueEntry &first = *order[i - 1], &again = *order[i];
    if (first.key != again.key) continue;
    const At here{&at, again.key};
    return refused({{}, false, again.line}, here,
                   first.line > 0 ? fmt::format("given twice, first on line {}", first.line) : "given twice");
  }
  return {};
}

Status check_keys(const ValueMap& map, const At& at, const std::vector<std::string>& known) {
  for (const ValueEntry& entry : map) {
    if (std::ranges::find(known, entry.key) != known.end()) continue;
    const std::optional<std::string> meant = did_you_mean(entry.key, known);
    return refused({{}, false, entry.line}, At{&at, entry.key}, "there is no such key",
                   fmt::format("{}There are: {}.", meant ? fmt::format("Did you mean {}? ", *meant) : "",
                               fmt::join(nearest_names(entry.key, known), ", ")));
  }
  HEADRACE_TRY(check_twice(map, at));
  for (const ValueEntry& entry : map)
    if (entry.line > 0 && entry.value.is_none())
      return refused({{}, false, entry.line}, At{&at, entry.key}, "a value is missing");
  return {};
}

}  // namespace headrace
