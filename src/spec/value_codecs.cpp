#include "spec/value_codecs.h"

#include "base/text/nearest_name.h"

namespace headrace {

Status ValueCodec<bool>::read(const Value& value, const At& at, const Bounds& bounds, bool& to) {
  const Value meant = resolved(value);
  const bool* const on = std::get_if<bool>(&meant.is);
  if (!on) return unexpected(value, at, words(bounds));
  to = *on;
  return {};
}

std::string whole_number_words(const Bounds& bounds) {
  if (bounds.most == std::numeric_limits<std::uint64_t>::max() && bounds.least == 0)
    return "a whole number from 0 to 2^64 - 1";
  if (bounds.most == std::numeric_limits<std::uint64_t>::max())
    return fmt::format("a whole number of at least {}", bounds.least);
  return fmt::format("a whole number from {} to {}", bounds.least, bounds.most);
}

Result<std::uint64_t> read_whole(const Value& value, const At& at, const Bounds& bounds) {
  const Value meant = resolved(value);
  const auto* const number = std::get_if<WholeNumber>(&meant.is);
  const std::optional<std::uint64_t> above_0 = number ? number->as<std::uint64_t>() : std::nullopt;
  if (!above_0 || *above_0 < bounds.least || *above_0 > bounds.most)
    return unexpected(value, at, whole_number_words(bounds));
  return *above_0;
}

Status ValueCodec<WholeNumber>::read(const Value& value, const At& at, const Bounds& bounds, WholeNumber& to) {
  const Value meant = resolved(value);
  if (const auto* const number = std::get_if<WholeNumber>(&meant.is)) return to = *number, Status();
  const auto* const real = std::get_if<double>(&meant.is);  // 2.0, which labels of floating point numbers have
  const std::optional<WholeNumber> whole = real ? WholeNumber::of(*real) : std::nullopt;
  if (!whole) return unexpected(value, at, words(bounds));
  to = *whole;
  return {};
}

void ValueCodec<WholeNumber>::pack(PackedWriter& out, const WholeNumber& from) {
  out.flag(from < WholeNumber());
  out.number(from.bits());
}

void ValueCodec<WholeNumber>::unpack(PackedReader& in, const Bounds&, WholeNumber& to) {
  const bool is_negative = in.flag();
  const std::uint64_t bits = in.number();
  to = is_negative ? WholeNumber(static_cast<std::int64_t>(bits)) : WholeNumber(bits);
}

Status ValueCodec<double>::read(const Value& value, const At& at, const Bounds& bounds, double& to) {
  const Value meant = resolved(value);
  if (const auto* const real = std::get_if<double>(&meant.is)) return to = *real, Status();
  const auto* const number = std::get_if<WholeNumber>(&meant.is);
  if (!number) return unexpected(value, at, words(bounds));
  to = number->rounded<double>();
  return {};
}

Status ValueCodec<std::string>::read(const Value& value, const At& at, const Bounds& bounds, std::string& to) {
  const std::string* const text = value.text();
  if (!text || text->empty()) return unexpected(value, at, words(bounds));
  to = *text;
  return {};
}

Result<std::size_t> read_word(const Value& value, const At& at, const std::vector<std::string>& words) {
  const std::string* const text = value.text();
  for (std::size_t i = 0; text && i < words.size(); ++i)
    if (words[i] == *text) return i;
  const std::optional<std::string> meant = text ? did_you_mean(*text, words) : std::nullopt;
  Error error = unexpected(value, at, one_of_words(words));
  return std::move(meant ? error.with_hint(fmt::format("Did you mean '{}'?", *meant)) : error);
}

}  // namespace headrace
