#include "format/parquet/pages/list_lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/memory/page_buffer.h"
#include "base/memory/unplanned_memory.h"
#include "codec/coded_bytes.h"
#include "format/parquet/pages/column_pages.h"
#include "format/parquet/pages/stored_page.h"

namespace headrace::parquet {
namespace {

/// Part of a file's bytes, read forward in steps. Threads: one.
class ForwardReader {
 public:
  ForwardReader(const RandomAccessFile& file, ByteRange all) : file_(file), all_(all) {}

  /// Return bytes of the range, until the next call. Errors: kOutOfBudget; those of reading.
  Result<std::span<const std::byte>> at(ByteRange wanted) {
    if (wanted.offset < there_.offset || wanted.end() > there_.end()) {
      const std::uint64_t size = std::max(wanted.size, std::min(kStepBytes, all_.end() - wanted.offset));
      there_ = {};
      if (buffer_.size_bytes() < size) {
        buffer_.reset();
        HEADRACE_ASSIGN(buffer_, unplanned_memory(MemoryTag::kScratch, size));
      }
      HEADRACE_TRY(file_.read_at(wanted.offset, buffer_.bytes().first(static_cast<std::size_t>(size))));
      there_ = {wanted.offset, size};
    }
    return std::span<const std::byte>(buffer_.bytes())
        .subspan(static_cast<std::size_t>(wanted.offset - there_.offset), static_cast<std::size_t>(wanted.size));
  }

 private:
  static constexpr std::uint64_t kStepBytes = 1 << 20;
  const RandomAccessFile& file_;
  const ByteRange all_;
  ByteRange there_;
  PageBuffer buffer_;
};

/// Counts the lists of one row group by one column.
class ChunkCount {
 public:
  ChunkCount(const OpenParquet& opened, const LeafColumn& column, std::size_t group, ByteRange range,
             const Codec* codec)
      : column_(column),
        chunk_(opened.chunk(group, column)),
        codec_(codec),
        bytes_(*opened.file, range),
        walk_(range, chunk_.num_values, PageUnit::kListEntries),
        counter_(column, opened.metadata.row_groups[group].num_rows) {}

  Result<GroupLengths> run() {
    while (const auto needs = walk_.needs()) {
      HEADRACE_ASSIGN(const std::span<const std::byte> header, bytes_.at(*needs));
      HEADRACE_TRY(walk_.push(header));
      if (walk_.table().pages.size() == page_) continue;
      const ByteRange place = walk_.table().pages[page_].place;
      if (Status counted = count_page(place); !counted.ok()) return std::move(counted.error().with_bytes(place));
      ++page_;
    }
    return counter_.take();
  }
  /// The page that is read, or that could not be.
  [[nodiscard]] std::size_t page() const { return page_; }

 private:
  Status count_page(ByteRange place) {
    const PageHeader& header = walk_.last_header();
    HEADRACE_TRY(check_decoded_size(codec_ != nullptr, header));
    if (header.kind != PageKind::kDataV2) return count_whole_page(place);
    const ByteRange levels{place.offset + header.header_bytes, header.repetition_bytes + header.definition_bytes};
    HEADRACE_ASSIGN(const std::span<const std::byte> bytes, bytes_.at(levels));
    HEADRACE_ASSIGN(const PageBytes page, divide_page(column_, header, bytes));
    return counter_.push(page, header.num_values);
  }
  /// Levels of the first version are compressed with the values.
  Status count_whole_page(ByteRange place) {
    HEADRACE_ASSIGN(const std::span<const std::byte> bytes, bytes_.at(place));
    HEADRACE_ASSIGN(const StoredPage stored, open_page(bytes));
    if (codec_ != nullptr && decoded_.size_bytes() < stored.header.decoded_bytes) {
      decoded_.reset();
      HEADRACE_ASSIGN(decoded_, unplanned_memory(MemoryTag::kScratch, stored.header.decoded_bytes));
    }
    HEADRACE_ASSIGN(const std::span<const std::byte> body, decompress(codec_, stored, decoded_.bytes()));
    HEADRACE_ASSIGN(const PageBytes page, divide_page(column_, stored.header, body));
    return counter_.push(page, stored.header.num_values);
  }

