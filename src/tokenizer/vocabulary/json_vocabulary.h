// The vocabulary and the merges of JSON and merge lists, in which bytes have names.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tokenizer/vocabulary/vocabulary.h"

namespace headrace::tokenizing {

/// Ids by the names that files have.
using NamedIds = std::unordered_map<std::string, std::uint32_t>;

/// Parse JSON. Errors: kCorruptData  it is none, or no object.
Result<nlohmann::json> parse_object(std::string_view text);

/// Return the ids of {"name": id}. Errors: kCorruptData  it is no such object.
Result<NamedIds> named_ids(const nlohmann::json& vocab);

/// Divide a merge such as "Ġt he". Errors: kCorruptData  these are not two names.
Result<std::pair<std::string, std::string>> divide_merge(std::string_view line, std::size_t number);

/// Make merges of pairs of names, in their order. Errors: kCorruptData  a name, or what both make, has no id.
Result<std::vector<NamedMerge>> ordered_merges(const NamedIds& ids,
                                               const std::vector<std::pair<std::string, std::string>>& pairs);

/// Put ids under their bytes into a vocabulary. A name that stands for no bytes is no token that merges could make.
Status put_ids(const NamedIds& ids, Vocabulary& vocabulary);

}  // namespace headrace::tokenizing
