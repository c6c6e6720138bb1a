// The suite of every format, for columns of lists, and their lengths, nulls and damage.
#include <gtest/gtest.h>

#include <limits>
#include <string_view>

#include "format/parquet/list_testing.h"
#include "format/parquet/pages/list_lengths.h"
#include "format/parquet/parquet_reader.h"
#include "format/testing/format_suite.h"
#include "format/testing/read_rows.h"
#include "storage/testing/file_doubles.h"
#include "storage/testing/memory_file.h"

namespace headrace::parquet {
namespace {

using Lengths = std::vector<std::uint32_t>;
using OpenedList = Result<std::shared_ptr<ArrayReader>>;
using testing_format::read_rows;

OpenedList open_list(std::shared_ptr<RandomAccessFile> file, const std::string& name) {
  HEADRACE_ASSIGN(const std::shared_ptr<FormatReader> reader, open_parquet(std::move(file), "lists.parquet"));
  return reader->open_array(name);
}
OpenedList open_list(const Bytes& bytes, const std::string& name = "x") {
  return open_list(std::make_shared<MemoryFile>("lists.parquet", bytes), name);
}
OpenedList open_filled_list(std::shared_ptr<RandomAccessFile> file) {
  HEADRACE_ASSIGN(const std::shared_ptr<ArrayReader> strict, open_list(std::move(file), "x"));
  return strict->filled();
}

/// All elements, with the fill of those that have no value.
Bytes filled_values(const TestColumn& leaf) {
  Bytes bytes;
  for (const StoredValue& value : leaf.values) {
    if (value)
      append(bytes, *value);
    else if (leaf.physical == PhysicalType::kDouble)
      append(bytes, bytes_of(std::numeric_limits<double>::quiet_NaN()));
    else
      append(bytes, Bytes(leaf.physical == PhysicalType::kInt32 ? 4 : leaf.type_length));
  }
  return bytes;
}

[[maybe_unused]] const bool lists_registered = [] {
  const auto add = [](const char* name, const TestColumn& leaf, const std::vector<std::size_t>& groups) {
    testing_format::register_format_reader_tests("ParquetLists", name, [=] {
      const TestLists lists = some_lists({leaf}, groups);
      testing_format::FormatCase made;
      made.columns = {filled_values(lists.leaves[0])};
      made.file_bytes = write_lists(lists);
      made.open_file = open_filled_list;
      made.open = [bytes = made.file_bytes] {
        return open_filled_list(std::make_shared<MemoryFile>("lists.parquet", bytes));
      };
      return made;
    });
  };
  add("Plain", {}, {12});
  add("NoRows", {}, {});
  add("GroupsOfNoElements", {.physical = PhysicalType::kDouble, .page_rows = 7}, {0, 1, 6, 0, 9});
  add("NullElements", {.physical = PhysicalType::kDouble, .optional = true, .page_rows = 9}, {13, 4});
  add("Version2", {.optional = true, .version2 = true, .checksums = true}, {14});
  add("Dictionary", {.encoding = Encoding::kRleDictionary, .page_rows = 1}, {5, 6});
  add("Bytes", {.physical = PhysicalType::kFixedLenByteArray, .type_length = 3, .version2 = true}, {11});
  if (std::string_view(HEADRACE_WITHOUT).find("snappy") != std::string_view::npos) return true;
  add("Snappy", {.snappy = true}, {12});
  add("SnappyVersion2", {.encoding = Encoding::kRleDictionary, .snappy = true, .version2 = true}, {9, 3});
  return true;
}();

Lengths lengths_of(const TestLists& lists) {
  Lengths lengths;
  for (const int length : lists.lengths) lengths.push_back(static_cast<std::uint32_t>(std::max(length, 0)));
  return lengths;
}

TEST(ListColumns, HaveLengthsAndAName) {
  const TestLists lists = some_lists({{.name = "a"}, {.name = "b", .optional = true, .page_rows = 3}}, {20, 0, 13});
  const auto reader =
      open_parquet(std::make_shared<MemoryFile>("lists.parquet", write_lists(lists)), "lists.parquet").value();
  ASSERT_EQ(reader->arrays().size(), 2U);
  const std::size_t elements = lists.leaves[0].values.size();
  std::uint64_t entries = 0;
  for (const int length : lists.lengths) entries += static_cast<std::uint64_t>(std::max(length, 1));
  for (const ArrayInfo& described : reader->arrays()) {
    EXPECT_EQ(described.list, "x");
    EXPECT_EQ(described.rows(), entries) << "the footer counts empty lists, too";
    const auto array = reader->open_array(described.path).value();
    EXPECT_EQ(array->info().list, "x");
    EXPECT_EQ(array->info().rows(), elements);
    EXPECT_EQ(array->info().chunk_ends.size(), 3U);
    EXPECT_EQ(array->list_lengths().error().message(), "row 7 has no list");
    EXPECT_EQ(array->list_lengths().error().code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(array->list_lengths().error().hint().find("empty"), std::string::npos);
    EXPECT_EQ(array->filled().value()->list_lengths().value(), lengths_of(lists));
    EXPECT_EQ(reader->open_array(described.path + ".valid").value()->list_lengths().value(), lengths_of(lists));
  }
  TestLists none = some_lists({{}}, {3, 9}, false);
  EXPECT_EQ(open_list(write_lists(none)).value()->list_lengths().value(), lengths_of(none)) << "none can be null";
}

TEST(ListColumns, RowsOfPlainColumnsAreNoLists) {
  TestColumn column{.values = {bytes_of(1), bytes_of(2)}};
  const auto array = open_list(write_file({{column}, {2}})).value();
  EXPECT_EQ(array->info().list, "");
  EXPECT_TRUE(array->list_lengths().value().empty());
}

TEST(ListColumns, ElementsWithoutAValueAreRefusedFilledOrMarked) {
  for (const bool version2 : {false, true}) {
    const TestLists lists =
        some_lists({{.physical = PhysicalType::kDouble, .optional = true, .version2 = version2}}, {9, 9});
    const auto strict = open_list(write_lists(lists)).value();
    EXPECT_TRUE(read_rows(*strict, {0, 2}).ok());
    const Error error = read_rows(*strict, {0, lists.leaves[0].values.size()}).error();
    EXPECT_EQ(error.message(), "element 2 has no value");
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    Bytes present;
    for (const StoredValue& value : lists.leaves[0].values) present.push_back(std::byte{value.has_value()});
    const auto marks = open_list(write_lists(lists), "x.valid").value();
    EXPECT_EQ(marks->info().list, "x");
    EXPECT_EQ(read_rows(*marks, {0, present.size()}).value(), present);
    for (std::size_t first = 0; first < present.size(); first += 3)
      EXPECT_EQ(read_rows(*marks, {first, 2}).value(), Bytes(present.begin() + static_cast<std::ptrdiff_t>(first),
                                                             present.begin() + static_cast<std::ptrdiff_t>(first + 2)));
  }
}

TEST(ListColumns, LengthsAreReadOnceFromTheSmallestColumn) {
  TestLists lists = some_lists({{.name = "a", .physical = PhysicalType::kDouble, .page_rows = 2},
                                {.name = "b", .page_rows = 2},
                                {.name = "c", .physical = PhysicalType::kDouble, .page_rows = 2}},
                               {40});
  const auto file = std::make_shared<CountingFile>(std::make_shared<MemoryFile>("lists.parquet", write_lists(lists)));
  const auto reader = open_parquet(file, "lists.parquet").value();
  file->reset();
  ASSERT_TRUE(reader->open_array("x.a").ok());
  EXPECT_EQ(file->num_reads(), 2U) << "all pages of b at once, and the header of a page";
  file->reset();
  ASSERT_TRUE(reader->open_array("x.c").ok());
  EXPECT_EQ(file->num_reads(), 1U);
  // Damage in b is an error of b's: the others have levels of their own.
  const auto spoilt = write_lists(lists, [](std::size_t, std::size_t leaf, std::vector<TestEntry>& entries) {
    if (leaf == 1) entries[0].repetition = 1;
  });
  EXPECT_TRUE(open_list(spoilt, "x.a").ok());
  const auto opened = open_list(spoilt, "x.b");
  ASSERT_FALSE(opened.ok());
  const Error& error = opened.error();
  EXPECT_EQ(error.code(), ErrorCode::kCorruptData);
  EXPECT_EQ(error.message(), "a row group that begins in the middle of a list");
  EXPECT_EQ(error.field(), "x.b");
  EXPECT_EQ(error.chunk(), "(row group 0, page 0)");
}

TEST(ListColumns, ColumnsThatContradictTheirListsAreDamage) {
  for (const bool version2 : {false, true})
    for (const bool optional : {false, true}) {
      const TestLists lists =
          some_lists({{.name = "a", .version2 = version2},
                      {.name = "b", .physical = PhysicalType::kDouble, .optional = optional, .version2 = version2}},
                     {11, 11});
      const auto opened = [&](const std::function<void(std::vector<TestEntry>&)>& change) {
        return open_list(write_lists(lists,
                                     [&](std::size_t group, std::size_t leaf, std::vector<TestEntry>& entries) {
                                       if (group == 1 && leaf == 1) change(entries);
                                     }),
                         "x.b");
      };
      const auto more = opened([](std::vector<TestEntry>& entries) { entries.push_back(entries.back()); });
      ASSERT_FALSE(more.ok());
      EXPECT_NE(more.error().message().find("where the lengths of its lists say"), std::string::npos);
      // As many entries, and other elements: an element more in the place of an empty list.
      const auto other = opened([&](std::vector<TestEntry>& entries) {
        for (TestEntry& entry : entries)
          if (entry.definition < lists.element_level()) {
            entry.definition = lists.levels(lists.leaves[1]);
            entry.value = bytes_of(1.0);
            break;
          }
      });
      ASSERT_TRUE(other.ok()) << other.error().what();
      const std::uint64_t rows = (*other)->info().rows();
      const auto read = read_rows(*(*other)->filled().value(), {0, rows});
      ASSERT_FALSE(read.ok());
      EXPECT_EQ(read.error().code(), ErrorCode::kCorruptData);
      EXPECT_NE(read.error().message().find("where the lengths of its lists say"), std::string::npos);
    }
}

TEST(ListColumns, FullPagesAreComparedWithTheLengths) {
  PageHeader header;
  header.num_values = 3;
  Bytes three, two;
  append_repeated(three, 3, 0, 1);
  append_repeated(two, 2, 0, 1);
  EXPECT_TRUE(check_list_page(header, {three, {}, {}}, 3, true).ok());
  EXPECT_TRUE(check_list_page(header, {three, {}, {}}, 2, false).ok()) << "an entry may be an empty list";
  EXPECT_EQ(check_list_page(header, {three, {}, {}}, 2, true).error().message(),
            "a page of 3 elements, where the lengths of its lists say 2");
  EXPECT_EQ(check_list_page(header, {two, {}, {}}, 3, true).error().code(), ErrorCode::kCorruptData);
}

TEST(ListColumns, PagesCountElements) {
  GroupLengths lists;
  lists.lengths = {0, 3, 0, 0, 0, 0, 5, 1};
  PageTable table;
  for (const std::uint64_t entries : {2, 2, 3, 4, 3}) table.pages.push_back({{}, 0, 0, entries});
  // Entries: [- a] [b c] [- - -] [- d e f] [g h i]
  to_elements(table, lists);
  ASSERT_EQ(table.pages.size(), 4U) << "without the page of empty lists";
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> expected{{0, 1}, {1, 2}, {3, 3}, {6, 3}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(table.pages[i].first_row, expected[i].first);
    EXPECT_EQ(table.pages[i].num_rows, expected[i].second);
  }
}

TEST(ListColumns, RowsWhoseLengthsNoMemoryHoldsAreRefused) {
  TestLists lists = some_lists({{.page_rows = 1000}}, {20});
  const auto refusal = [&](std::uint64_t rows) {
    lists.said_rows = rows;
    const auto opened = open_filled_list(std::make_shared<MemoryFile>("lists.parquet", write_lists(lists)));
    const auto lengths = opened.ok() ? (*opened)->list_lengths() : Result<Lengths>(opened.error());
    EXPECT_FALSE(lengths.ok());
    return lengths.ok() ? Error(ErrorCode::kInternal, "read") : lengths.error();
  };
  const Error error = refusal(std::uint64_t{1} << 62);  // of four bytes each: none, in 64 bits
  EXPECT_EQ(error.code(), ErrorCode::kCorruptData) << error.what();
  EXPECT_NE(error.message().find("4611686018427387904 rows"), std::string::npos) << error.what();
  EXPECT_EQ(error.file(), "lists.parquet");
  EXPECT_EQ(refusal(std::uint64_t{1} << 61).code(), ErrorCode::kOutOfBudget);
}

TEST(ListColumns, OldLevelsAreRefused) {
  const TestLists lists = some_lists({{.page_rows = 1000}}, {8});
  Bytes bytes = write_lists(lists);
  const Bytes levels{std::byte{0x15}, std::byte{0x06}, std::byte{0x15}, std::byte{0x06}};  // both as RLE
  const auto at = std::search(bytes.begin(), bytes.end(), levels.begin(), levels.end());
  ASSERT_NE(at, bytes.end());
  at[3] = std::byte{0x08};  // repetition levels as BIT_PACKED
  const auto opened = open_list(bytes);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(opened.error().message(), "levels encoded as BIT_PACKED");
}

TEST(ListColumns, MoreRowsThanMemoryAreRefusedBeforeTheyAreCounted) {
  // A run of null lists takes five bytes, whatever its length.
  TestLists lists{true, {{.page_rows = 1000}}, {-1, -1}, {2}};
  const LeafColumn leaf = [] {
    LeafColumn column;
    column.definition_levels = column.element_level = 2;
    column.list_node = 1;
    return column;
  }();
  LengthCounter counter(leaf, 2);
  Bytes repetition, definition;
  append_repeated(repetition, std::uint64_t{1} << 30, 0, 1);
  append_repeated(definition, std::uint64_t{1} << 30, 0, 2);
  EXPECT_EQ(counter.push({repetition, definition, {}}, std::uint64_t{1} << 30).error().message(),
            "more lists than its 2 rows");
  EXPECT_EQ(open_list(write_lists(lists)).value()->filled().value()->list_lengths().value(), (Lengths{0, 0}));
}

}  // namespace
}  // namespace headrace::parquet
