// Manifests, words for types, and files as they are written.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temporary_folder.h"
#include "format/tokens/byte_sink.h"
#include "format/tokens/token_file.h"
#include "format/tokens/token_manifest.h"
#include "format/tokens/token_output.h"
#include "format/tokens/token_type.h"

namespace headrace::token_files {
namespace {

const DType kU2{DType::Kind::kUInt, 2};

TEST(TokenType, WordsAreNumpys) {
  EXPECT_EQ(token_type("u2"), kU2);
  EXPECT_EQ(token_type("<u2"), kU2);
  EXPECT_EQ(token_type("uint16"), kU2);
  EXPECT_EQ(token_type("|i1"), (DType{DType::Kind::kInt, 1}));
  for (const char* const word : {"", "u3", ">u2", "f4", "float32", "uint"}) EXPECT_FALSE(token_type(word)) << word;
}

TEST(TokenType, FollowsFromTheVocabulary) {
  EXPECT_EQ(token_type_for(65535), kU2);
  EXPECT_EQ(token_type_for(65536), (DType{DType::Kind::kUInt, 4}));
  EXPECT_EQ(largest_of({DType::Kind::kUInt, 8}), ~std::uint64_t{0});
  EXPECT_EQ(largest_of({DType::Kind::kInt, 2}), 32767U);
}

TEST(TokenManifest, ComesBack) {
  EXPECT_TRUE(rc::check([](std::uint32_t vocab_size, const std::vector<std::uint16_t>& shards, bool ends) {
    TokenManifest manifest;
    manifest.dtype = kU2;
    manifest.vocab_size = vocab_size;
    manifest.tokenizer = "gpt2 \"quoted\"";
    manifest.tokenizer_hash = "6d6d";
    if (vocab_size > 0) manifest.end_of_text = vocab_size - 1;
    manifest.shards.push_back({"tokens-00000.npy", "", 7, 0});
    for (const std::uint16_t tokens : shards)
      manifest.shards.push_back({"a.npy", ends ? "b.npy" : "", tokens, std::uint64_t{tokens} * tokens});
    const auto again = parse_token_manifest(manifest_text(manifest));
    RC_ASSERT(again.ok());
    RC_ASSERT(again->dtype == kU2);
    RC_ASSERT(again->vocab_size == vocab_size);
    RC_ASSERT(again->end_of_text == manifest.end_of_text);
    RC_ASSERT(again->tokenizer == manifest.tokenizer);
    RC_ASSERT(again->tokenizer_hash == "6d6d");
    RC_ASSERT(again->shards.size() == manifest.shards.size());
    RC_ASSERT(manifest_text(*again) == manifest_text(manifest));
  }));
}

TEST(TokenManifest, NeverNamesAFileOutsideOfItsFolder) {
  for (const char* const name : {"../a.npy", "/etc/passwd", ".hidden", ""}) {
    TokenManifest manifest;
    manifest.dtype = kU2;
    manifest.shards.push_back({name, "", 7, 0});
    EXPECT_FALSE(parse_token_manifest(manifest_text(manifest)).ok()) << name;
    manifest.shards[0] = {"a.npy", name, 7, 0};
    EXPECT_EQ(parse_token_manifest(manifest_text(manifest)).ok(), *name == '\0') << name;
  }
}

TEST(TokenManifest, DamageIsAnErrorOfOurs) {
  TokenManifest manifest;
  manifest.dtype = kU2;
  manifest.shards.push_back({"a.npy", "b.npy", 7, 2});
  const std::string text = manifest_text(manifest);
  for (std::size_t at = 0; at < text.size(); ++at) {
    EXPECT_TRUE(at + 1 >= text.size() || !parse_token_manifest(text.substr(0, at)).ok()) << at;
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    (void)parse_token_manifest(damaged);
  }
}

class TokenOutputs : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  [[nodiscard]] std::size_t files_there() const {
    const auto all = std::filesystem::directory_iterator(std::filesystem::path(folder_.path("x")).parent_path());
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  static std::span<const std::byte> bytes_of(std::span<const std::uint16_t> ids) { return std::as_bytes(ids); }
};

TEST_F(TokenOutputs, NothingIsThereBeforeTheEndNorAfterAnEndWithoutFinish) {
  const std::uint16_t ids[]{1, 2, 3};
  for (const OutputFormat format : {OutputFormat::kFolder, OutputFormat::kRaw, OutputFormat::kMegatron}) {
    const std::string path = folder_.path("a.bin");
    {
      auto output = open_token_output(format, path, {.dtype = kU2}, 100);
      ASSERT_TRUE(output.ok());
      ASSERT_TRUE((*output)->write(bytes_of(ids)).ok());
      ASSERT_TRUE((*output)->end_document(3).ok());
      EXPECT_FALSE(std::filesystem::exists(path));
    }
    EXPECT_EQ(files_there(), 0U);
  }
}

TEST_F(TokenOutputs, WhatIsThereIsNotReplaced) {
  for (const OutputFormat format : {OutputFormat::kFolder, OutputFormat::kRaw, OutputFormat::kMegatron}) {
    const std::string path = folder_.write_text("a.bin", "mine");
    const auto output = open_token_output(format, path, {.dtype = kU2}, 100);
    ASSERT_FALSE(output.ok());
    EXPECT_EQ(output.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(files_there(), 1U);
  }
}

TEST_F(TokenOutputs, AFullDiskIsAnErrorWithTheFile) {
  ByteSink sink;
  const std::string missing = folder_.path("no/such/a.bin");
  const Status made = sink.create(missing);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code(), ErrorCode::kWriteFailed);
  EXPECT_EQ(made.error().file(), missing);
}

TEST_F(TokenOutputs, ShardsEndWithDocuments) {
  const std::uint16_t ids[]{10, 11, 12, 13, 14};
  const std::string path = folder_.path("corpus/");
  auto output = open_token_output(OutputFormat::kFolder, path, {.dtype = kU2}, 4);
  ASSERT_TRUE(output.ok());
  for (const std::uint64_t tokens : {0, 3, 2, 0, 5, 0}) {
    ASSERT_TRUE((*output)->write(bytes_of(std::span(ids).first(tokens))).ok());
    ASSERT_TRUE((*output)->end_document(tokens).ok());
  }
  ASSERT_TRUE((*output)->finish().ok());
  const auto manifest = read_token_manifest(path);
  ASSERT_TRUE(manifest.ok()) << manifest.error().what();
  ASSERT_EQ(manifest->shards.size(), 2U);
  EXPECT_EQ(manifest->shards[0].tokens, 5U);
  EXPECT_EQ(manifest->shards[0].documents + manifest->shards[1].documents, 6U);
  EXPECT_TRUE(is_token_folder(path));
  Manifests manifests;
  for (const TokenShard& shard : manifest->shards) {
    const auto file = open_token_file(path_in(path, shard.file), {}, manifests);
    ASSERT_TRUE(file.ok()) << file.error().what();
    EXPECT_EQ(file->kind, FileKind::kHeadrace);
    std::uint64_t last = 0, documents = 0;
    EXPECT_TRUE(file->documents->read([&](std::uint64_t, std::uint64_t end) { last = end, ++documents; }).ok());
    EXPECT_EQ(last, shard.tokens);
    EXPECT_EQ(documents, shard.documents);
  }
}

}  // namespace
}  // namespace headrace::token_files
