#include "tokenizer/vocabulary/vocabulary_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tokenizer/added_words.h"

namespace headrace::tokenizing {
namespace {

using Json = nlohmann::json;

std::string utf8(std::uint32_t code) {
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
}

Json word(std::uint32_t id, const char* text, const Json& other = Json::object()) {
  Json made = {{"id", id},        {"content", text},     {"single_word", false}, {"lstrip", false},
               {"rstrip", false}, {"normalized", false}, {"special", true}};
  made.update(other);
  return made;
}

/// All bytes by their names, "ab" and "abc".
Json small_file() {
  Json vocab = Json::object();
  std::uint32_t other = 256;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    const bool prints = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
    vocab[utf8(prints ? byte : other++)] = byte;
  }
  vocab["ab"] = 256;
  vocab["abc"] = 257;
  return {{"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
          {"added_tokens", Json::array({word(258, "<|endoftext|>")})},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", {"a b", "ab c"}}}}};
}

TEST(TokenizerJson, ReadsVocabularyMergesAndAddedWords) {
  const Vocabulary read = parse_tokenizer_json(small_file().dump()).value();
  EXPECT_EQ(read.grammar, Grammar::kGpt2);
  EXPECT_EQ(read.byte_ids[' '], 32u);
  EXPECT_EQ(read.pairs.find('a', 'b').result, 256u);
  EXPECT_EQ(read.pairs.find(256, 'c').rank, 1u);
  EXPECT_EQ(read.pairs.find('b', 'c').rank, kNoRank);
  EXPECT_EQ(read.tokens.size(), 259u);
  Json pairs = small_file();
  pairs["model"]["merges"] = Json::array({Json::array({"a", "b"}), Json::array({"ab", "c"})});
  EXPECT_EQ(parse_tokenizer_json(pairs.dump()).value().hash, read.hash);
  pairs["model"]["merges"] = Json::array({Json::array({"ab", "c"}), Json::array({"a", "b"})});
  EXPECT_NE(parse_tokenizer_json(pairs.dump()).value().hash, read.hash);
}

TEST(TokenizerJson, RefusesByNameWhatItDoesNotDo) {
  const auto refused = [](const char* pointer, const Json& value, const std::string& word) {
    Json file = small_file();
    file[Json::json_pointer(pointer)] = value;
    const auto read = parse_tokenizer_json(file.dump());
    ASSERT_FALSE(read.ok()) << pointer;
    EXPECT_EQ(read.error().code(), ErrorCode::kUnsupported) << read.error().what();
    EXPECT_NE(read.error().message().find(word), std::string::npos) << read.error().what();
  };
  refused("/normalizer", {{"type", "NFC"}}, "NFC");
  refused("/model/type", "WordPiece", "WordPiece");
  refused("/model/type", "Unigram", "Unigram");
  refused("/model/byte_fallback", true, "byte_fallback");
  refused("/model/dropout", 0.1, "dropout");
  refused("/model/end_of_word_suffix", "</w>", "end_of_word_suffix");
  refused("/pre_tokenizer", nullptr, "no pre-tokenizer");
  refused("/pre_tokenizer/type", "Metaspace", "Metaspace");
  refused("/pre_tokenizer/add_prefix_space", true, "add_prefix_space");
  refused("/pre_tokenizer",
          {{"type", "Sequence"}, {"pretokenizers", Json::array({{{"type", "Digits"}}, {{"type", "ByteLevel"}}, {}})}},
          "sequence");
  refused("/pre_tokenizer", {{"type", "Split"}}, "Split");
  refused("/added_tokens/0", word(258, "<x>", {{"special", false}, {"lstrip", true}}), "lstrip");
}

TEST(TokenizerJson, RefusesKeysThatAreUnknown) {
  for (const auto& [object, key] :
       {std::pair("", "added_tokens"), std::pair("", "normalizer"), std::pair("/model", "ignore_merges"),
        std::pair("/model", "merges"), std::pair("/pre_tokenizer", "use_regex"),
        std::pair("/added_tokens/0", "special")}) {
    Json file = small_file();
    Json& owner = file[Json::json_pointer(object)];
    std::string damaged = key;
    damaged[2] = '_';
    owner[damaged] = owner.contains(key) ? owner[key] : Json(true);
    owner.erase(key);
    const auto read = parse_tokenizer_json(file.dump());
    ASSERT_FALSE(read.ok()) << damaged;
    EXPECT_EQ(read.error().code(), ErrorCode::kCorruptData) << read.error().what();
    EXPECT_NE(read.error().message().find(damaged), std::string::npos) << read.error().what();
    EXPECT_NE(read.error().message().find(key), std::string::npos) << read.error().what();
  }
}

TEST(TokenizerJson, WordsWithoutTheNextIdGetIt) {
  Json file = small_file();
  file["added_tokens"].push_back(word(300, "<x>"));
  file["added_tokens"].push_back(word(301, "<y>"));
  const Vocabulary read = parse_tokenizer_json(file.dump()).value();
  EXPECT_EQ(read.added[1].id, 259u);
  EXPECT_EQ(read.added[2].id, 260u);
  EXPECT_EQ(read.tokens.size(), 261u);
  ASSERT_EQ(read.notices.size(), 1u);
  EXPECT_NE(read.notices[0].find("\"<x>\" is 259, where the file says 300"), std::string::npos) << read.notices[0];
  EXPECT_TRUE(parse_tokenizer_json(small_file().dump()).value().notices.empty());
}

TEST(TokenizerJson, FilesWithoutTypeAreBpeIfTheyHaveMerges) {
  Json file = small_file();
  const std::string hash = parse_tokenizer_json(file.dump()).value().hash;
  file["model"].erase("type");
  EXPECT_EQ(parse_tokenizer_json(file.dump()).value().hash, hash);
  file["model"].erase("merges");
  EXPECT_EQ(parse_tokenizer_json(file.dump()).error().code(), ErrorCode::kUnsupported);
}

TEST(TokenizerJson, RefusesWhatContradictsItself) {
  const auto damaged = [](const char* pointer, const Json& value) {
    Json file = small_file();
    file[Json::json_pointer(pointer)] = value;
    const auto read = parse_tokenizer_json(file.dump());
    ASSERT_FALSE(read.ok()) << pointer;
    EXPECT_EQ(read.error().code(), ErrorCode::kCorruptData) << read.error().what();
  };
  damaged("/model/merges", {"a b c"});
  damaged("/model/merges", {"a z"});
  damaged("/model/merges", {7});
  damaged("/model/vocab/abc", 256);
  damaged("/model/vocab/abc", -1);
  damaged("/model/ignore_merges", "yes");
  damaged("/model/byte_fallback", 1);
  damaged("/model/end_of_word_suffix", 1);
  damaged("/pre_tokenizer/use_regex", "true");
  damaged("/pre_tokenizer/add_prefix_space", nullptr);
  damaged("/added_tokens/0/special", nullptr);
  damaged("/added_tokens/0/lstrip", 0);
  damaged("/added_tokens", {{"<|endoftext|>", 258}});
  damaged("/added_tokens/1", word(258, "<|endoftext|>"));
  damaged("/added_tokens/1", word(3, "abc"));
  damaged("/added_tokens/1", word(258, "<|pad|>"));
  damaged("/added_tokens/1", word(3, "<|pad|>"));
  damaged("/added_tokens/0/content", "abc");
  EXPECT_EQ(parse_tokenizer_json("{\"model\"").error().code(), ErrorCode::kCorruptData);
  EXPECT_EQ(parse_tokenizer_json("[]").error().code(), ErrorCode::kCorruptData);
}

TEST(Tiktoken, LinesAreTokensAndRanks) {
  const auto of = [](const char* text) { return parse_tiktoken(text, Grammar::kCl100k, {}); };
  for (const char* text : {"YQ== x\n", "YQ==\n", "Y\n", "YQ== 1\nYQ== 2\n", "YQ== 1\nYg== 1\n", "!!!! 3\n"})
    EXPECT_EQ(of(text).error().code(), ErrorCode::kCorruptData) << text;
  EXPECT_EQ(of("YQ== 1\n").error().code(), ErrorCode::kUnsupported);  // bytes have no token
}

TEST(AddedWords, TheLeftmostAndThenTheLongestIsFound) {
  Vocabulary vocabulary;
  vocabulary.added = {{"<a>", 1}, {"<a>b", 2}, {"b<", 3}, {"  ", 4, false, true}};
  const std::string text = "x<a>b<a> b<";
  const auto ids_of = [&](const SpecialWords& wanted) {
    std::vector<AddedWords::TextPart> parts;
    const auto* begin = reinterpret_cast<const std::uint8_t*>(text.data());
    AddedWords::make(vocabulary, wanted).value().find(begin, begin + text.size(), parts);
    std::vector<std::int64_t> ids;
    for (const auto& part : parts) ids.push_back(part.id);
    return ids;
  };
  EXPECT_EQ(ids_of({true}), (std::vector<std::int64_t>{-1, 2, 1, -1, 3}));
  EXPECT_EQ(ids_of({false, {"b<"}}), (std::vector<std::int64_t>{-1, 3, -1, 3}));
  EXPECT_EQ(ids_of({}), (std::vector<std::int64_t>{-1}));
  EXPECT_EQ(AddedWords::make(vocabulary, {false, {"<c>"}}).error().code(), ErrorCode::kInvalidArgument);
  vocabulary.overlaps_are_open = true;
  EXPECT_EQ(AddedWords::make(vocabulary, {true}).error().code(), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace headrace::tokenizing
