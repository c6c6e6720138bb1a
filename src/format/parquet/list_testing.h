// Parquet files of lists for tests: one list, of one column or of some that share it.
#pragma once

#include "format/parquet/file_testing.h"

namespace headrace::parquet {

/// One entry of a column of lists.
struct TestEntry {
  std::uint32_t repetition = 0, definition = 0;
  StoredValue value;
};

/// A list `x` of each row. The one column is x.list.element, and named "x"; of several their names are those of fields.
struct TestLists {
  bool optional = true;            ///< The list may be null.
  std::vector<TestColumn> leaves;  ///< Their values are those of all elements; page_rows are entries a page.
  std::vector<int> lengths;        ///< Elements of each row; -1: it has no list.
  std::vector<std::size_t> group_rows;
  std::uint64_t said_rows = 0;  ///< What file, row groups and columns say that they have; 0: the truth.

  [[nodiscard]] std::int64_t said(std::size_t rows) const {
    return static_cast<std::int64_t>(said_rows > 0 ? said_rows : rows);
  }
  [[nodiscard]] std::uint32_t element_level() const { return optional ? 2 : 1; }
  [[nodiscard]] std::uint32_t levels(const TestColumn& leaf) const { return element_level() + (leaf.optional ? 1 : 0); }
};

/// The entries of some rows. \param element  The number of their first element; becomes that of the first behind them.
inline std::vector<TestEntry> entries_of(const TestLists& lists, const TestColumn& leaf, std::span<const int> lengths,
                                         std::size_t& element) {
  std::vector<TestEntry> entries;
  for (const int length : lengths) {
    if (length <= 0) entries.push_back({0, lists.element_level() - (length < 0 ? 2 : 1), {}});
    for (int i = 0; i < length; ++i) {
      const StoredValue& value = leaf.values[element++];
      entries.push_back({i == 0 ? 0U : 1U, lists.levels(leaf) - (value ? 0 : 1), value});
    }
  }
  return entries;
}

inline TestPage list_page(const TestColumn& leaf, std::uint32_t most_level, std::span<const TestEntry> entries,
                          std::vector<Bytes>& dictionary) {
  std::vector<Bytes> values;
  std::vector<std::uint32_t> repetition, definition;
  TestPage page;
  page.header.kind = leaf.version2 ? PageKind::kDataV2 : PageKind::kData;
  page.header.encoding = leaf.encoding;
  page.header.num_values = entries.size();
  for (const TestEntry& entry : entries) {
    repetition.push_back(entry.repetition);
    definition.push_back(entry.definition);
    if (entry.value) values.push_back(*entry.value);
    page.header.num_rows += entry.repetition == 0 ? 1 : 0;
  }
  page.header.num_nulls = entries.size() - values.size();
  const auto add = [&](const std::vector<std::uint32_t>& levels, std::uint32_t most, std::uint64_t& bytes) {
    const Bytes runs = runs_of(levels, static_cast<std::uint32_t>(std::bit_width(most)));
    if (!leaf.version2) append(page.body, bytes_of(static_cast<std::uint32_t>(runs.size())));
    append(page.body, runs);
    bytes = leaf.version2 ? runs.size() : 0;
  };
  add(repetition, 1, page.header.repetition_bytes);
  add(definition, most_level, page.header.definition_bytes);
  append(page.body, encoded_values(leaf, values, dictionary));
  page.header.decoded_bytes = page.body.size();
  return page;
}

/// Append the pages of entries to a file.
inline TestChunk append_list_chunk(Bytes& file, const TestColumn& leaf, std::uint32_t most_level,
                                   std::span<const TestEntry> entries) {
  std::vector<Bytes> dictionary;
  std::vector<TestPage> pages;
  for (std::size_t at = 0; at < entries.size(); at += leaf.page_rows)
    pages.push_back(
        list_page(leaf, most_level, entries.subspan(at, std::min(leaf.page_rows, entries.size() - at)), dictionary));
  TestChunk chunk{.rows = entries.size(), .data_at = file.size()};
  const std::size_t from = file.size();
  if (!dictionary.empty()) {
    chunk.dictionary_at = file.size();
    append(file, stored_page(dictionary_page(leaf, dictionary), leaf.snappy, leaf.checksums));
  }
  chunk.data_at = file.size();
  for (const TestPage& page : pages) append(file, stored_page(page, leaf.snappy, leaf.checksums));
  chunk.bytes = file.size() - from;
  return chunk;
}

inline void write_list_schema(CompactWriter& out, const TestLists& lists) {
  const auto leaves = static_cast<std::int64_t>(lists.leaves.size());
  out.list(2, CompactType::kStruct, 3 + lists.leaves.size()).begin().text(4, "schema").number(5, 1).end();
  out.begin().number(3, lists.optional ? 1 : 0).text(4, "x").number(5, 1).number(6, 3).end();  // LIST
  out.begin().number(3, 2).text(4, "list").number(5, leaves).end();
  for (const TestColumn& leaf : lists.leaves) {
    out.begin().number(1, static_cast<int>(leaf.physical));
    if (leaf.type_length > 0) out.number(2, leaf.type_length);
    out.number(3, leaf.optional ? 1 : 0).text(4, leaf.name).end();
  }
}

/// \param spoil  Changes the entries of a row group of a leaf before they are written.
inline Bytes write_lists(
    const TestLists& lists,
    const std::function<void(std::size_t group, std::size_t leaf, std::vector<TestEntry>&)>& spoil = nullptr) {
  Bytes file = bytes_of_text("PAR1");
  CompactWriter out;
  write_list_schema(out.number(1, 2), lists);
  out.long_number(3, lists.said(lists.lengths.size()));
  out.list(4, CompactType::kStruct, lists.group_rows.size());
  std::vector<std::size_t> element(lists.leaves.size());
  std::size_t first = 0;
  for (std::size_t group = 0; group < lists.group_rows.size(); ++group) {
    const std::size_t rows = lists.group_rows[group];
    out.begin().list(1, CompactType::kStruct, lists.leaves.size());
    for (std::size_t i = 0; i < lists.leaves.size(); ++i) {
      const TestColumn& leaf = lists.leaves[i];
      auto entries = entries_of(lists, leaf, std::span(lists.lengths).subspan(first, rows), element[i]);
      if (spoil) spoil(group, i, entries);
      TestChunk chunk = append_list_chunk(file, leaf, lists.levels(leaf), entries);
      chunk.rows = static_cast<std::size_t>(lists.said(chunk.rows));
      write_chunk(out, leaf, chunk);
    }
    out.long_number(2, 0).long_number(3, lists.said(rows)).end();
    first += rows;
  }
  out.end();
  append_footer(file, out.bytes);
  return file;
}

/// List of 0 to 6 elements, and one that is longer than pages; if they are optional some are null.
inline TestLists some_lists(std::vector<TestColumn> leaves, std::vector<std::size_t> group_rows, bool optional = true) {
  TestLists lists{optional, std::move(leaves), {}, std::move(group_rows)};
  std::size_t rows = 0, elements = 0;
  for (const std::size_t count : lists.group_rows) rows += count;
  for (std::size_t row = 0; row < rows; ++row) {
    const int length = row % 11 == 4 ? 25 : static_cast<int>(row * 5 % 7);
    lists.lengths.push_back(length == 0 && optional && row % 2 == 1 ? -1 : length);
    elements += static_cast<std::size_t>(length);
  }
  for (TestColumn& leaf : lists.leaves)
    for (std::size_t i = 0; i < elements; ++i) {
      const auto number = static_cast<std::int32_t>(i % 13 * 7919);
      if (leaf.optional && i % 5 == 2)
        leaf.values.emplace_back();
      else
        leaf.values.emplace_back(leaf.physical == PhysicalType::kInt32    ? bytes_of(number)
                                 : leaf.physical == PhysicalType::kDouble ? bytes_of(number * 0.37)
                                                                          : Bytes(leaf.type_length, std::byte(i)));
    }
  return lists;
}

}  // namespace headrace::parquet
