#include "tokenizer/added_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_set>

#include "tokenizer/vocabulary/json_fields.h"

namespace headrace::tokenizing {
namespace {

using Json = nlohmann::json;

Result<AddedWord> parse_word(const Json& entry) {
  constexpr std::string_view what = "an added token";
  HEADRACE_TRY(only_keys(entry, {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}, what));
  const Json& id = member(entry, "id");
  if (!id.is_number_unsigned() || id.get<std::uint64_t>() > 0xFFFFFFFFu || !member(entry, "content").is_string())
    return Error(ErrorCode::kCorruptData, "an added token has no id or no content");
  AddedWord word{member(entry, "content").get<std::string>(), id.get<std::uint32_t>()};
  HEADRACE_ASSIGN(word.special, flag_field(entry, "special", std::nullopt, what));
  HEADRACE_ASSIGN(word.normalized, flag_field(entry, "normalized", std::nullopt, what));
  for (const char* trait : {"lstrip", "rstrip", "single_word"}) {
    HEADRACE_ASSIGN(const bool has, flag_field(entry, trait, std::nullopt, what));
    if (has) word.trait = trait;
  }
  if (!word.special && !word.trait.empty())
    return not_read(fmt::format("the added token \"{}\" has {}", word.text, word.trait));
  return word;
}

}  // namespace

Status put_added(const Json& list, const NamedIds& ids, Vocabulary& vocabulary) {
  if (!list.is_array()) return Error(ErrorCode::kCorruptData, "\"added_tokens\" is no list");
  const auto count = static_cast<std::uint32_t>(ids.size());
  std::optional<std::uint32_t> largest;
  std::unordered_set<std::uint32_t> taken;  // by the file's numbers
  for (const auto& [name, id] : ids) taken.insert(id);
  std::size_t others = 0;
  std::string first;
  for (const Json& entry : list) {
    HEADRACE_ASSIGN(AddedWord word, parse_word(entry));
    const std::uint32_t said = word.id;
    if (const auto found = ids.find(word.text); found == ids.end()) {
      if (!taken.insert(said).second)
        return Error(ErrorCode::kCorruptData,
                     fmt::format("two words share id {}: \"{}\" is one of them", said, word.text));
      word.id = largest && *largest >= count ? *largest + 1 : count;
      if (word.id != said && others++ == 0)
        first = fmt::format("\"{}\" is {}, where the file says {}", word.text, word.id, said);
    } else if (found->second != said) {
      return Error(ErrorCode::kCorruptData, fmt::format("\"{}\" is added as id {}, and is id {} of the vocabulary",
                                                        word.text, said, found->second));
    }
    largest = std::max(largest.value_or(0), word.id);
    vocabulary.added.push_back(std::move(word));
  }
  if (others > 0)
    vocabulary.notices.push_back(fmt::format(
        "the ids of {} added words leave holes or are out of order, and get the next free ones, as the library "
        "tokenizers numbers them: {}",
        others, first));
  return {};
}

}  // namespace headrace::tokenizing
