#include "format/parquet/column_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "base/memory/page_buffer.h"
#include "base/memory/unplanned_memory.h"
#include "base/threads/fork_safe_mutex.h"
#include "codec/codec.h"
#include "codec/coded_bytes.h"
#include "format/parquet/column_description.h"
#include "format/parquet/pages/column_pages.h"
#include "format/parquet/pages/dictionary_cache.h"
#include "format/parquet/pages/list_lengths.h"
#include "format/parquet/pages/page_values.h"
#include "format/parquet/pages/page_walk.h"
#include "format/parquet/pages/stored_page.h"

namespace headrace::parquet {
namespace {

constexpr std::uint64_t kPageNumberBits = 32;         // of Piece.id; the row group is above
constexpr std::uint64_t kMostBesideBytes = 16 << 20;  // of a row group that is read to find its pages

class ColumnArray final : public ArrayReader {
 public:
  ColumnArray(std::shared_ptr<const OpenParquet> opened, const LeafColumn& column, ColumnPart part, ArrayInfo info,
              CodecsByNumber codecs, std::uint64_t page_bytes, std::shared_ptr<const ListLengths> lists)
      : opened_(std::move(opened)),
        column_(column),
        part_(part),
        info_(std::move(info)),
        codecs_(std::move(codecs)),
        page_bytes_(page_bytes),
        lists_(std::move(lists)),
        row_bytes_(static_cast<std::size_t>(info_.row_record_bytes())),
        tables_(opened_->metadata.row_groups.size()),
        is_asked_for_(tables_.size()) {}
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

