#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/checksum/sha256.h"
#include "tokenizer/vocabulary/known_name.h"

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

/// A variable of the environment, as it was at the end.
class Variable {
 public:
  explicit Variable(const char* name) : name_(name) {
    if (const char* const value = std::getenv(name)) before_ = value;  // NOLINT(concurrency-mt-unsafe): one thread
    ::unsetenv(name);                                                  // NOLINT(concurrency-mt-unsafe)
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() {
    if (before_) ::setenv(name_, before_->c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  void set(const std::string& value) const { ::setenv(name_, value.c_str(), 1); }  // NOLINT(concurrency-mt-unsafe)

 private:
  const char* const name_;
  std::optional<std::string> before_;
};

TEST_F(NamedVocabulary, RepositoriesAreThoseOfHuggingFacesCache) {
  const Variable hub("HF_HUB_CACHE");
  hub.set(folder_);
  auto missing = open_vocabulary("an-org/a.model", {});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), ErrorCode::kNotFound);
  EXPECT_NE(missing.error().message().find(folder_), std::string::npos) << missing.error().what();
  EXPECT_NE(missing.error().hint().find("hf download an-org/a.model tokenizer.json"), std::string::npos);
  const auto add = [&](const std::string& commit, const std::string& merge) {
    const std::string snapshot = folder_ + "/models--an-org--a.model/snapshots/" + commit;
    std::filesystem::create_directories(snapshot);
    std::string vocab;
    int id = 0;
    for (int code = 33; code < 324; ++code)  // the names of all bytes
      if (code < 127 || (code > 160 && code != 173)) vocab += fmt::format("\"\\u{:04x}\": {}, ", code, id++);
    std::ofstream(snapshot + "/vocab.json") << "{" << vocab << "\"" << merge[0] << merge[2] << "\": 256}";
    std::ofstream(snapshot + "/merges.txt") << "#version: 0.2\n" << merge << "\n";
  };
  add("1111", "a b");
  add("2222", "b a");
  const auto first = open_vocabulary("an-org/a.model", {});
  ASSERT_TRUE(first.ok()) << first.error().what();
  EXPECT_EQ(first->name, "an-org/a.model");
  std::filesystem::create_directories(folder_ + "/models--an-org--a.model/refs");
  std::ofstream(folder_ + "/models--an-org--a.model/refs/main") << "2222";
  const auto main = open_vocabulary("an-org/a.model", {});
  ASSERT_TRUE(main.ok()) << main.error().what();
  EXPECT_NE(main->hash, first->hash);
  EXPECT_EQ(open_vocabulary("an-org/a.model", {"gpt2"}).error().code(), ErrorCode::kInvalidArgument);
  for (const char* path : {"/an-org/a", "./a", "../a", "a/b/c", "folder/tokenizer.json", "a/", "folder/x.tiktoken"})
    EXPECT_FALSE(is_repository_name(path)) << path;
}

/// A folder of this name is in the root, where no user has a cache.
TEST_F(NamedVocabulary, WithoutHomeTheSystemKnowsTheUsers) {
  const Variable hub("HF_HUB_CACHE"), hugging_face("HF_HOME"), cache("XDG_CACHE_HOME"), home("HOME");
  for (const char* name : {"no-such-name", "gpt2"}) {
    const auto opened = open_vocabulary(name, {});
    if (opened.ok()) continue;  // the machine has it
    EXPECT_EQ(opened.error().message().find(" /.cache"), std::string::npos) << opened.error().what();
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
