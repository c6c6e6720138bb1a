// Pages for tests that are decoded as the reader decodes them: any rows of one, in scratch of exact sizes.
#pragma once

#include <gtest/gtest.h>

#include "format/parquet/pages/page_values.h"
#include "format/parquet/parquet_testing.h"

namespace headrace::parquet {

/// A column of a schema, as leaf_columns() makes it.
inline LeafColumn leaf_of(const TestColumn& column, const Meaning& meaning = {}) {
  FileMetadata file;
  file.schema.resize(2);
  file.schema[0].is_group = true, file.schema[0].children = 1;
  SchemaNode& node = file.schema[1];
  node.name = column.name, node.physical = column.physical, node.type_length = column.type_length;
  node.repetition = column.optional ? Repetition::kOptional : Repetition::kRequired;
  node.meaning = meaning;
  LeafColumn leaf = leaf_columns(file)[0];
  EXPECT_EQ(leaf.refusal, "");
  return leaf;
}

/// A page, and the dictionary for it.
struct ReadyPage {
  TestPage page;
  std::optional<Dictionary> dictionary;
};

inline ReadyPage ready_page(const LeafColumn& leaf, const TestColumn& column) {
  std::vector<Bytes> values;
  ReadyPage ready{data_page(column, column.values, values), {}};
  if (values.empty()) return ready;
  const TestPage stored = dictionary_page(column, values);
  auto dictionary = read_dictionary(leaf, stored.header, stored.body);
  EXPECT_TRUE(dictionary.ok()) << dictionary.error().what();
  if (dictionary.ok()) ready.dictionary = std::move(*dictionary);
  return ready;
}

inline Result<Bytes> read_slice(const LeafColumn& leaf, const ReadyPage& ready, PageRows rows,
                                NullPolicy nulls = NullPolicy::kFill) {
  HEADRACE_ASSIGN(const PageBytes bytes, divide_page(leaf, ready.page.header, ready.page.body));
  Bytes out(rows.count * leaf.row_bytes() + 1, std::byte{0x5a}), spare(ready.page.body.size() + rows.count);
  HEADRACE_TRY(read_elements(leaf, ready.page.header, bytes, rows, ready.dictionary ? &*ready.dictionary : nullptr,
                             nulls, std::span(out).first(out.size() - 1), spare));
  EXPECT_EQ(out.back(), std::byte{0x5a}) << "written past the rows";
  out.pop_back();
  return out;
}

inline void expect_slices(const LeafColumn& leaf, const TestColumn& column, const Bytes& whole) {
  const ReadyPage ready = ready_page(leaf, column);
  const std::size_t rows = column.values.size(), size = leaf.row_bytes();
  ASSERT_EQ(whole.size(), rows * size);
  for (std::size_t skip = 0; skip < rows; ++skip)
    for (std::size_t count = 1; count <= rows - skip; count += count < 4 ? 1 : 11) {
      const auto slice = read_slice(leaf, ready, {skip, count});
      ASSERT_TRUE(slice.ok()) << slice.error().what();
      const auto from = whole.begin() + static_cast<std::ptrdiff_t>(skip * size);
      ASSERT_EQ(*slice, Bytes(from, from + static_cast<std::ptrdiff_t>(count * size)))
          << count << " rows from " << skip;
    }
}

}  // namespace headrace::parquet
