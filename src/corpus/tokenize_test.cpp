// Any number of threads writes the same tokens; the ids themselves are compared with other libraries in Python.
#include <headrace/tokenize.h>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <string>

#include "base/testing/temporary_folder.h"

namespace headrace {
namespace {

/// Ranks of single bytes: their base64, and their number.
void write_bytes_as_ranks(const std::string& path) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::ofstream file(path);
  for (unsigned byte = 0; byte < 256; ++byte)
    file << kDigits[byte >> 2] << kDigits[(byte & 3) << 4] << "== " << byte << '\n';
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Tokenize, AnyNumberOfThreadsWritesTheSameTokens) {
  const TemporaryFolder folder;
  write_bytes_as_ranks(folder.path("bytes.tiktoken"));
  const Tokenizer tokenizer(folder.path("bytes.tiktoken"), {"gpt2", {{"<|endoftext|>", 256}}});
  for (int number = 0; number < 12; ++number) {
    std::ofstream file(folder.path("part" + std::to_string(number) + ".jsonl"));
    for (int line = 0; line < 3000 * (number % 3); ++line)
      file << R"({"text": "file )" << number << " line " << line << std::string(100, 'x') << "\"}\n";
  }
  std::string first;
  for (const std::uint32_t threads : {1, 2, 4, 8}) {
    TokenizeOptions options;
    options.threads = threads;
    options.memory_bytes = std::uint64_t{1} << 30;
    options.format = TokenFormat::kNanogpt;
    options.checkpoint_seconds = 0;
    const std::string to = folder.path("out" + std::to_string(threads));
    const TokenizeResult done = tokenize({folder.path("part*.jsonl")}, to, tokenizer, options);
    EXPECT_EQ(done.documents, 36000U);
    const std::string found = contents(to);
    EXPECT_EQ(found.size(), done.tokens * 2);
    if (first.empty()) first = found;
    EXPECT_TRUE(found == first) << threads << " threads";
  }
}

TEST(Tokenize, TheEndOfATextCanBeNamed) {
  const TemporaryFolder folder;
  write_bytes_as_ranks(folder.path("bytes.tiktoken"));
  folder.write_text("a.txt", "ab");
  const Tokenizer tokenizer(folder.path("bytes.tiktoken"), {"gpt2", {{"<|im_end|>", 256}}});
  TokenizeOptions options;
  options.format = TokenFormat::kNanogpt;
  const auto refusal = [&] {
    try {
      tokenize({folder.path("a.txt")}, folder.path("none"), tokenizer, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      return std::string(error.what());
    }
    return std::string("written");
  };
  EXPECT_NE(refusal().find("--end-of-text WORD"), std::string::npos) << refusal();
  EXPECT_NE(refusal().find("special words are <|im_end|>"), std::string::npos) << refusal();
  options.end_of_text_word = "<eot>";
  EXPECT_NE(refusal().find("end_of_text: '<eot>' is no token"), std::string::npos) << refusal();
  options.end_of_text_word = "<|im_end|>";
  tokenize({folder.path("a.txt")}, folder.path("out"), tokenizer, options);
  EXPECT_EQ(contents(folder.path("out")), std::string("a\0b\0\0\1", 6));
  options.end_of_text_word = "\n";  // a token that is not special
  tokenize({folder.path("a.txt")}, folder.path("lines"), tokenizer, options);
  EXPECT_EQ(contents(folder.path("lines")), std::string("a\0b\0\n\0", 6));
}

/// The system refuses to make a file larger, once: then it has room again, as a disk where something was removed.
void give_room(int) {
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

TEST(Tokenize, WhatFailedToBeWrittenIsWrittenByTheNextCall) {
  const TemporaryFolder folder;
  write_bytes_as_ranks(folder.path("bytes.tiktoken"));
  const Tokenizer tokenizer(folder.path("bytes.tiktoken"), {"gpt2", {{"<|endoftext|>", 256}}});
  {
    std::ofstream file(folder.path("corpus.jsonl"));
    for (int line = 0; line < 60000; ++line) file << R"({"text": "line )" << line << std::string(100, 'x') << "\"}\n";
  }
  TokenizeOptions options;
  options.threads = 1;  // the caller's, which alone receives signals
  options.format = TokenFormat::kNanogpt;
  tokenize({folder.path("corpus.jsonl")}, folder.path("whole"), tokenizer, options);
  auto* const before = std::signal(SIGXFSZ, give_room);
  for (const double checkpoint_seconds : {0.0, 1000.0}) {
    options.checkpoint_seconds = checkpoint_seconds;
    const std::string to = folder.path("out" + std::to_string(static_cast<int>(checkpoint_seconds)));
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 7'000'001;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    EXPECT_THROW(tokenize({folder.path("corpus.jsonl")}, to, tokenizer, options), Error);
    tokenize({folder.path("corpus.jsonl")}, to, tokenizer, options);
    EXPECT_TRUE(contents(to) == contents(folder.path("whole"))) << checkpoint_seconds;
  }
  std::signal(SIGXFSZ, before);
}

TEST(Tokenize, TheFirstErrorInOrderIsTold) {
  const TemporaryFolder folder;
  write_bytes_as_ranks(folder.path("bytes.tiktoken"));
  const Tokenizer tokenizer(folder.path("bytes.tiktoken"), {"gpt2", {{"<|endoftext|>", 256}}});
  for (int number = 0; number < 8; ++number)
    std::ofstream(folder.path("part" + std::to_string(number) + ".jsonl"))
        << (number < 3 ? "{\"text\": \"good\"}\n" : "{\"text\": bad}\n");
  for (const std::uint32_t threads : {1, 4}) {
    TokenizeOptions options;
    options.threads = threads;
    try {
      tokenize({folder.path("part*.jsonl")}, folder.path("out"), tokenizer, options);
      FAIL() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.file(), folder.path("part3.jsonl"));
    }
  }
}

}  // namespace
}  // namespace headrace
