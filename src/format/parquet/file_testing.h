// Whole Parquet files for tests, out of the pages of parquet_testing.h.
#pragma once

#include "codec/compression/raw_deflate.h"
#include "format/parquet/parquet_testing.h"

namespace headrace::parquet {

struct TestFile {
  std::vector<TestColumn> columns;
  std::vector<std::size_t> group_rows;  ///< Rows of each row group; together those of every column.
};

/// Return a page as it lies in a file. \param extra  Writes further fields of its header, above 8.
inline Bytes stored_page(const TestPage& page, bool snappy = false, bool checksum = false,
                         const std::function<void(CompactWriter&)>& extra = nullptr) {
  const PageHeader& header = page.header;
  const auto levels = static_cast<std::size_t>(header.definition_bytes + header.repetition_bytes);
  Bytes body(page.body.begin(), page.body.begin() + static_cast<std::ptrdiff_t>(levels));
  const auto values = std::span(page.body).subspan(levels);
  append(body, snappy ? snappy_of(values) : Bytes(values.begin(), values.end()));
  const auto n = [](auto number) { return static_cast<std::int64_t>(number); };
  CompactWriter out;
  out.number(1, n(header.kind)).number(2, n(header.decoded_bytes)).number(3, n(body.size()));
  if (checksum) out.number(4, static_cast<std::int32_t>(crc32_of(body)));
  if (header.kind == PageKind::kData)
    out.begin(5).number(1, n(header.num_values)).number(2, n(header.encoding)).number(3, 3).number(4, 3).end();
  else if (header.kind == PageKind::kDictionary)
    out.begin(7).number(1, n(header.num_values)).number(2, n(header.encoding)).end();
  else if (header.kind == PageKind::kDataV2)
    out.begin(8)
        .number(1, n(header.num_values))
        .number(2, n(header.num_nulls))
        .number(3, n(header.num_rows))
        .number(4, n(header.encoding))
        .number(5, n(header.definition_bytes))
        .number(6, n(header.repetition_bytes))
        .truth(7, snappy)
        .end();
  if (extra) extra(out);
  out.end();
  append(out.bytes, body);
  return out.bytes;
}

/// What a footer says of the column of a row group.
struct TestChunk {
  std::size_t rows = 0, dictionary_at = 0, data_at = 0, bytes = 0;
};

/// Append the pages of some rows of a column to a file.
inline TestChunk append_chunk(Bytes& file, const TestColumn& column, std::span<const StoredValue> rows) {
  std::vector<Bytes> dictionary;
  std::vector<TestPage> pages;
  for (std::size_t row = 0; row < rows.size(); row += column.page_rows)
    pages.push_back(data_page(column, rows.subspan(row, std::min(column.page_rows, rows.size() - row)), dictionary));
  TestChunk chunk{rows.size(), 0, file.size(), 0};
  const std::size_t from = file.size();
  if (!dictionary.empty()) {
    chunk.dictionary_at = file.size();
    append(file, stored_page(dictionary_page(column, dictionary), column.snappy, column.checksums));
  }
  chunk.data_at = file.size();
  for (const TestPage& page : pages) append(file, stored_page(page, column.snappy, column.checksums));
  chunk.bytes = file.size() - from;
  return chunk;
}

inline void write_schema(CompactWriter& out, std::span<const TestColumn> columns) {
  out.list(2, CompactType::kStruct, columns.size() + 1);
  out.begin().text(4, "schema").number(5, static_cast<std::int64_t>(columns.size())).end();
  for (const TestColumn& column : columns) {
    out.begin().number(1, static_cast<int>(column.physical));
    if (column.type_length > 0) out.number(2, column.type_length);
    out.number(3, column.optional ? 1 : 0).text(4, column.name);
    if (column.meaning) column.meaning(out);
    out.end();
  }
}

inline void write_chunk(CompactWriter& out, const TestColumn& column, const TestChunk& chunk) {
  const auto n = [](auto number) { return static_cast<std::int64_t>(number); };
  out.begin().long_number(2, 4).begin(3).number(1, n(column.physical));
  out.list(2, CompactType::kI32, 2).entry(n(column.encoding)).entry(n(Encoding::kRle));
  out.list(3, CompactType::kBinary, 1).entry(column.name).number(4, column.snappy ? 1 : 0);
  out.long_number(5, n(chunk.rows)).long_number(6, n(chunk.bytes)).long_number(7, n(chunk.bytes));
  out.long_number(9, n(chunk.data_at));
  if (chunk.dictionary_at > 0) out.long_number(11, n(chunk.dictionary_at));
  out.end().end();
}

/// Append a footer and what ends a file.
inline void append_footer(Bytes& file, std::span<const std::byte> footer, std::string_view magic = "PAR1") {
  append(file, footer);
  append(file, bytes_of(static_cast<std::uint32_t>(footer.size())));
  append(file, bytes_of_text(magic));
}

inline Bytes write_file(const TestFile& made) {
  Bytes file = bytes_of_text("PAR1");
  CompactWriter out;
  std::size_t total = 0, first = 0;
  for (const std::size_t rows : made.group_rows) total += rows;
  out.number(1, 2);
  write_schema(out, made.columns);
  out.long_number(3, static_cast<std::int64_t>(total)).list(4, CompactType::kStruct, made.group_rows.size());
  for (const std::size_t rows : made.group_rows) {
    out.begin().list(1, CompactType::kStruct, made.columns.size());
    for (const TestColumn& column : made.columns)
      write_chunk(out, column, append_chunk(file, column, std::span(column.values).subspan(first, rows)));
    out.long_number(2, 0).long_number(3, static_cast<std::int64_t>(rows)).end();
    first += rows;
  }
  out.text(6, "headrace test").end();
  append_footer(file, out.bytes);
  return file;
}

}  // namespace headrace::parquet
