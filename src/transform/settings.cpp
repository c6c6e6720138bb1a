#include "transform/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cmath>

#include "base/checksum/crc32c.h"
#include "base/random/philox.h"
#include "base/text/nearest_name.h"
#include "base/text/number_text.h"
#include "transform/numbers.h"

namespace headrace {
namespace {

constexpr std::size_t kMostNumbers = 32;  // what is still read

struct SettingText {
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return fmt::format("'{}'", value); }
  /// A long list is told by its size and a hash: it is part of states and of what is printed.
  std::string operator()(const std::vector<double>& value) const {
    if (value.size() <= kMostNumbers) return fmt::format("[{}]", fmt::join(value, ", "));
    RandomKey key = RandomKey::of({value.size()});
    for (const double one : value) key = key.with(std::bit_cast<std::uint64_t>(one));
    return fmt::format("[{} numbers, {:016x}]", group_digits(value.size()), key.low);
  }
  std::string operator()(const std::vector<WholeNumber>& value) const {
    std::vector<std::string> texts;
    if (value.size() <= kMostNumbers) {
      for (const WholeNumber& one : value) texts.push_back(one.text());
      return fmt::format("[{}]", fmt::join(texts, ", "));
    }
    RandomKey key = RandomKey::of({value.size()});
    for (const WholeNumber& one : value) key = key.with(one < WholeNumber() ? 1 : 0).with(one.bits());
    return fmt::format("[{} numbers, {:016x}]", group_digits(value.size()), key.low);
  }
  std::string operator()(const std::vector<NumberColumn>& value) const {
    std::vector<std::string> texts;
    for (const NumberColumn& column : value)
      texts.push_back(
          fmt::format("{} {}, {:08x}", group_digits(column.size()), column.dtype().name(), crc32c(column.bytes())));
    return fmt::format("[{}]", fmt::join(texts, "; "));
  }
  std::string operator()(const std::vector<std::string>& value) const {
    return fmt::format("['{}']", fmt::join(value, "', '"));
  }
};

/// What follows "a whole number".
std::string limits(std::int64_t least, std::int64_t most) {
  return most == Settings::kNoLimit ? fmt::format(" of at least {}", least)
                                    : fmt::format(" from {} to {}", least, most);
}

}  // namespace

std::string Transform::text() const {
  std::string inside = fmt::format("{}", fmt::join(fields, ", "));
  for (const auto& [key, value] : settings)
    inside += fmt::format("{}{}={}", inside.empty() ? "" : ", ", key, std::visit(SettingText{}, value));
  return fmt::format("{}({})", name, inside);
}

Error transform_error(const Transform& transform, const std::string& text, std::string_view hint) {
  Error error(ErrorCode::kInvalidArgument, fmt::format("{}: {}", transform.name, text));
  if (!transform.fields.empty()) error.with_field(transform.fields[0]);
  return std::move(error.with_hint(hint));
}

void Settings::refuse(const std::string& text, std::string_view hint) {
  if (!error_) error_ = transform_error(transform_, text, hint);
}

const Setting* Settings::find(const std::string& name, bool must) {
  known_.insert(name);
  const auto it = transform_.settings.find(name);
  if (it != transform_.settings.end()) return &it->second;
  if (must) refuse(fmt::format("{}= is missing", name));
  return nullptr;
}

void Settings::wrong(const std::string& name, std::string_view expected) {
  refuse(fmt::format("{} must be {}, not {}", name, expected,
                     std::visit(SettingText{}, transform_.settings.find(name)->second)));
}

double Settings::number(const std::string& name, std::optional<double> otherwise) {
  const Setting* const found = find(name, !otherwise);
  if (!found) return otherwise.value_or(0);
  if (const auto* whole = std::get_if<std::int64_t>(found)) return static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(found)) return *number;
  return wrong(name, "a number"), 0;
}

std::int64_t Settings::whole(const std::string& name, std::optional<std::int64_t> otherwise, std::int64_t least,
                             std::int64_t most) {
  const Setting* const found = find(name, !otherwise);
  if (!found) return otherwise.value_or(least);
  const auto* value = std::get_if<std::int64_t>(found);
  if (!value || *value < least || *value > most) return wrong(name, "a whole number" + limits(least, most)), least;
  return *value;
}

std::vector<std::int64_t> Settings::wholes(const std::string& name, std::optional<std::vector<std::int64_t>> otherwise,
                                           std::int64_t least, std::int64_t most) {
  if (otherwise && !has(name)) return find(name, false), *otherwise;
  std::vector<std::int64_t> made;
  for (const double value : numbers(name)) {
    constexpr double kExact = 0x1p53;  // beyond, a double is no longer every whole number
    if (!(std::abs(value) <= kExact) || value != std::floor(value) || value < static_cast<double>(least) ||
        value > static_cast<double>(most))
      return wrong(name, "a whole number, or a list of them," + limits(least, most)), std::vector<std::int64_t>{};
    made.push_back(static_cast<std::int64_t>(value));
  }
  return made;
}

