// The fields of JSON objects that decide ids: what is unknown, missing or of another type is refused, not guessed.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace headrace::tokenizing {

/// Return the member of an object; null where it is missing, or this is no object.
const nlohmann::json& member(const nlohmann::json& object, const char* key);

/// Return text; empty where it is missing or null. \param what  What the object is, for the error.
/// Errors: kCorruptData  it is something else.
Result<std::string> text_field(const nlohmann::json& object, const char* key, std::string_view what);

/// Return a flag; `otherwise` where it is missing. Errors: kCorruptData  it is missing and there is no `otherwise`, or
/// it is neither true nor false.
Result<bool> flag_field(const nlohmann::json& object, const char* key, std::optional<bool> otherwise,
                        std::string_view what);

/// Refuse an object with any other key, which may change ids. Errors: kUnsupported; kCorruptData  it is like a known
/// one, which is named.
Status only_keys(const nlohmann::json& object, std::initializer_list<const char*> known, std::string_view what);

/// Make the error for what would change ids and is not done here.
Error not_read(std::string what);

}  // namespace headrace::tokenizing
