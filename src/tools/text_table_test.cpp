#include "tools/text_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace headrace {
namespace {

TEST(TextTable, AlignsByCharactersAndNotByBytes) {
  TextTable table({{"name"}, {"rows", TextTable::Align::kRight}, {"note"}});
  table.add({"é", "5", "x"});
  table.add({"long name", "1,000", ""});
  EXPECT_EQ(table.lines(),
            (std::vector<std::string>{"name        rows  note", "é              5  x", "long name  1,000"}));
  EXPECT_EQ(table.width(), 22U);
}

TEST(Shorten, KeepsBothEnds) {
  EXPECT_EQ(shorten("abcdefghij", 20), "abcdefghij");
  EXPECT_EQ(shorten("abcdefghij", 7), "abc…hij");
  EXPECT_EQ(shorten("ääääääääää", 7), "äää…äää");
}

TEST(Paragraph, IndentsWhatItWraps) {
  const std::string text = paragraph("Fast", 6, std::string(60, 'a') + " " + std::string(60, 'b'));
  EXPECT_EQ(text, "Fast  " + std::string(60, 'a') + "\n      " + std::string(60, 'b') + "\n");
}

RC_GTEST_PROP(Paragraph, LosesNoWordAndKeepsToTheScreen, (const std::vector<std::uint8_t>& lengths)) {
  std::string text;
  std::size_t words = 0;
  for (const std::uint8_t length : lengths)
    if (length % 40 > 0) text += (text.empty() ? "" : " ") + std::string(length % 40, 'w'), ++words;
  const std::string out = paragraph("Label", 8, text);
  std::size_t seen = 0, start = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == 'w' && (i == 0 || out[i - 1] != 'w')) ++seen;
    if (out[i] == '\n') {
      RC_ASSERT(i - start <= kScreenColumns);
      start = i + 1;
    }
  }
  RC_ASSERT(seen == words);
}

}  // namespace
}  // namespace headrace
