// The JSON of Zarr's metadata. Nothing of nlohmann's leaves this folder.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headrace::zarr {

using Json = nlohmann::json;

/// Parse a document. Python writes NaN and Infinity as bare words, which are no JSON: they become the texts "NaN",
/// "Infinity" and "-Infinity", as Zarr spells such fill values. Errors: kCorruptData  anything else that is no JSON, or
/// no object.
Result<Json> parse_json(std::span<const std::byte> bytes);

/// Return a member; null where the object has none.
const Json& member(const Json& object, const char* key);
/// Return the text of a member; nullopt where there is none.
std::optional<std::string> text_of(const Json& object, const char* key);
/// Return whole numbers from 0 on; nullopt for anything else.
std::optional<std::vector<std::uint64_t>> numbers_of(const Json& list);
/// Refuse an object in which a known key is missing beside an unknown one that is like it. Errors: kCorruptData.
Status check_keys(const Json& object, std::span<const std::string_view> known);
/// Return a value as people would write it, short.
std::string shown(const Json& value);

}  // namespace headrace::zarr
