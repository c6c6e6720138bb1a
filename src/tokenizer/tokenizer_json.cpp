#include <fmt/format.h>

#include "tokenizer/json_vocabulary.h"
#include "tokenizer/vocabulary_text.h"

namespace headrace::tokenizing {
namespace {

using Json = nlohmann::json;

const Json& member(const Json& object, const char* key) {
  static const Json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(key);
  return found == object.end() ? nothing : *found;
}

std::string word_in(const Json& object, const char* key) {
  const Json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

bool flag_in(const Json& object, const char* key, bool otherwise) {
  const Json& value = member(object, key);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

Error not_read(std::string what) {
  return std::move(Error(ErrorCode::kUnsupported, std::move(what))
                       .with_hint("Encode with the library tokenizers, and write the ids with hr.tokens.Writer."));
}

/// A Split that divides text into what its pattern matches; these patterns match all of it.
Result<Grammar> grammar_of_split(const Json& split) {
  const std::string pattern = word_in(member(split, "pattern"), "Regex");
  if (pattern.empty()) return not_read("the pre-tokenizer Split has no regular expression");
  const std::optional<Grammar> grammar = grammar_of_pattern(pattern);
  if (!grammar) return not_read(fmt::format("the pattern of the pre-tokenizer is unknown: {}", pattern));
  const std::string behavior = word_in(split, "behavior");
  const bool invert = flag_in(split, "invert", false);
  if ((behavior != "Isolated" || invert) && (behavior != "Removed" || !invert))
    return not_read(
        fmt::format("the pre-tokenizer Split has behavior \"{}\"{}; only Isolated, and inverted Removed, are supported",
                    behavior, invert ? ", inverted" : ""));
  return *grammar;
}

Status refuse_prefix(const Json& byte_level) {
  if (flag_in(byte_level, "add_prefix_space", true))
    return not_read("the pre-tokenizer puts a space before every text (add_prefix_space)");
  return {};
}

Result<Grammar> grammar_of(const Json& pre_tokenizer) {
  const std::string type = word_in(pre_tokenizer, "type");
  if (type == "ByteLevel") {
    HEADRACE_TRY(refuse_prefix(pre_tokenizer));
    if (!flag_in(pre_tokenizer, "use_regex", true))
      return not_read("the pre-tokenizer does not divide text into words");
    return Grammar::kGpt2;
  }
  if (type == "Sequence") {
    const Json& steps = member(pre_tokenizer, "pretokenizers");
    if (steps.is_array() && steps.size() == 1) return grammar_of(steps[0]);
    if (steps.is_array() && steps.size() == 2 && word_in(steps[0], "type") == "Split" &&
        word_in(steps[1], "type") == "ByteLevel" && !flag_in(steps[1], "use_regex", true)) {
      HEADRACE_TRY(refuse_prefix(steps[1]));
      return grammar_of_split(steps[0]);
    }
    return not_read("the pre-tokenizer is a sequence other than Split with ByteLevel behind it");
  }
  return not_read(type.empty() ? "there is no pre-tokenizer" : fmt::format("the pre-tokenizer is {}", type));
}

Status check_model(const Json& model) {
  const std::string type = word_in(model, "type");
  if (type != "BPE") return not_read(type.empty() ? "the model has no type" : fmt::format("the model is {}", type));
  const Json& dropout = member(model, "dropout");
  if (!dropout.is_null() && !(dropout.is_number() && dropout.get<double>() == 0))
    return not_read("merges are left out at random (dropout), so that ids would differ each time");
  if (flag_in(model, "byte_fallback", false)) return not_read("the model has byte_fallback, as SentencePiece has");
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (!word_in(model, affix).empty()) return not_read(fmt::format("the model has a {}", affix));
  return {};
}

Result<std::vector<std::pair<std::string, std::string>>> merges_in(const Json& list) {
  if (!list.is_array()) return Error(ErrorCode::kCorruptData, "\"merges\" is no list");
  std::vector<std::pair<std::string, std::string>> pairs;
  pairs.reserve(list.size());
  for (const Json& merge : list) {
    if (merge.is_string()) {
      HEADRACE_ASSIGN(auto pair, divide_merge(merge.get_ref<const std::string&>(), pairs.size()));
      pairs.push_back(std::move(pair));
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      pairs.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
    } else {
      return Error(ErrorCode::kCorruptData, fmt::format("merge {} is not two names", pairs.size()));
    }
  }
  return pairs;
}

/// An added word may stand for the bytes of another token, but not have the name of one.
Status put_added(const Json& list, const NamedIds& ids, Vocabulary& vocabulary) {
  if (list.is_null()) return {};
  if (!list.is_array()) return Error(ErrorCode::kCorruptData, "\"added_tokens\" is no list");
  for (const Json& entry : list) {
    const Json& id = member(entry, "id");
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > 0xFFFFFFFFu || !member(entry, "content").is_string())
      return Error(ErrorCode::kCorruptData, "an added token has no id or no content");
    AddedWord word{word_in(entry, "content"), id.get<std::uint32_t>()};
    if (const auto found = ids.find(word.text); found != ids.end() && found->second != word.id)
      return Error(ErrorCode::kCorruptData, fmt::format("\"{}\" is added as id {}, and is id {} of the vocabulary",
                                                        word.text, word.id, found->second));
    word.special = flag_in(entry, "special", false);
    word.normalized = flag_in(entry, "normalized", !word.special);
    for (const char* trait : {"lstrip", "rstrip", "single_word"})
      if (flag_in(entry, trait, false)) word.trait = trait;
    if (!word.special && !word.trait.empty())
      return not_read(fmt::format("the added token \"{}\" has {}", word.text, word.trait));
    vocabulary.added.push_back(std::move(word));
  }
  return {};
}

}  // namespace

Result<Vocabulary> parse_tokenizer_json(std::string_view text) {
  HEADRACE_ASSIGN(const Json json, parse_object(text));
  const Json& model = member(json, "model");
  if (!model.is_object())
    return std::move(Error(ErrorCode::kUnsupported, "this is no tokenizer.json: it has no \"model\"")
                         .with_hint("vocab.json and merges.txt are opened by the folder that they lie in."));
  HEADRACE_TRY(check_model(model));
  if (const Json& normalizer = member(json, "normalizer"); !normalizer.is_null())
    return not_read(fmt::format("text is normalized first ({})", word_in(normalizer, "type")));
  Vocabulary vocabulary;
  HEADRACE_ASSIGN(vocabulary.grammar, grammar_of(member(json, "pre_tokenizer")));
  vocabulary.whole_words = flag_in(model, "ignore_merges", false);
  HEADRACE_ASSIGN(const NamedIds ids, named_ids(member(model, "vocab")));
  HEADRACE_ASSIGN(const auto pairs, merges_in(member(model, "merges")));
  HEADRACE_ASSIGN(const auto merges, ordered_merges(ids, pairs));
  HEADRACE_TRY(put_ids(ids, vocabulary));
  HEADRACE_TRY(put_added(member(json, "added_tokens"), ids, vocabulary));
  HEADRACE_TRY(complete(vocabulary, merges));
  return vocabulary;
}

}  // namespace headrace::tokenizing
