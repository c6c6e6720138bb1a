#include "format/zarr/json.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "base/text/read_json.h"

namespace headrace::zarr {
namespace {

/// Put bare NaN and Infinity between quotation marks.
std::string quote_bare_words(std::string_view text) {
  constexpr std::array<std::string_view, 3> kWords{"-Infinity", "Infinity", "NaN"};
  std::string out;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (in_text && c == '\\' && i + 1 < text.size()) {
      out.append(text.substr(i, 2));
      i += 2;
      continue;
    }
    if (c == '"') in_text = !in_text;
    std::string_view word;
    for (const std::string_view w : kWords)
      if (!in_text && word.empty() && text.substr(i).starts_with(w)) word = w;
    if (word.empty()) {
      out += c;
      ++i;
      continue;
    }
    out.append("\"").append(word).append("\"");
    i += word.size();
  }
  return out;
}

}  // namespace

Result<Json> parse_json(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Result<Json> parsed = read_json(text);
  if (!parsed.ok()) parsed = read_json(quote_bare_words(text));
  if (parsed.ok() && !parsed->is_object()) return Error(ErrorCode::kCorruptData, "the JSON is no object");
  return parsed;
}

const Json& member(const Json& object, const char* key) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

std::optional<std::string> text_of(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_string()) return std::nullopt;
  return value.get<std::string>();
}

std::optional<std::vector<std::uint64_t>> numbers_of(const Json& list) {
  if (!list.is_array()) return std::nullopt;
  std::vector<std::uint64_t> numbers;
  for (const Json& entry : list) {
    const bool negative = entry.is_number_integer() && !entry.is_number_unsigned() && entry.get<std::int64_t>() < 0;
    if (!entry.is_number_integer() || negative) return std::nullopt;
    numbers.push_back(entry.get<std::uint64_t>());
  }
  return numbers;
}

Status check_keys(const Json& object, std::span<const std::string_view> known) {
  if (const auto found = misspelt_key_in(object, known))
    return Error(ErrorCode::kCorruptData,
                 fmt::format("the metadata has no '{}', and an unknown '{}'", found->missing, found->unknown));
  return {};
}

std::string shown(const Json& value) {
  constexpr std::size_t kMost = 60;
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  if (text.size() > kMost) text = text.substr(0, kMost) + "…";
  return text;
}

}  // namespace headrace::zarr
