#include "corpus/progress_file.h"

#include <gtest/gtest.h>

#include <string>

namespace headrace::corpora {
namespace {

constexpr const char* kSettings = R"({"files": ["a.jsonl"]})";

TEST(ProgressFile, WhatIsWrittenIsReadTheSame) {
  const RunProgress progress{{2, 800, 9}, 170, ~std::uint64_t{0}, 700, 3, 1, "a.jsonl, \"line\" 3", R"({"bytes":17})"};
  const std::string text = progress_text(kSettings, progress);
  const auto read = parse_progress(text, kSettings);
  ASSERT_TRUE(read.ok()) << read.error().what();
  EXPECT_EQ(progress_text(kSettings, *read), text);
  EXPECT_EQ(read->place.offset, 800U);
  EXPECT_EQ(read->documents, ~std::uint64_t{0});
  EXPECT_EQ(read->first_skipped, progress.first_skipped);
  EXPECT_EQ(parse_progress(text, "[]").error().code(), ErrorCode::kInvalidArgument);
}

TEST(ProgressFile, NumbersThatAreNoCountsAreRefused) {
  const std::string text = progress_text(kSettings, {.documents = 12345, .output = "{}"});
  for (const char* number : {"-1", "1.5", "1e30", "true", "null", "\"1\"", "18446744073709551616"}) {
    std::string other = text;
    other.replace(other.find("12345"), 5, number);
    const auto read = parse_progress(other, kSettings);
    ASSERT_FALSE(read.ok()) << number;
    EXPECT_EQ(read.error().code(), ErrorCode::kCorruptData) << number;
  }
}

}  // namespace
}  // namespace headrace::corpora
