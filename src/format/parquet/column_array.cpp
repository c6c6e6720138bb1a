#include "format/parquet/column_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <map>
#include <memory>
#include <mutex>

#include "base/fork_safe_mutex.h"
#include "base/page_buffer.h"
#include "codec/codec.h"
#include "codec/coded_bytes.h"
#include "format/parquet/dictionary_cache.h"
#include "format/parquet/page_walk.h"
#include "format/parquet/stored_page.h"

namespace headrace::parquet {
namespace {

constexpr std::uint64_t kWholeChunkBytes = 64 << 10;  // below, its headers are read with what lies between them
constexpr std::uint64_t kPageNumberBits = 32;         // of Piece.id; the row group is above

/// Names of the codec registry for the numbers of parquet.thrift; null: not read.
const char* registered_codec(std::uint32_t codec) {
  constexpr std::array<const char*, 8> names{"", "snappy", "gzip", nullptr, nullptr, "lz4_hadoop", "zstd", "lz4_raw"};
  return codec < names.size() ? names[codec] : nullptr;
}

/// Read what a walk asks for. \param whole  The range, if it is read at once; empty: header by header.
Result<PageTable> walk_pages(const RandomAccessFile& file, ByteRange range, std::uint64_t num_values) {
  std::vector<std::byte> whole, some;
  if (range.size <= kWholeChunkBytes) {
    whole.resize(static_cast<std::size_t>(range.size));
    HEADRACE_TRY(file.read_at(range.offset, whole));
  }
  PageWalk walk(range, num_values);
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

class ColumnArray final : public ArrayReader {
 public:
  ColumnArray(std::shared_ptr<const OpenParquet> opened, const LeafColumn& column, ColumnPart part, ArrayInfo info,
              std::map<std::uint32_t, std::unique_ptr<Codec>> codecs, std::uint64_t page_bytes)
      : opened_(std::move(opened)),
        column_(column),
        part_(part),
        info_(std::move(info)),
        codecs_(std::move(codecs)),
        page_bytes_(page_bytes),
        row_bytes_(static_cast<std::size_t>(info_.row_record_bytes())),
        tables_(opened_->metadata.row_groups.size()) {}
  ~ColumnArray() override { DictionaryCache::process().forget(this); }

  [[nodiscard]] const ArrayInfo& info() const override { return info_; }
  [[nodiscard]] std::uint32_t pieces_across() const override { return 1; }
  [[nodiscard]] std::string piece_name(const Piece& piece) const override {
    return fmt::format("(row group {}, page {})", group_of(piece), page_of(piece));
  }

  Status locate(RowRange rows, std::vector<Piece>& out) const override {
    if (rows.first > info_.rows() || rows.count > info_.rows() - rows.first)
      return placed(Error(ErrorCode::kInvalidArgument,
                          fmt::format("{} rows from {} on of an array of {}", rows.count, rows.first, info_.rows())));
    const std::vector<std::uint64_t>& ends = info_.chunk_ends;
    auto group = static_cast<std::size_t>(std::ranges::upper_bound(ends, rows.first) - ends.begin());
    for (std::uint64_t row = rows.first; row < rows.end(); ++group) {
      if (ends[group] == row) continue;  // a row group of no rows has no pages
      HEADRACE_ASSIGN(const PageTable* const table, pages(group));
      const std::uint64_t base = group == 0 ? 0 : ends[group - 1];
      const auto after = [&](std::uint64_t wanted, const PageEntry& page) { return wanted < base + page.first_row; };
      auto page = std::upper_bound(table->pages.begin(), table->pages.end(), row, after);
      for (--page; page != table->pages.end() && base + page->first_row < rows.end(); ++page) {
        const std::uint64_t end = std::min(base + page->first_row + page->num_rows, rows.end());
        const auto number = static_cast<std::uint64_t>(page - table->pages.begin());
        out.push_back({std::uint64_t{group} << kPageNumberBits | number,
                       {row, end - row},
                       {opened_->file.get(), page->place},
                       (end - row) * row_bytes_});
        row = end;
      }
    }
    return {};
  }

  Result<DecodedPiece> decode(const Piece& piece, std::span<const std::byte> stored,
                              const DecodeScratch& scratch) const override {
    auto decoded = decode_rows(piece, stored, scratch);
    if (!decoded.ok())
      return placed(std::move(decoded.error().with_chunk(piece_name(piece)).with_bytes(piece.stored.range)));
    return decoded;
  }

  [[nodiscard]] RowGeometry geometry(std::uint32_t, std::size_t) const override {
    RowGeometry whole;
    whole.run_bytes = row_bytes_;
    return whole;
  }

  [[nodiscard]] Status check_unchanged() const override {
    Status same = opened_->file->check_unchanged();
    return same.ok() ? std::move(same) : placed(std::move(same.error()));
  }
  [[nodiscard]] Result<std::shared_ptr<ArrayReader>> filled() const override {
    if (part_ != ColumnPart::kValues || !column_.is_nullable()) return std::shared_ptr<ArrayReader>();
    return open_column(opened_, column_.index, ColumnPart::kFilledValues);
  }

  [[nodiscard]] ScratchNeed scratch_need(std::uint64_t max_rows) const override {
    const std::uint64_t rows = std::min(max_rows, info_.chunk_rows());
    return {rows * row_bytes_, page_bytes_ + rows};
  }

 private:
  static std::size_t group_of(const Piece& piece) { return static_cast<std::size_t>(piece.id >> kPageNumberBits); }
  static std::size_t page_of(const Piece& piece) {
    return static_cast<std::size_t>(piece.id & ((std::uint64_t{1} << kPageNumberBits) - 1));
  }
  [[nodiscard]] const ColumnChunk& chunk(std::size_t group) const {
    return opened_->metadata.row_groups[group].columns[column_.index];
  }
  [[nodiscard]] const Codec* codec(std::size_t group) const { return codecs_.at(chunk(group).codec).get(); }

  /// The pages of a row group. They are kept as long as the array: each piece asks for them, and must not wait for
  /// others.
  Result<const PageTable*> pages(std::size_t group) const {
    if (const PageTable* const known = tables_[group].load(std::memory_order_acquire)) return known;
    auto walked = walk(group);
    HEADRACE_TRY(check_unchanged());  // headers of a file that changed may be anything
    if (!walked.ok()) return placed(std::move(walked.error().with_chunk(fmt::format("(row group {})", group))));
    auto table = std::make_unique<const PageTable>(std::move(*walked));
    const std::lock_guard lock(mutex_);
    if (const PageTable* const known = tables_[group].load(std::memory_order_acquire)) return known;
    tables_[group].store(table.get(), std::memory_order_release);
    kept_tables_.push_back(std::move(table));
    return kept_tables_.back().get();
  }
  [[nodiscard]] Result<PageTable> walk(std::size_t group) const {
    HEADRACE_ASSIGN(const ByteRange range, chunk_range(chunk(group), opened_->file->size()));
    return walk_pages(*opened_->file, range, chunk(group).num_values);
  }

  Result<std::shared_ptr<const Dictionary>> dictionary(std::size_t group) const {
    HEADRACE_ASSIGN(const PageTable* const table, pages(group));
    if (!table->dictionary) return std::shared_ptr<const Dictionary>();
    if (auto kept = DictionaryCache::process().find(this, group)) return kept;
    auto read = read_dictionary_page(group, *table->dictionary);
    HEADRACE_TRY(check_unchanged());
    if (!read.ok()) return std::move(read.error().with_bytes(*table->dictionary).with_stage("dictionary"));
    auto made = std::make_shared<const Dictionary>(std::move(*read));
    DictionaryCache::process().keep(this, group, made);
    return std::shared_ptr<const Dictionary>(std::move(made));
  }
  [[nodiscard]] Result<Dictionary> read_dictionary_page(std::size_t group, ByteRange place) const {
    const std::shared_ptr<MemoryBudget> budget = MemoryBudget::process();
    HEADRACE_ASSIGN(const PageBuffer stored, PageBuffer::allocate(*budget, MemoryTag::kScratch, place.size));
    HEADRACE_TRY(opened_->file->read_at(place.offset, stored.bytes()));
    HEADRACE_ASSIGN(const StoredPage page, open_page(stored.bytes()));
    HEADRACE_TRY(check_decoded_size(codec(group) != nullptr, page.header));
    HEADRACE_ASSIGN(const PageBuffer decoded,
                    PageBuffer::allocate(*budget, MemoryTag::kScratch, page.header.decoded_bytes));
    HEADRACE_ASSIGN(const std::span<const std::byte> body, decompress(codec(group), page, decoded.bytes()));
    return headrace::parquet::read_dictionary(column_, page.header, body);
  }

  Result<DecodedPiece> decode_rows(const Piece& piece, std::span<const std::byte> stored,
                                   const DecodeScratch& scratch) const {
    const std::size_t group = group_of(piece);
    HEADRACE_ASSIGN(const PageTable* const table, pages(group));
    const PageEntry& entry = table->pages[page_of(piece)];
    HEADRACE_ASSIGN(const StoredPage page, open_page(stored));
    const PageHeader& header = page.header;
    if (!header.is_data() || header.num_values != entry.num_rows)
      return corrupt("a page is another one than when its column was indexed");
    HEADRACE_TRY(check_decoded_size(codec(group) != nullptr, header));
    const std::uint64_t base = group == 0 ? 0 : info_.chunk_ends[group - 1];
    const PageRows rows{piece.rows.first - base - entry.first_row, piece.rows.count, piece.rows.first};
    if (scratch.out.size() < rows.count * row_bytes_)
      return Error(ErrorCode::kInternal,
                   fmt::format("scratch of {} bytes, {} needed", scratch.out.size(), rows.count * row_bytes_));
    // A page may be larger than the first of its file, by which scratch was sized.
    PageBuffer large_page, large_spare;
    HEADRACE_ASSIGN(const std::span<std::byte> room, scratch_of(scratch.ping, header.decoded_bytes, large_page));
    const std::uint64_t spare_bytes = (header.encoding == Encoding::kByteStreamSplit ? header.decoded_bytes : 0) +
                                      (column_.is_nullable() ? rows.count : 0);
    HEADRACE_ASSIGN(const std::span<std::byte> spare, scratch_of(scratch.pong, spare_bytes, large_spare));
    HEADRACE_ASSIGN(const std::span<const std::byte> body, decompress(codec(group), page, room));
    HEADRACE_ASSIGN(const PageBytes bytes, divide_page(column_, header, body));
    if (part_ == ColumnPart::kPresence && !column_.is_nullable()) {
      std::fill_n(scratch.out.begin(), rows.count, std::byte{1});
      return DecodedPiece{scratch.out.data(), row_bytes_};
    }
    if (part_ == ColumnPart::kPresence) {
      HEADRACE_ASSIGN([[maybe_unused]] const Present present,
                      read_presence(column_, header, bytes, rows, as_u8(scratch.out.data())));
      return DecodedPiece{scratch.out.data(), row_bytes_};
    }
    if (header.encoding == Encoding::kPlain && column_.conversion == Conversion::kNone &&
        is_full(column_, header, bytes) &&
        column_.physical != PhysicalType::kBoolean) {  // values are the elements where they are
      if (bytes.values.size() / row_bytes_ < rows.skip + rows.count)
        return corrupt(
            fmt::format("its values end after {} of {}", bytes.values.size() / row_bytes_, rows.skip + rows.count));
      return DecodedPiece{bytes.values.data() + rows.skip * row_bytes_, row_bytes_};
    }
    std::shared_ptr<const Dictionary> dictionary_of_group;
    if (header.encoding == Encoding::kPlainDictionary || header.encoding == Encoding::kRleDictionary) {
      HEADRACE_ASSIGN(dictionary_of_group, dictionary(group));
    }
    const NullPolicy nulls = part_ == ColumnPart::kFilledValues ? NullPolicy::kFill : NullPolicy::kError;
    HEADRACE_TRY(read_elements(column_, header, bytes, rows, dictionary_of_group.get(), nulls, scratch.out, spare));
    return DecodedPiece{scratch.out.data(), row_bytes_};
  }

  static Result<std::span<std::byte>> scratch_of(std::span<std::byte> planned, std::uint64_t bytes, PageBuffer& large) {
    if (planned.size() >= bytes) return planned;
    HEADRACE_ASSIGN(large, PageBuffer::allocate(*MemoryBudget::process(), MemoryTag::kScratch, bytes));
    return large.bytes();
  }

  [[nodiscard]] Error placed(Error error) const {
    error.with_file(opened_->path).with_field(info_.path);
    if (error.code() == ErrorCode::kCorruptData)
      error.with_stage("decode").with_hint(fmt::format("Run: headrace verify {}", opened_->path));
    return error;
  }

  const std::shared_ptr<const OpenParquet> opened_;
  const LeafColumn& column_;  // of opened_
  const ColumnPart part_;
  const ArrayInfo info_;
  const std::map<std::uint32_t, std::unique_ptr<Codec>> codecs_;  // by number; null: pages are not compressed
  const std::uint64_t page_bytes_;                                // of the first page, decoded
  const std::size_t row_bytes_;
  mutable std::vector<std::atomic<const PageTable*>> tables_;  // null: the row group was not asked for
  mutable ForkSafeMutex mutex_;
  mutable std::vector<std::unique_ptr<const PageTable>> kept_tables_;
};

/// Why the pages of a chunk cannot be read; empty: they can, as far as the footer says.
std::string chunk_refusal(const LeafColumn& column, const ColumnChunk& chunk) {
  if (chunk.encrypted) return "an encrypted column";
  if (!chunk.other_file.empty()) return fmt::format("a column whose bytes are in another file, {}", chunk.other_file);
  if (registered_codec(chunk.codec) == nullptr)
    return fmt::format("compressed by {}, which is not read", codec_name(chunk.codec));
  for (std::uint32_t encoding = 0; encoding < 32; ++encoding) {
    // Levels are named among the encodings too: by RLE and BIT_PACKED.
    const bool of_levels = encoding == 3 || encoding == 4;
    if ((chunk.encodings >> encoding & 1) == 0 || of_levels) continue;
    if (std::string refusal = encoding_refusal(column, static_cast<Encoding>(encoding)); !refusal.empty())
      return refusal;
  }
  return {};
}

Error refused(const OpenParquet& opened, const LeafColumn& column, std::string why) {
  return std::move(
      Error(ErrorCode::kUnsupported, std::move(why)).with_file(opened.path).with_field(column.path).with_stage("open"));
}

std::string refusal_of(const OpenParquet& opened, const LeafColumn& column) {
  if (!column.refusal.empty()) return column.refusal;
  for (const RowGroup& group : opened.metadata.row_groups)
    if (std::string refusal = chunk_refusal(column, group.columns[column.index]); !refusal.empty()) return refusal;
  return {};
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// The header of the first data page: by it scratch and blocks are sized.
Result<std::optional<PageHeader>> first_page(const OpenParquet& opened, const LeafColumn& column) {
  for (const RowGroup& group : opened.metadata.row_groups) {
    if (group.num_rows == 0) continue;
    const ColumnChunk& chunk = group.columns[column.index];
    HEADRACE_ASSIGN(const ByteRange range, chunk_range(chunk, opened.file->size()));
    std::uint64_t offset = chunk.data_page_offset;
    for (std::uint64_t guess = 256;; guess *= 8) {
      if (offset < range.offset || offset >= range.end()) return corrupt("its first page is not among its pages");
      const std::uint64_t size = std::min(guess, range.end() - offset);
      std::vector<std::byte> bytes(static_cast<std::size_t>(size));
      HEADRACE_TRY(opened.file->read_at(offset, bytes));
      HEADRACE_ASSIGN(const std::optional<PageHeader> header, parse_page_header(bytes));
      if (header && !header->is_data()) {  // some writers let the data's offset be the dictionary's
        offset += header->page_bytes();
        guess = 32;
        continue;
      }
      if (header) {
        HEADRACE_TRY(check_decoded_size(chunk.codec != 0, *header));
        return header;
      }
      if (size < guess || guess > 1 << 20) return corrupt("the header of its first page ends in the middle");
    }
  }
  return std::optional<PageHeader>();
}

/// Decoded bytes that a page of the column has at most, in files of sane writers: a first page of indices is much
/// smaller than those of plain values that follow when the dictionary is full.
std::uint64_t usual_page_bytes(const OpenParquet& opened, const LeafColumn& column, const PageHeader& first) {
  constexpr std::uint64_t kLevelsOfRows = 4, kSlackBytes = 1024;
  std::uint64_t chunk_bytes = 0;  // no page is larger than its chunk
  for (const RowGroup& group : opened.metadata.row_groups)
    chunk_bytes = std::max(chunk_bytes, group.columns[column.index].decoded_bytes);
  const std::uint64_t plain = first.num_values * column.value_bytes + first.num_values / kLevelsOfRows + kSlackBytes;
  return std::max(first.decoded_bytes, std::min(plain, chunk_bytes));
}

}  // namespace

ArrayInfo describe_column(const OpenParquet& opened, const LeafColumn& column) {
  ArrayInfo info;
  info.path = column.path;
  info.shape = {opened.metadata.num_rows};
  if (column.is_row_of_bytes) info.shape.push_back(column.width);
  info.record_bytes = column.dtype.itemsize;
  info.columns = {{"", column.dtype, {}, 0}};
  info.layout = Layout::kChunked;
  info.chunk_shape = info.shape;
  info.chunk_shape[0] = 0;
  if (!column.units.empty()) info.attributes.values["units"] = column.units;
  if (!column.stored_as.empty()) info.attributes.values["stored as"] = column.stored_as;
  info.nullable = true;
  std::uint64_t end = 0;
  std::uint32_t codec = 0;
  bool dictionary = false;
  for (const RowGroup& group : opened.metadata.row_groups) {
    end += group.num_rows;
    info.chunk_ends.push_back(end);
    info.chunk_shape[0] = std::max(info.chunk_shape[0], group.num_rows);
    const ColumnChunk& chunk = group.columns[column.index];
    info.stored_bytes += chunk.stored_bytes;
    codec = chunk.codec;
    dictionary = dictionary || (chunk.encodings & (1U << 2 | 1U << 8)) != 0;
  }
  info.chunk_shape[0] = std::max<std::uint64_t>(info.chunk_shape[0], 1);
  if (dictionary) info.filters.push_back({"dictionary", ""});
  if (codec != 0) info.filters.push_back({lower(codec_name(codec)), ""});
  if (std::string refusal = refusal_of(opened, column); !refusal.empty()) {
    info.read_path = ReadPath::kUnsupported;
    info.reason = std::move(refusal);
  }
  return info;
}

Result<std::shared_ptr<ArrayReader>> open_column(std::shared_ptr<const OpenParquet> opened, std::size_t number,
                                                 ColumnPart part) {
  const LeafColumn& column = opened->columns[number];
  if (std::string refusal = refusal_of(*opened, column); !refusal.empty()) return refused(*opened, column, refusal);
  const auto place = [&](Error& error) { return std::move(error.with_file(opened->path).with_field(column.path)); };
  ArrayInfo info = describe_column(*opened, column);
  std::map<std::uint32_t, std::unique_ptr<Codec>> codecs;
  for (std::size_t g = 0; g < opened->metadata.row_groups.size(); ++g) {
    const RowGroup& group = opened->metadata.row_groups[g];
    const ColumnChunk& chunk = group.columns[column.index];
    if (chunk.physical != column.physical || chunk.num_values != group.num_rows) {
      Error error =
          corrupt(fmt::format("row group {} has {} values of it in {} rows", g, chunk.num_values, group.num_rows));
      return place(error);
    }
    if (codecs.contains(chunk.codec)) continue;
    codecs[chunk.codec] = nullptr;
    if (chunk.codec == 0) continue;
    auto made = make_codec({registered_codec(chunk.codec), {}}, {});
    if (!made.ok()) return place(made.error());
    codecs[chunk.codec] = std::move(*made);
  }
  auto first = first_page(*opened, column);
  if (!first.ok()) return place(first.error());
  std::uint64_t page_bytes = 0;
  if (*first) {
    if (std::string refusal = encoding_refusal(column, (*first)->encoding); !refusal.empty())
      return refused(*opened, column, refusal);
    page_bytes = usual_page_bytes(*opened, column, **first);
    info.has_checksums = (*first)->crc32.has_value();
    info.page_rows = std::min(std::max<std::uint64_t>((*first)->num_values, 1), info.chunk_rows());
  }
  info.is_filled = part == ColumnPart::kFilledValues;
  if (part == ColumnPart::kPresence) {
    info.path += kPresenceSuffix;
    info.nullable = false;
    info.columns = {{"", {DType::Kind::kBool, 1}, {}, 0}};
    info.record_bytes = 1;
    info.shape.resize(1);
    info.chunk_shape.resize(1);
    info.attributes = {};
  }
  return std::shared_ptr<ArrayReader>(
      std::make_shared<ColumnArray>(std::move(opened), column, part, std::move(info), std::move(codecs), page_bytes));
}

}  // namespace headrace::parquet