  const LeafColumn& column_;
  const ColumnChunk& chunk_;
  const Codec* const codec_;
  ForwardReader bytes_;
  PageBuffer decoded_;
  PageWalk walk_;
  LengthCounter counter_;
  std::size_t page_ = 0;
};

/// The column of a list whose pages have the fewest bytes, of those whose levels can be read; `asked` can.
const LeafColumn& smallest_column(const OpenParquet& opened, const LeafColumn& asked) {
  const LeafColumn* smallest = &asked;
  const auto bytes = [&](const LeafColumn& column) {
    std::uint64_t sum = 0;
    for (const RowGroup& group : opened.metadata.row_groups) sum += group.columns[column.index].stored_bytes;
    return sum;
  };
  const auto readable = [&](const LeafColumn& column) {
    return std::ranges::all_of(opened.metadata.row_groups, [&](const RowGroup& group) {
      return storage_refusal(group.columns[column.index]).empty();
    });
  };
  for (const LeafColumn& column : opened.columns)
    if (column.list_node == asked.list_node && bytes(column) < bytes(*smallest) && readable(column)) smallest = &column;
  return *smallest;
}

Result<GroupLengths> count_group(const OpenParquet& opened, const LeafColumn& column, std::size_t group,
                                 const CodecsByNumber& codecs, MemoryReservation& reservation) {
  const std::uint64_t rows = opened.metadata.row_groups[group].num_rows;
  const ColumnChunk& chunk = opened.chunk(group, column);
  const auto at = [&](Error& error, std::string place) { return std::move(error.with_chunk(std::move(place))); };
  if (chunk.num_values < rows || (rows == 0 && chunk.num_values > 0)) {
    Error error = corrupt(fmt::format("{} values of lists in {} rows", chunk.num_values, rows));
    return at(error, fmt::format("(row group {})", group));
  }
  if (rows == 0) return GroupLengths();  // some writers say nothing of where its pages would be
  // A run of empty lists takes a few bytes, so that damage can announce any number of them.
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(rows, sizeof(std::uint32_t), &bytes) ||
      __builtin_add_overflow(bytes, reservation.bytes(), &bytes)) {
    Error error = corrupt(fmt::format("{} rows of lists are more than there can be", rows));
    return at(error, fmt::format("(row group {})", group));
  }
  HEADRACE_TRY(reservation.resize(bytes));
  auto range = chunk_range(chunk, opened.file->size());
  if (!range.ok()) return at(range.error(), fmt::format("(row group {})", group));
  ChunkCount count(opened, column, group, *range, codecs.at(chunk.codec).get());
  auto counted = count.run();
  if (!counted.ok()) return at(counted.error(), fmt::format("(row group {}, page {})", group, count.page()));
  return counted;
}

Result<std::shared_ptr<const ListLengths>> count_by(const OpenParquet& opened, const LeafColumn& column) {
  auto lists = std::make_shared<ListLengths>();
  HEADRACE_ASSIGN(lists->reservation, MemoryBudget::process()->try_reserve(MemoryTag::kIndex, 0));
  HEADRACE_ASSIGN(const CodecsByNumber codecs, make_codecs(opened, column));
  for (std::size_t group = 0; group < opened.metadata.row_groups.size(); ++group) {
    auto counted = count_group(opened, column, group, codecs, lists->reservation);
    HEADRACE_TRY(opened.file->check_unchanged());  // levels of a file that changed may be anything
    if (!counted.ok()) return std::move(counted.error());
    lists->groups.push_back(std::move(*counted));
  }
  return std::shared_ptr<const ListLengths>(std::move(lists));
}

/// Count the lists of a column by its own levels, where those of a smaller one are damaged, which is not asked for.
Result<std::shared_ptr<const ListLengths>> count_by_itself(const OpenParquet& opened, const LeafColumn& column) {
  auto counted = count_by(opened, column);
  if (!counted.ok()) return placed(std::move(counted.error()), opened, column.path);
  return counted;  // and not kept for the others: they say for themselves whether they can be read
}

}  // namespace

std::shared_ptr<const ListLengths> KnownLists::find(std::size_t node) const {
  const std::lock_guard lock(mutex_);
  const auto found = lists_.find(node);
  return found == lists_.end() ? nullptr : found->second;
}

std::shared_ptr<const ListLengths> KnownLists::keep(std::size_t node, std::shared_ptr<const ListLengths> lists) const {
  const std::lock_guard lock(mutex_);
  return lists_.try_emplace(node, std::move(lists)).first->second;
}

Result<std::shared_ptr<const ListLengths>> count_lists(const OpenParquet& opened, const LeafColumn& column) {
  if (auto known = opened.lists.find(column.list_node)) return known;
  const LeafColumn& by = smallest_column(opened, column);
  auto counted = count_by(opened, by);
  if (!counted.ok() && &by != &column && counted.error().code() == ErrorCode::kCorruptData)
    return count_by_itself(opened, column);
  if (!counted.ok()) return placed(std::move(counted.error()), opened, by.path);
  return opened.lists.keep(column.list_node, std::move(*counted));
}

void to_elements(PageTable& table, const GroupLengths& lists) {
  std::size_t row = 0;
  std::uint64_t passed = 0, element = 0;  // entries of the row that earlier pages have
  for (PageEntry& page : table.pages) {
    page.first_row = element;
    for (std::uint64_t left = page.num_entries; left > 0 && row < lists.lengths.size();) {
      const std::uint32_t length = lists.lengths[row];
      const std::uint64_t some = std::min(left, std::max<std::uint64_t>(length, 1) - passed);
      element += length == 0 ? 0 : some;
      passed += some;
      left -= some;
      if (passed >= length) ++row, passed = 0;
    }
    page.num_rows = element - page.first_row;
  }
  std::erase_if(table.pages, [](const PageEntry& page) { return page.num_rows == 0; });
}

}  // namespace headrace::parquet
