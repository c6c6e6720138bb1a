#include "tokenizer/vocabulary/json_vocabulary.h"

#include <fmt/format.h>

#include "base/text/read_json.h"
#include "tokenizer/vocabulary/byte_names.h"
#include "tokenizer/word_table.h"

namespace headrace::tokenizing {

using Json = nlohmann::json;

Result<Json> parse_object(std::string_view text) {
  HEADRACE_ASSIGN(Json json, read_json(text));
  if (!json.is_object()) return Error(ErrorCode::kCorruptData, "the JSON is no object");
  return json;
}

Result<NamedIds> named_ids(const Json& vocab) {
  if (!vocab.is_object()) return Error(ErrorCode::kCorruptData, "the vocabulary is no object of names and ids");
  NamedIds ids;
  ids.reserve(vocab.size());
  for (const auto& [name, id] : vocab.items()) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= kMostIds)
      return Error(ErrorCode::kCorruptData, fmt::format("the id of \"{}\" is no whole number below 2^24", name));
    ids[name] = id.get<std::uint32_t>();
  }
  return ids;
}

Result<std::pair<std::string, std::string>> divide_merge(std::string_view line, std::size_t number) {
  const std::size_t blank = line.find(' ');
  if (blank == std::string_view::npos || blank == 0 || blank + 1 == line.size() ||
      line.find(' ', blank + 1) != std::string_view::npos)
    return Error(ErrorCode::kCorruptData, fmt::format("merge {} is not two names: \"{}\"", number, line));
  return std::pair(std::string(line.substr(0, blank)), std::string(line.substr(blank + 1)));
}

Result<std::vector<NamedMerge>> ordered_merges(const NamedIds& ids,
                                               const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::vector<NamedMerge> merges;
  merges.reserve(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto left = ids.find(pairs[i].first), right = ids.find(pairs[i].second);
    const auto result = ids.find(pairs[i].first + pairs[i].second);
    for (const auto& [found, name] : {std::pair(left, pairs[i].first), std::pair(right, pairs[i].second),
                                      std::pair(result, pairs[i].first + pairs[i].second)})
      if (found == ids.end())
        return Error(ErrorCode::kCorruptData,
                     fmt::format("merge {} needs \"{}\", which the vocabulary lacks", i, name));
    merges.push_back({left->second, right->second, {static_cast<std::uint32_t>(i), result->second}});
  }
  return merges;
}

Status put_ids(const NamedIds& ids, Vocabulary& vocabulary) {
  vocabulary.ids.reserve(ids.size());
  for (const auto& [name, id] : ids) {
    std::optional<std::string> bytes = bytes_of_name(name);
    if (bytes && !bytes->empty()) {
      vocabulary.ids.emplace(std::move(*bytes), id);
      continue;
    }
    if (vocabulary.tokens.size() <= id) vocabulary.tokens.resize(id + 1);
    if (vocabulary.tokens[id])
      return Error(ErrorCode::kCorruptData, fmt::format("two words share id {}: \"{}\" is one of them", id, name));
    vocabulary.tokens[id] = name;
  }
  return {};
}

}  // namespace headrace::tokenizing
