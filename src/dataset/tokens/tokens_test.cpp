#include <gtest/gtest.h>
#include <headrace/tokens.h>
#include <headrace/windows.h>
#include <rapidcheck.h>

#include <filesystem>
#include <numeric>

#include "base/testing/temporary_folder.h"
#include "dataset/recipe/data_tree.h"

namespace headrace {
namespace {

ErrorCode token_error(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kInternal;
}

using Corpus = std::vector<std::vector<std::uint16_t>>;

void write_corpus(const std::string& path, const Corpus& corpus, TokenWriterOptions options) {
  TokenWriter writer(path, options);
  for (const auto& document : corpus) {
    const std::vector<std::uint32_t> ids(document.begin(), document.end());
    const std::size_t half = ids.size() / 2;
    writer.append(std::span(ids).first(half));  // a document may come in parts
    writer.append(std::span(ids).subspan(half));
    writer.end_document();
  }
  writer.finish();
}

TEST(Tokens, WhatIsWrittenIsRead) {
  int run = 0;
  const TemporaryFolder folder;
  EXPECT_TRUE(rc::check([&](Corpus corpus, std::uint8_t shard_tokens) {
    corpus.push_back({1, 2, 3});
    if (shard_tokens % 2 == 0) corpus.emplace_back();  // documents at the end may be empty
    const std::size_t tokens = std::accumulate(corpus.begin(), corpus.end(), std::size_t{0},
                                               [](std::size_t sum, const auto& one) { return sum + one.size(); });
    for (const TokenFormat format : {TokenFormat::kHeadrace, TokenFormat::kNanogpt, TokenFormat::kMegatron}) {
      const std::string path = folder.path(std::to_string(run++) + ".bin");
      TokenWriterOptions options{.format = format, .dtype = "u2"};
      options.shard_tokens = shard_tokens + 1;
      write_corpus(path, corpus, options);
      const Tokens read = open_tokens({path}, {.dtype = "u2"});
      RC_ASSERT(read.size() == tokens);
      RC_ASSERT(read.num_documents().has_value() == (format != TokenFormat::kNanogpt));
      if (format == TokenFormat::kNanogpt) continue;
      RC_ASSERT(*read.num_documents() == corpus.size());
      const Dataset documents = read.documents();
      RC_ASSERT(documents.size() == corpus.size());
      const std::vector<std::uint64_t> lengths = documents.lengths();
      for (std::size_t i = 0; i < corpus.size(); ++i) RC_ASSERT(lengths[i] == corpus[i].size());
      const Batch last = documents.slice(corpus.size() - 1, 1);
      const auto ids = last["tokens"].as<std::uint16_t>();
      RC_ASSERT(std::vector<std::uint16_t>(ids.begin(), ids.end()) == corpus.back());
    }
  }));
}

TEST(Tokens, RecipesOpenTheSameAgain) {
  const TemporaryFolder folder;
  write_corpus(folder.path("a"), Corpus(20, {1, 2, 3, 4, 5, 6, 7}), {.dtype = "u2", .shard_tokens = 50});
  const Tokens tokens = open_tokens({folder.path("a")}, {.vocab_size = 10});
  for (const Dataset& data : {tokens.rows(), windows(tokens.rows(), {.length = 5}), tokens.documents()}) {
    const std::string recipe = data.recipe();
    const Dataset again = open_recipe(recipe);
    EXPECT_EQ(again.size(), data.size());
    EXPECT_EQ(again.recipe(), recipe);
    EXPECT_EQ(again.describe(), data.describe());
    for (std::size_t length = 0; length < recipe.size(); ++length)
      EXPECT_FALSE(node_of_recipe(std::string_view(recipe).substr(0, length)).ok()) << length;
  }
  EXPECT_NE(tokens.documents().describe().find("made of 3 files of tokens → documents"), std::string::npos)
      << tokens.documents().describe();
}

TEST(TokenWriter, RefusesWhatItCannotWrite) {
  const TemporaryFolder folder;
  const auto make = [&](const TokenWriterOptions& options) { TokenWriter(folder.path("a"), options); };
  EXPECT_EQ(token_error([&] { make({}); }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(token_error([&] { make({.dtype = "f4"}); }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(token_error([&] { make({.dtype = "u2", .vocab_size = 65537}); }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(token_error([&] { make({.format = TokenFormat::kMegatron, .dtype = "u4"}); }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(token_error([&] { make({.vocab_size = 10, .end_of_text = 10}); }), ErrorCode::kInvalidArgument);
  TokenWriter writer(folder.path("a"), {.vocab_size = 10});
  EXPECT_EQ(token_error([&] { writer.finish(); }), ErrorCode::kInvalidArgument);
  TokenWriter another(folder.path("b"), {.vocab_size = 10});
  const std::vector<std::uint32_t> good{9, 0}, bad{3, 10};
  another.append(good);
  EXPECT_EQ(token_error([&] { another.append(bad); }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(another.tokens(), 2U);
  another.finish();
  EXPECT_EQ(another.documents(), 1U);
  EXPECT_EQ(token_error([&] { another.append(good); }), ErrorCode::kClosed);
  EXPECT_EQ(open_tokens({folder.path("b")}).vocab_size(), 10U);
}

}  // namespace
}  // namespace headrace
