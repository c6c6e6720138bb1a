// Any number of threads writes the same tokens; the ids themselves are compared with other libraries in Python.
#include <headrace/corpus/tokenize.h>

#include <gtest/gtest.h>

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
