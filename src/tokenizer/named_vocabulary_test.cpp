#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/sha256.h"
#include "tokenizer/known_name.h"

namespace headrace::tokenizing {
namespace {

/// A folder as tiktoken keeps what it fetched, with one file of ranks: all bytes, in base64.
class NamedVocabulary : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/headrace-named";
    std::filesystem::create_directories(folder_);
    ASSERT_EQ(::setenv("TIKTOKEN_CACHE_DIR", folder_.c_str(), 1), 0);  // NOLINT(concurrency-mt-unsafe): one thread
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (std::size_t byte = 0; byte < 256; ++byte) {
      text_ += {digits[byte >> 2], digits[(byte & 3) << 4], '=', '='};
      text_ += " " + std::to_string(byte) + "\n";
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void keep(const std::string& text) { std::ofstream(folder_ + "/key", std::ios::binary) << text; }

  std::string folder_, text_;
};

TEST_F(NamedVocabulary, IsTheFileThatItsMakerPublishes) {
  const std::string sha256 = sha256_hex(text_);
  const KnownName known{.name = "toy", .ranks = {"key", sha256.c_str()}};
  EXPECT_EQ(open_known(known, {"gpt2"}).error().code(), ErrorCode::kNotFound);
  keep(text_);
  const auto opened = open_known(known, {"gpt2"});
  ASSERT_TRUE(opened.ok()) << opened.error().what();
  EXPECT_EQ(opened->name, "toy");
  for (const std::string& damaged : {text_.substr(0, text_.size() - 8), text_ + "\n", std::string()}) {
    keep(damaged);
    const auto refused = open_known(known, {"gpt2"});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), ErrorCode::kCorruptData);
    EXPECT_NE(std::string(refused.error().what()).find(sha256), std::string::npos) << refused.error().what();
  }
}

TEST_F(NamedVocabulary, AFileOfAKnownNameHasAllItsRanks) {
  const std::string path = folder_ + "/cl100k_base.tiktoken";
  std::ofstream(path) << text_;
  const auto opened = open_vocabulary(path, {});
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message().find("100256 ranks, and 256 are there"), std::string::npos)
      << opened.error().what();
}

}  // namespace
}  // namespace headrace::tokenizing