double Settings::number_of(const DType& type, const std::string& name, std::optional<double> otherwise) {
  const double value = number(name, otherwise);
  if (!has_number(type, value))
    refuse(fmt::format("{} is {}, which no value of type {} is", name, value, type.name()),
           "Take one that it holds, or T.Cast the field first.");
  return value;
}

bool Settings::flag(const std::string& name, bool otherwise) {
  const Setting* const found = find(name, false);
  if (!found) return otherwise;
  if (const auto* value = std::get_if<bool>(found)) return *value;
  return wrong(name, "True or False"), otherwise;
}

std::string Settings::text(const std::string& name, const std::optional<std::string>& otherwise) {
  const Setting* const found = find(name, !otherwise);
  if (!found) return otherwise.value_or("");
  if (const auto* value = std::get_if<std::string>(found)) return *value;
  return wrong(name, "text"), "";
}

std::vector<double> Settings::numbers(const std::string& name, std::optional<std::vector<double>> otherwise) {
  const Setting* const found = find(name, !otherwise);
  if (!found) return otherwise.value_or(std::vector<double>{});
  if (const auto* list = std::get_if<std::vector<double>>(found)) {
    if (list->empty()) wrong(name, "a number, or a list of them");
    return *list;
  }
  if (const auto* list = std::get_if<std::vector<WholeNumber>>(found)) {
    if (list->empty()) wrong(name, "a number, or a list of them");
    std::vector<double> rounded;
    for (const WholeNumber& one : *list) rounded.push_back(one.rounded<double>());
    return rounded;
  }
  if (std::holds_alternative<std::int64_t>(*found) || std::holds_alternative<double>(*found)) return {number(name)};
  return wrong(name, "a number, or a list of them"), std::vector<double>{};
}

ExactNumber Settings::exact_number(const std::string& name, double otherwise) {
  const auto* const found = find(name, false);
  if (!found) return otherwise;
  if (const auto* whole = std::get_if<std::int64_t>(found)) return WholeNumber(*whole);
  if (const auto* number = std::get_if<double>(found)) return *number;
  const auto* wide = std::get_if<std::vector<WholeNumber>>(found);
  if (wide != nullptr && wide->size() == 1) return wide->front();
  const auto* rounded = std::get_if<std::vector<double>>(found);  // of integers that double has
  if (rounded != nullptr && rounded->size() == 1) return rounded->front();
  return wrong(name, "a number"), ExactNumber(otherwise);
}

std::vector<ExactNumber> Settings::exact_numbers(const std::string& name) {
  const std::vector<double> rounded = numbers(name);  // refuses all else
  const Setting* const found = find(name, false);
  if (found != nullptr && std::holds_alternative<std::int64_t>(*found))
    return {WholeNumber(std::get<std::int64_t>(*found))};
  if (found != nullptr && std::holds_alternative<std::vector<WholeNumber>>(*found)) {
    const auto& list = std::get<std::vector<WholeNumber>>(*found);
    return {list.begin(), list.end()};
  }
  return {rounded.begin(), rounded.end()};
}

std::vector<NumberColumn> Settings::columns(const std::string& name) {
  const Setting* const found = find(name, true);
  if (found == nullptr) return {};
  if (const auto* list = std::get_if<std::vector<NumberColumn>>(found)) return *list;
  wrong(name, "columns of numbers");
  return {};
}

std::vector<std::string> Settings::texts(const std::string& name, std::optional<std::vector<std::string>> otherwise) {
  const Setting* const found = find(name, !otherwise);
  if (!found) return otherwise.value_or(std::vector<std::string>{});
  if (const auto* list = std::get_if<std::vector<std::string>>(found)) return *list;
  if (const auto* one = std::get_if<std::string>(found)) return {*one};
  return wrong(name, "a list of texts"), std::vector<std::string>{};
}

Status Settings::finish() const {
  if (error_) return *error_;
  const std::vector<std::string> known(known_.begin(), known_.end());
  for (const auto& [name, value] : transform_.settings) {
    if (known_.contains(name)) continue;
    const std::optional<std::string> meant = did_you_mean(name, known);
    return transform_error(
        transform_, fmt::format("no setting is called '{}'", name),
        meant ? fmt::format("Did you mean {}=?", *meant) : fmt::format("There are: {}.", list_names(known)));
  }
  return {};
}

}  // namespace headrace