  /// A row group of which nothing is known yet is read from its beginning, which has its dictionary and, where it is no
  /// larger, all of its pages.
  void list_beside(RowRange rows, std::vector<FileRange>& out) const override {
    const std::vector<std::uint64_t>& ends = info_.chunk_ends;
    auto group = static_cast<std::size_t>(std::ranges::upper_bound(ends, rows.first) - ends.begin());
    for (; group < ends.size() && (group == 0 ? 0 : ends[group - 1]) < rows.end(); ++group) {
      if (const PageTable* const known = tables_[group].load(std::memory_order_acquire)) {
        if (known->dictionary && !DictionaryCache::process().find(this, group))
          out.emplace_back(opened_->file.get(), *known->dictionary);
        continue;
      }
      if (is_asked_for_[group].exchange(true)) continue;  // blocks of one row group are read at the same time
      const Result<ByteRange> all = chunk_range(chunk(group), opened_->file->size());
      if (all.ok())
        out.emplace_back(opened_->file.get(), ByteRange{all->offset, std::min(all->size, kMostBesideBytes)});
    }
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

  Result<std::vector<std::uint32_t>> list_lengths() const override {
    std::vector<std::uint32_t> lengths;
    if (lists_ == nullptr) return lengths;
    if (part_ == ColumnPart::kValues) HEADRACE_TRY(check_no_null_list());
    lengths.reserve(static_cast<std::size_t>(opened_->metadata.num_rows));
    for (const GroupLengths& group : lists_->groups)
      lengths.insert(lengths.end(), group.lengths.begin(), group.lengths.end());
    return lengths;
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
  [[nodiscard]] const ColumnChunk& chunk(std::size_t group) const { return opened_->chunk(group, column_); }
  [[nodiscard]] const Codec* codec(std::size_t group) const { return codecs_.at(chunk(group).codec).get(); }

  [[nodiscard]] Status check_no_null_list() const {
    std::uint64_t before = 0;
    for (const GroupLengths& group : lists_->groups) {
      if (group.first_null_row)
        return placed(
            Error(ErrorCode::kInvalidArgument, fmt::format("row {} has no list", before + *group.first_null_row))
                .with_hint("Open the data with nulls=\"fill\": a row without a list has an empty one then "
                           "(and elements without a value are NaN, or 0 for what are no floats)."));
      before += group.lengths.size();
    }
    return {};
  }

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
    HEADRACE_ASSIGN(PageTable table, walk_chunk(*opened_, column_, group));
    if (lists_ != nullptr) to_elements(table, lists_->groups[group]);
    return table;
  }

  Result<std::shared_ptr<const Dictionary>> dictionary(std::size_t group) const {
    HEADRACE_ASSIGN(const PageTable* const table, pages(group));
    if (!table->dictionary) return std::shared_ptr<const Dictionary>();
    if (auto kept = DictionaryCache::process().find(this, group)) return kept;
    auto read = read_dictionary_page(group, *table->dictionary);
    HEADRACE_TRY(check_unchanged());
    if (!read.ok()) return std::move(read.error().with_bytes(*table->dictionary).with_stage("dictionary"));
    return DictionaryCache::process().keep(this, group, std::make_shared<const Dictionary>(std::move(*read)));
  }
  [[nodiscard]] Result<Dictionary> read_dictionary_page(std::size_t group, ByteRange place) const {
    HEADRACE_ASSIGN(const PageBuffer stored, unplanned_memory(MemoryTag::kScratch, place.size));
    HEADRACE_TRY(opened_->file->read_at(place.offset, stored.bytes()));
    HEADRACE_ASSIGN(const StoredPage page, open_page(stored.bytes()));
    HEADRACE_TRY(check_decoded_size(codec(group) != nullptr, page.header));
    PageBuffer decoded;
    if (codec(group) != nullptr) {
      HEADRACE_ASSIGN(decoded, unplanned_memory(MemoryTag::kScratch, page.header.decoded_bytes));
    }
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
    if (!header.is_data() || header.num_values != entry.num_entries)
      return corrupt("a page is another one than when its column was indexed");
    HEADRACE_TRY(check_decoded_size(codec(group) != nullptr, header));
    const std::uint64_t base = group == 0 ? 0 : info_.chunk_ends[group - 1];
    const PageRows rows{piece.rows.first - base - entry.first_row, piece.rows.count, piece.rows.first, entry.num_rows};
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
    const bool full = is_full(column_, header, bytes);
    if (lists_ != nullptr) HEADRACE_TRY(check_list_page(header, bytes, entry.num_rows, full));
    if (full && header.encoding == Encoding::kPlain) HEADRACE_TRY(check_nothing_left(header, bytes));
    if (part_ == ColumnPart::kPresence && !column_.is_nullable()) {
      std::fill_n(scratch.out.begin(), rows.count, std::byte{1});
      return DecodedPiece{scratch.out.data(), row_bytes_};
    }
    if (part_ == ColumnPart::kPresence) {
      HEADRACE_ASSIGN([[maybe_unused]] const Present present,
                      read_presence(column_, header, bytes, rows, as_u8(scratch.out.data())));
      return DecodedPiece{scratch.out.data(), row_bytes_};
    }
    const bool stays = large_page.size_bytes() == 0 || body.data() != room.data();
    if (stays && full && header.encoding == Encoding::kPlain && column_.conversion == Conversion::kNone &&
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

  /// Plain values fill their page: what is behind them may be levels of a column that its schema calls something else.
  [[nodiscard]] Status check_nothing_left(const PageHeader& header, const PageBytes& bytes) const {
    const bool bits = column_.physical == PhysicalType::kBoolean;
    if (!bits && column_.value_bytes == 0) return {};  // their sizes differ
    const std::uint64_t used = bits ? (header.num_values + 7) / 8 : header.num_values * column_.value_bytes;
    if (bytes.values.size() <= used) return {};  // too few are met when they are read
    return corrupt(fmt::format("{} bytes follow its {} values", bytes.values.size() - used, header.num_values));
  }

  static Result<std::span<std::byte>> scratch_of(std::span<std::byte> planned, std::uint64_t bytes, PageBuffer& large) {
    if (planned.size() >= bytes) return planned;
    HEADRACE_ASSIGN(large, unplanned_memory(MemoryTag::kScratch, bytes));
    return large.bytes();
  }

  [[nodiscard]] Error placed(Error error) const {
    return headrace::parquet::placed(std::move(error), *opened_, info_.path);
  }

  const std::shared_ptr<const OpenParquet> opened_;
  const LeafColumn& column_;  // of opened_
  const ColumnPart part_;
  const ArrayInfo info_;
  const CodecsByNumber codecs_;
  const std::uint64_t page_bytes_;                  // of the first page, decoded
  const std::shared_ptr<const ListLengths> lists_;  // null: the column is none
  const std::size_t row_bytes_;
  mutable std::vector<std::atomic<const PageTable*>> tables_;  // null: the row group was not asked for
  mutable std::vector<std::atomic<bool>> is_asked_for_;        // row groups whose bytes list_beside() has told
  mutable ForkSafeMutex mutex_;
  mutable std::vector<std::unique_ptr<const PageTable>> kept_tables_;
};

Error refused(const OpenParquet& opened, const LeafColumn& column, std::string why) {
  return Error(ErrorCode::kUnsupported, std::move(why))
      .with_file(opened.path)
      .with_field(column.path)
      .with_stage("open");
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

/// Let the array of a list have the elements that were counted. \return The lengths of the lists.
/// Errors: kCorruptData  the column has other entries than they; those of count_lists().
Result<std::shared_ptr<const ListLengths>> set_elements(ArrayInfo& info, const OpenParquet& opened,
                                                        const LeafColumn& column) {
  HEADRACE_ASSIGN(std::shared_ptr<const ListLengths> lists, count_lists(opened, column));
  std::vector<std::uint64_t> ends;
  std::uint64_t end = 0;
  for (std::size_t g = 0; g < lists->groups.size(); ++g) {
    const std::uint64_t entries = opened.chunk(g, column).num_values;
    if (entries != lists->groups[g].entries)
      return placed(corrupt(fmt::format("row group {} has {} values of it, where the lengths of its lists say {}", g,
                                        entries, lists->groups[g].entries)),
                    opened, column.path);
    ends.push_back(end += lists->groups[g].elements);
  }
  set_rows(info, std::move(ends));
  return lists;
}

/// Size pages by the first one that has rows. \return Decoded bytes that a page has.
Result<std::uint64_t> size_pages(ArrayInfo& info, const OpenParquet& opened, const LeafColumn& column) {
  std::uint64_t before = 0;
  for (std::size_t g = 0; g < info.chunk_ends.size(); ++g) {
    const std::uint64_t rows = info.chunk_ends[g] - std::exchange(before, info.chunk_ends[g]);
    if (rows == 0) continue;
    HEADRACE_ASSIGN(const PageHeader first, first_page(opened, column, g));
    if (std::string refusal = encoding_refusal(column, first.encoding); !refusal.empty())
      return Error(ErrorCode::kUnsupported, std::move(refusal)).with_stage("open");
    info.has_checksums = first.crc32.has_value();
    info.page_rows = first.num_values;
    if (column.is_list())  // as many of its entries are elements as of all
      info.page_rows = static_cast<std::uint64_t>(static_cast<double>(first.num_values) * static_cast<double>(rows) /
                                                  static_cast<double>(opened.chunk(g, column).num_values));
    info.page_rows = std::min(std::max<std::uint64_t>(info.page_rows, 1), info.chunk_rows());
    return usual_page_bytes(opened, column, first);
  }
  return std::uint64_t{0};
}

}  // namespace

Result<std::shared_ptr<ArrayReader>> open_column(std::shared_ptr<const OpenParquet> opened, std::size_t number,
                                                 ColumnPart part) {
  const LeafColumn& column = opened->columns[number];
  if (std::string damage = damage_of(*opened, column); !damage.empty())
    return placed(corrupt(std::move(damage)), *opened, column.path);
  if (std::string refusal = refusal_of(*opened, column); !refusal.empty()) return refused(*opened, column, refusal);
  const auto place = [&](Error& error) { return std::move(error.with_file(opened->path).with_field(column.path)); };
  for (std::size_t g = 0; g < opened->metadata.row_groups.size(); ++g) {
    const std::uint64_t rows = opened->metadata.row_groups[g].num_rows;
    const ColumnChunk& chunk = opened->chunk(g, column);
    if (chunk.physical == column.physical && (column.is_list() || chunk.num_values == rows)) continue;
    Error error = corrupt(fmt::format("row group {} has {} values of it in {} rows", g, chunk.num_values, rows));
    return place(error);
  }
  ArrayInfo info = describe_column(*opened, column);
  auto codecs = make_codecs(*opened, column);
  if (!codecs.ok()) return place(codecs.error());
  std::shared_ptr<const ListLengths> lists;
  if (column.is_list()) {
    HEADRACE_ASSIGN(lists, set_elements(info, *opened, column));
  }
  auto page_bytes = size_pages(info, *opened, column);
  if (!page_bytes.ok()) return place(page_bytes.error());
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
  return std::shared_ptr<ArrayReader>(std::make_shared<ColumnArray>(std::move(opened), column, part, std::move(info),
                                                                    std::move(*codecs), *page_bytes, std::move(lists)));
}

}  // namespace headrace::parquet
