// JSON that may be anyone's: of a depth that no reader of it runs out of stack for.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text/nearest_name.h"

namespace headrace {

/// The most lists and objects inside each other. What reads or writes a document calls itself for each.
inline constexpr int kMostJsonDepth = 256;

/// Return true if a document is nested deeper than kMostJsonDepth. Reads brackets outside of strings alone.
bool is_too_deep(std::string_view json);

/// Parse a document, as Json or with its keys in their order (nlohmann::ordered_json).
/// Errors: kCorruptData  it is no JSON, or nested too deeply.
template <class Json = nlohmann::json>
Result<Json> read_json(std::string_view text) {
  if (is_too_deep(text)) return Error(ErrorCode::kCorruptData, "the JSON is nested deeper than 256 levels");
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Error(ErrorCode::kCorruptData, "this is no JSON: cut short, or damaged");
  return json;
}

/// Return misspelt_key() of an object's keys.
template <class Json>
auto misspelt_key_in(const Json& object, std::span<const std::string_view> known) {
  std::vector<std::string> keys;
  for (const auto& entry : object.items()) keys.push_back(entry.key());
  return misspelt_key(keys, known);
}

}  // namespace headrace
