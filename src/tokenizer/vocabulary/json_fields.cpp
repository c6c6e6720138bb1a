#include "tokenizer/vocabulary/json_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text/nearest_name.h"

namespace headrace::tokenizing {

using Json = nlohmann::json;

const Json& member(const Json& object, const char* key) {
  static const Json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(key);
  return found == object.end() ? nothing : *found;
}

Result<std::string> text_field(const Json& object, const char* key, std::string_view what) {
  const Json& value = member(object, key);
  if (value.is_null()) return std::string();
  if (value.is_string()) return value.get<std::string>();
  return Error(ErrorCode::kCorruptData, fmt::format("\"{}\" of {} is no text", key, what));
}

Result<bool> flag_field(const Json& object, const char* key, std::optional<bool> otherwise, std::string_view what) {
  const Json& value = member(object, key);
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_null() && otherwise) return *otherwise;
  return Error(ErrorCode::kCorruptData,
               fmt::format("\"{}\" of {} is {}, where true or false is expected", key, what,
                           value.is_null() ? std::string("missing") : value.dump().substr(0, 60)));
}

Status only_keys(const Json& object, std::initializer_list<const char*> known, std::string_view what) {
  if (!object.is_object()) return Error(ErrorCode::kCorruptData, fmt::format("{} is no object", what));
  for (const auto& entry : object.items()) {
    const std::string& key = entry.key();
    if (std::any_of(known.begin(), known.end(), [&](const char* one) { return key == one; })) continue;
    const std::vector<std::string> names(known.begin(), known.end());
    if (const auto meant = did_you_mean(key, names))
      return Error(ErrorCode::kCorruptData, fmt::format("{} has a key \"{}\", which is unknown (a damaged "
                                                        "\"{}\"?)",
                                                        what, key, *meant))
          .with_hint("Correct the file, or fetch it again.");
    return not_read(fmt::format("{} has a key \"{}\", which is unknown", what, key));
  }
  return {};
}

Error not_read(std::string what) {
  return Error(ErrorCode::kUnsupported, std::move(what))
      .with_hint("Encode with the library tokenizers, and write the ids with hr.tokens.Writer.");
}

}  // namespace headrace::tokenizing
