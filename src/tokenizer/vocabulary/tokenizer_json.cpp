#include <fmt/format.h>

#include "tokenizer/added_ids.h"
#include "tokenizer/vocabulary/json_fields.h"
#include "tokenizer/vocabulary/json_vocabulary.h"
#include "tokenizer/vocabulary/vocabulary_text.h"

namespace headrace::tokenizing {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kPreTokenizer = "the pre-tokenizer";

/// A Split that divides text into what its pattern matches; these patterns match all of it.
Result<Grammar> grammar_of_split(const Json& split) {
  HEADRACE_TRY(only_keys(split, {"type", "pattern", "behavior", "invert"}, kPreTokenizer));
  HEADRACE_ASSIGN(const std::string pattern, text_field(member(split, "pattern"), "Regex", kPreTokenizer));
  if (pattern.empty()) return not_read("the pre-tokenizer Split has no regular expression");
  const std::optional<Grammar> grammar = grammar_of_pattern(pattern);
  if (!grammar) return not_read(fmt::format("the pattern of the pre-tokenizer is unknown: {}", pattern));
  HEADRACE_ASSIGN(const std::string behavior, text_field(split, "behavior", kPreTokenizer));
  HEADRACE_ASSIGN(const bool invert, flag_field(split, "invert", std::nullopt, kPreTokenizer));
  if ((behavior != "Isolated" || invert) && (behavior != "Removed" || !invert))
    return not_read(
        fmt::format("the pre-tokenizer Split has behavior \"{}\"{}; only Isolated, and inverted Removed, are supported",
                    behavior, invert ? ", inverted" : ""));
  return *grammar;
}

/// Check what names bytes. \return True if it also divides text into GPT-2's words.
Result<bool> divides_into_words(const Json& byte_level) {
  HEADRACE_TRY(only_keys(byte_level, {"type", "add_prefix_space", "trim_offsets", "use_regex"}, kPreTokenizer));
  HEADRACE_ASSIGN(const bool prefix, flag_field(byte_level, "add_prefix_space", std::nullopt, kPreTokenizer));
  if (prefix) return not_read("the pre-tokenizer puts a space before every text (add_prefix_space)");
  return flag_field(byte_level, "use_regex", true, kPreTokenizer);
}

Result<Grammar> grammar_of(const Json& pre_tokenizer) {
  HEADRACE_ASSIGN(const std::string type, text_field(pre_tokenizer, "type", kPreTokenizer));
  if (type == "ByteLevel") {
    HEADRACE_ASSIGN(const bool words, divides_into_words(pre_tokenizer));
    if (!words) return not_read("the pre-tokenizer does not divide text into words");
    return Grammar::kGpt2;
  }
  if (type == "Sequence") {
    HEADRACE_TRY(only_keys(pre_tokenizer, {"type", "pretokenizers"}, kPreTokenizer));
    const Json& steps = member(pre_tokenizer, "pretokenizers");
    if (steps.is_array() && steps.size() == 1) return grammar_of(steps[0]);
    if (steps.is_array() && steps.size() == 2 && member(steps[0], "type") == "Split" &&
        member(steps[1], "type") == "ByteLevel") {
      HEADRACE_ASSIGN(const bool words, divides_into_words(steps[1]));
      if (!words) return grammar_of_split(steps[0]);
    }
    return not_read("the pre-tokenizer is a sequence other than Split with ByteLevel behind it");
  }
  return not_read(type.empty() ? "there is no pre-tokenizer" : fmt::format("the pre-tokenizer is {}", type));
}

/// Files of before 2021 have no type, of which tokenizers takes those with merges for BPE.
Status check_model(const Json& model) {
  constexpr std::string_view what = "the model";
  HEADRACE_ASSIGN(const std::string type, text_field(model, "type", what));
  if (type != "BPE" && !(type.empty() && model.contains("merges")))
    return not_read(type.empty() ? "the model has no type" : fmt::format("the model is {}", type));
  HEADRACE_TRY(only_keys(model,
                         {"type", "vocab", "merges", "dropout", "unk_token", "continuing_subword_prefix",
                          "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges"},
                         what));
  const Json& dropout = member(model, "dropout");
  if (!dropout.is_null() && !(dropout.is_number() && dropout.get<double>() == 0))
    return not_read("merges are left out at random (dropout), so that ids would differ each time");
  HEADRACE_ASSIGN(const bool fallback, flag_field(model, "byte_fallback", false, what));
  if (fallback) return not_read("the model has byte_fallback, as SentencePiece has");
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    HEADRACE_ASSIGN(const std::string text, text_field(model, affix, what));
    if (!text.empty()) return not_read(fmt::format("the model has a {}", affix));
  }
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

}  // namespace

Result<Vocabulary> parse_tokenizer_json(std::string_view text) {
  HEADRACE_ASSIGN(const Json json, parse_object(text));
  const Json& model = member(json, "model");
  if (!model.is_object())
    return Error(ErrorCode::kUnsupported, "this is no tokenizer.json: it has no \"model\"")
        .with_hint("vocab.json and merges.txt are opened by the folder that they lie in.");
  HEADRACE_TRY(only_keys(json,
                         {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
                          "post_processor", "decoder", "model"},
                         "the file"));
  HEADRACE_TRY(check_model(model));
  if (const Json& normalizer = member(json, "normalizer"); !normalizer.is_null())
    return not_read(fmt::format("text is normalized first ({})", member(normalizer, "type").dump()));
  Vocabulary vocabulary;
  HEADRACE_ASSIGN(vocabulary.grammar, grammar_of(member(json, "pre_tokenizer")));
  HEADRACE_ASSIGN(vocabulary.whole_words, flag_field(model, "ignore_merges", false, "the model"));
  HEADRACE_ASSIGN(const NamedIds ids, named_ids(member(model, "vocab")));
  HEADRACE_ASSIGN(const auto pairs, merges_in(member(model, "merges")));
  HEADRACE_ASSIGN(const auto merges, ordered_merges(ids, pairs));
  HEADRACE_TRY(put_ids(ids, vocabulary));
  if (json.contains("added_tokens")) HEADRACE_TRY(put_added(json["added_tokens"], ids, vocabulary));
  HEADRACE_TRY(complete(vocabulary, merges));
  return vocabulary;
}

}  // namespace headrace::tokenizing
