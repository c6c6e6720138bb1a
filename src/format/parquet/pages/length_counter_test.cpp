#include "format/parquet/pages/length_counter.h"

#include <gtest/gtest.h>

#include "format/parquet/parquet_testing.h"

namespace headrace::parquet {
namespace {

using Levels = std::vector<std::uint32_t>;

/// An optional list of optional elements: level 0 a null list, 1 an empty one, 2 a null element, 3 a value.
LeafColumn list_leaf() {
  LeafColumn column;
  column.definition_levels = 3;
  column.repetition_levels = 1;
  column.element_level = 2;
  column.list_node = 2;
  return column;
}

struct LevelBytes {
  Bytes repetition, definition;
  [[nodiscard]] PageBytes page() const { return {repetition, definition, {}}; }
};
/// Levels in runs of 16, or all of them bit-packed.
LevelBytes level_bytes(const Levels& repetition, const Levels& definition, bool packed = false) {
  LevelBytes bytes;
  if (!packed) return {runs_of(repetition, 1), runs_of(definition, 2)};
  append_packed(bytes.repetition, repetition, 1);
  append_packed(bytes.definition, definition, 2);
  return bytes;
}

/// Count levels in pages of so many entries.
Result<GroupLengths> count_levels(const Levels& repetition, const Levels& definition, std::uint64_t rows,
                                  std::size_t page_entries, bool packed) {
  const LeafColumn column = list_leaf();
  LengthCounter counter(column, rows);
  for (std::size_t at = 0; at < repetition.size(); at += page_entries) {
    const auto part = [&](const Levels& all) {
      return Levels(all.begin() + static_cast<std::ptrdiff_t>(at),
                    all.begin() + static_cast<std::ptrdiff_t>(std::min(at + page_entries, all.size())));
    };
    const Levels here = part(repetition);
    HEADRACE_TRY(counter.push(level_bytes(here, part(definition), packed).page(), here.size()));
  }
  return counter.take();
}

TEST(LengthCounter, CountsElementsOfEachRow) {
  //                       [v v n]  []  null  [n]  [v v v v v v v v ... 20]
  Levels repetition{0, 1, 1, 0, 0, 0, 0}, definition{3, 3, 2, 1, 0, 2, 3};
  for (int i = 0; i < 19; ++i) repetition.push_back(1), definition.push_back(3);
  for (const bool packed : {false, true})
    for (std::size_t page = 1; page <= repetition.size(); ++page) {
      const auto lists = count_levels(repetition, definition, 5, page, packed);
      ASSERT_TRUE(lists.ok()) << page << ": " << lists.error().what();
      EXPECT_EQ(lists->lengths, (Levels{3, 0, 0, 1, 20}));
      EXPECT_EQ(lists->elements, 24U);
      EXPECT_EQ(lists->entries, 26U);
      EXPECT_EQ(lists->first_null_row, 2U);
    }
}

TEST(LengthCounter, EmptyListsAreNotNull) {
  const auto lists = count_levels({0, 0, 0}, {1, 1, 3}, 3, 2, false);
  ASSERT_TRUE(lists.ok());
  EXPECT_EQ(lists->lengths, (Levels{0, 0, 1}));
  EXPECT_FALSE(lists->first_null_row.has_value());
  EXPECT_TRUE(count_levels({}, {}, 0, 1, false).ok());
}

TEST(LengthCounter, LongRunsAreNotUnpacked) {
  const LeafColumn column = list_leaf();
  LengthCounter counter(column, 2);
  constexpr std::uint64_t kRepeats = std::uint64_t{1} << 30;
  Bytes repetition, definition;
  append_repeated(repetition, 2, 0, 1);
  append_repeated(repetition, kRepeats, 1, 1);
  append_repeated(definition, kRepeats + 2, 3, 2);
  ASSERT_TRUE(counter.push({repetition, definition, {}}, kRepeats + 2).ok());
  Bytes more;
  append_repeated(more, kRepeats, 1, 1);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(counter.push({more, definition, {}}, kRepeats).ok());
  const Status status = counter.push({more, definition, {}}, kRepeats);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message(), "a list of more than 4294967295 elements");
}

TEST(LengthCounter, ContradictionsAreDamage) {
  const auto message = [](const Levels& repetition, const Levels& definition, std::uint64_t rows) {
    const auto lists = count_levels(repetition, definition, rows, 100, false);
    EXPECT_FALSE(lists.ok());
    if (lists.ok()) return std::string();
    EXPECT_EQ(lists.error().code(), ErrorCode::kCorruptData);
    return lists.error().message();
  };
  EXPECT_EQ(message({1, 1}, {3, 3}, 1), "a row group that begins in the middle of a list");
  EXPECT_EQ(message({0, 1}, {3, 1}, 1), "a list that goes on without an element");
  EXPECT_EQ(message({0, 1}, {1, 3}, 1), "a list that goes on without an element");
  EXPECT_EQ(message({0, 0}, {3, 3}, 1), "more lists than its 1 rows");
  EXPECT_EQ(message({0, 1}, {3, 3}, 2), "1 lists in 2 rows");
  LevelBytes bytes = level_bytes({0, 1, 1}, {3, 3, 3});
  LeafColumn column = list_leaf();
  for (const bool repetition : {false, true}) {
    LevelBytes cut = bytes;
    (repetition ? cut.repetition : cut.definition).clear();
    EXPECT_EQ(LengthCounter(column, 1).push(cut.page(), 3).error().code(), ErrorCode::kCorruptData);
  }
  EXPECT_FALSE(LengthCounter(column, 1).push(level_bytes({0, 1}, {3, 3}).page(), 3).ok()) << "a level is missing";
  column.definition_levels = 2;
  EXPECT_EQ(LengthCounter(column, 1).push(bytes.page(), 3).error().message(), "level 3, where 2 is the most");
  bytes.repetition = {std::byte{6}, std::byte{2}};  // three times 2
  column = list_leaf();
  EXPECT_FALSE(LengthCounter(column, 1).push(bytes.page(), 3).ok());
}

}  // namespace
}  // namespace headrace::parquet
