#include "format/parquet/pages/column_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "codec/coded_bytes.h"
#include "format/parquet/pages/page_values.h"
#include "format/parquet/pages/stored_page.h"

namespace headrace::parquet {
namespace {

constexpr std::uint64_t kWholeChunkBytes = 64 << 10;  // below, its headers are read with what lies between them

/// Names of the codec registry for the numbers of parquet.thrift; null: not read.
const char* registered_codec(std::uint32_t codec) {
  constexpr std::array<const char*, 8> names{"", "snappy", "gzip", nullptr, nullptr, "lz4_hadoop", "zstd", "lz4_raw"};
  return codec < names.size() ? names[codec] : nullptr;
}

/// Read what a walk asks for. \param whole  The range, if it is read at once; empty: header by header.
Result<PageTable> walk_pages(const RandomAccessFile& file, ByteRange range, PageWalk walk) {
  std::vector<std::byte> whole, some;
  if (range.size <= kWholeChunkBytes) {
    whole.resize(static_cast<std::size_t>(range.size));
    HEADRACE_TRY(file.read_at(range.offset, whole));
  }
  while (const auto needs = walk.needs()) {
    if (!whole.empty()) {
      HEADRACE_TRY(walk.push(std::span(whole).subspan(needs->offset - range.offset, needs->size)));
      continue;
    }
    some.resize(static_cast<std::size_t>(needs->size));
    HEADRACE_TRY(file.read_at(needs->offset, some));
    HEADRACE_TRY(walk.push(some));
  }
  return walk.take();
}

PageUnit unit_of(const LeafColumn& column) {
  return column.is_list() ? PageUnit::kListEntries : PageUnit::kRows;
}

/// Why the pages of a chunk cannot be read; empty: they can, as far as the footer says.
std::string chunk_refusal(const LeafColumn& column, const ColumnChunk& chunk) {
  if (std::string refusal = storage_refusal(chunk); !refusal.empty()) return refusal;
  for (std::uint32_t encoding = 0; encoding < 32; ++encoding) {
    // Levels are named among the encodings too: by RLE and BIT_PACKED.
    const bool of_levels = encoding == 3 || encoding == 4;
    if ((chunk.encodings >> encoding & 1) == 0 || of_levels) continue;
    if (std::string refusal = encoding_refusal(column, static_cast<Encoding>(encoding)); !refusal.empty())
      return refusal;
  }
  return {};
}

}  // namespace

std::string storage_refusal(const ColumnChunk& chunk) {
  if (chunk.encrypted) return "an encrypted column";
  if (!chunk.other_file.empty()) return fmt::format("a column whose bytes are in another file, {}", chunk.other_file);
  if (registered_codec(chunk.codec) == nullptr)
    return fmt::format("compressed by {}, which is not read", codec_name(chunk.codec));
  return {};
}

std::string damage_of(const OpenParquet& opened, const LeafColumn& column) {
  for (const RowGroup& group : opened.metadata.row_groups) {
    const ColumnChunk& chunk = group.columns[column.index];
    if (chunk.encrypted) continue;
    if (chunk.physical != column.physical)
      return fmt::format("the schema says it is {}, and a row group {}", physical_name(column.physical),
                         physical_name(chunk.physical));
    if (chunk.nulls > 0 && column.definition_levels == 0)
      return fmt::format("the schema says it has no nulls, and a row group {} of them", chunk.nulls);
  }
  return {};
}

std::string refusal_of(const OpenParquet& opened, const LeafColumn& column) {
  if (!column.refusal.empty()) return column.refusal;
  for (const RowGroup& group : opened.metadata.row_groups)
    if (std::string refusal = chunk_refusal(column, group.columns[column.index]); !refusal.empty()) return refusal;
  return {};
}

Result<CodecsByNumber> make_codecs(const OpenParquet& opened, const LeafColumn& column) {
  CodecsByNumber codecs;
  for (const RowGroup& group : opened.metadata.row_groups) {
    const std::uint32_t number = group.columns[column.index].codec;
    if (codecs.contains(number)) continue;
    codecs[number] = nullptr;
    if (number == 0) continue;
    HEADRACE_ASSIGN(codecs[number], make_codec({registered_codec(number), {}}, {}));
  }
  return codecs;
}

Error placed(Error error, const OpenParquet& opened, const std::string& field) {
  error.with_file(opened.path).with_field(field);
  if (error.code() == ErrorCode::kCorruptData)
    error.with_stage("decode").with_hint(fmt::format("Run: headrace verify {}", opened.path));
  return error;
}

Result<PageTable> walk_chunk(const OpenParquet& opened, const LeafColumn& column, std::size_t group) {
  const ColumnChunk& chunk = opened.chunk(group, column);
  HEADRACE_ASSIGN(const ByteRange range, chunk_range(chunk, opened.file->size()));
  return walk_pages(*opened.file, range, PageWalk(range, chunk.num_values, unit_of(column)));
}

Result<PageHeader> first_page(const OpenParquet& opened, const LeafColumn& column, std::size_t group) {
  const ColumnChunk& chunk = opened.chunk(group, column);
  HEADRACE_ASSIGN(const ByteRange range, chunk_range(chunk, opened.file->size()));
  const std::uint64_t begin = chunk.data_page_offset;  // some writers let it be the dictionary's
  if (begin < range.offset || begin >= range.end()) return corrupt("its first page is not among its pages");
  PageWalk walk({begin, range.end() - begin}, chunk.num_values, unit_of(column));
  std::vector<std::byte> bytes;
  while (walk.table().pages.empty() && walk.needs()) {
    bytes.resize(static_cast<std::size_t>(walk.needs()->size));
    HEADRACE_TRY(opened.file->read_at(walk.needs()->offset, bytes));
    HEADRACE_TRY(walk.push(bytes));
  }
  if (walk.table().pages.empty()) return corrupt("it has no page of values");
  HEADRACE_TRY(check_decoded_size(chunk.codec != 0, walk.last_header()));
  return walk.last_header();
}

}  // namespace headrace::parquet
