#include "format/hdf5/chunks/extensible_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <string>
#include <vector>

#include "format/hdf5/chunks/chunk_place.h"
#include "format/hdf5/structure/metadata_block.h"
#include "format/hdf5/structure/object_header.h"

namespace headrace::hdf5 {
namespace {

constexpr std::uint64_t kBitsLimit = 48;  // of entry numbers; libhdf5 makes them of 32

// The index block holds the first entries itself, then the addresses of some data blocks, then those of super blocks,
// which hold the addresses of the others. Data blocks grow: those of super block u have 2^((u+1)/2) times the smallest
// number of entries, and there are 2^(u/2) of them. The first super blocks have no block of their own: their data
// blocks are those of the index block. Data blocks of more entries than a page has are read page by page.
class Walk {
 public:
  Walk(const RandomAccessFile& file, const Superblock& superblock, std::uint64_t address, const ArrayEntries& entries,
       const TakeEntry& take)
      : file_(file), superblock_(superblock), address_(address), entries_(entries), take_(take) {}

  Status run(std::uint64_t end) {
    const std::uint64_t length = superblock_.length_bytes, head_bytes = 12 + 6 * length + superblock_.address_bytes + 4;
    HEADRACE_ASSIGN(const std::vector<std::byte> head, read_signed(file_, superblock_, address_, head_bytes, "EAHD"));
    ByteCursor fields(head);
    fields.skip(4);
    const std::uint64_t version = fields.number(1), client = fields.number(1), entry_bytes = fields.number(1);
    number_bits_ = fields.number(1);
    in_index_ = fields.number(1);
    smallest_ = fields.number(1);
    const std::uint64_t super_pointers = fields.number(1), page_bits = fields.number(1);
    fields.skip(4 * length);                                                // what its blocks are and take
    const std::uint64_t written = fields.number(superblock_.length_bytes);  // number of the last entry, and 1
    fields.skip(length);
    const std::uint64_t index_block = fields.number(superblock_.address_bytes);
    if (version != 0 || client != entries_.client || entry_bytes != entries_.entry_bytes)
      return index_damaged(fmt::format("entries of {} bytes, {} expected", entry_bytes, entries_.entry_bytes));
    if (number_bits_ > kBitsLimit || !std::has_single_bit(smallest_) || !std::has_single_bit(super_pointers) ||
        page_bits > 20 || number_bits_ < static_cast<unsigned>(std::bit_width(smallest_)))
      return index_damaged("its header");
    page_entries_ = std::uint64_t{1} << page_bits;
    end_ = std::min(end, written);
    if (index_block == superblock_.undefined_address()) return {};
    return visit_index(index_block, super_pointers);
  }

 private:
  Status visit_index(std::uint64_t address, std::uint64_t super_pointers) {
    const auto log2 = [](std::uint64_t n) { return static_cast<std::uint64_t>(std::bit_width(n) - 1); };
    const std::uint64_t supers = 1 + number_bits_ - log2(smallest_), supers_in_index = 2 * log2(super_pointers);
    const std::uint64_t blocks = 2 * (super_pointers - 1);
    if (supers_in_index > supers) return index_damaged("its header");
    // libhdf5 looks for pages in data blocks of super blocks only, and for the entries of these through a null pointer.
    if (supers_in_index > 0 && entries_of(supers_in_index - 1) > page_entries_)
      return index_damaged("pages in the data blocks of its index block");
    const std::uint64_t size = 6 + superblock_.address_bytes + in_index_ * entries_.entry_bytes +
                               (blocks + supers - supers_in_index) * superblock_.address_bytes + 4;
    HEADRACE_ASSIGN(const std::vector<std::byte> block, read_signed(file_, superblock_, address, size, "EAIB"));
    ByteCursor fields(block);
    HEADRACE_TRY(check_prefix(fields));
    HEADRACE_TRY(take_entries(fields, 0, in_index_));
    std::uint64_t first = in_index_, number = 0;  // of the data block
    for (std::uint64_t u = 0; u < supers && first < end_; ++u) {
      if (u >= supers_in_index) {
        const std::uint64_t at = fields.number(superblock_.address_bytes);
        if (at != superblock_.undefined_address()) HEADRACE_TRY(visit_super(at, u, first));
      } else {
        for (std::uint64_t b = 0; b < blocks_of(u); ++b, ++number) {
          const std::uint64_t at = fields.number(superblock_.address_bytes);
          if (at == superblock_.undefined_address()) continue;
          // libhdf5 takes the number of the block among all for the one within its super block.
          const std::uint64_t says = first - in_index_ + number * entries_of(u);
          HEADRACE_TRY(visit_data(at, first + b * entries_of(u), entries_of(u), says, nullptr));
        }
      }
      if (!fields.ok()) return index_damaged("its index block");
      first += blocks_of(u) * entries_of(u);
    }
    return {};
  }

  Status visit_super(std::uint64_t address, std::uint64_t u, std::uint64_t first) {
    const std::uint64_t entries = entries_of(u), blocks = blocks_of(u), offset_bytes = (number_bits_ + 7) / 8;
    const std::uint64_t pages = entries > page_entries_ ? entries / page_entries_ : 0, map_bytes = (pages + 7) / 8;
    if (blocks > kMetadataLimitBytes / (map_bytes + superblock_.address_bytes)) return index_damaged("a super block");
    const std::uint64_t size =
        6 + superblock_.address_bytes + offset_bytes + blocks * (map_bytes + superblock_.address_bytes) + 4;
    HEADRACE_ASSIGN(const std::vector<std::byte> block, read_signed(file_, superblock_, address, size, "EASB"));
    ByteCursor fields(block);
    HEADRACE_TRY(check_prefix(fields));
    if (fields.number(static_cast<std::size_t>(offset_bytes)) != first - in_index_)
      return index_damaged("a super block of other entries");
    const std::span<const std::byte> map = fields.take(blocks * map_bytes);  // a bit for each page of each block
    std::uint64_t number = 0;
    const std::function<bool()> next_page = [&] {
      const auto byte = std::to_integer<unsigned>(map[static_cast<std::size_t>(number / 8)]);
      return (byte & (0x80U >> number++ % 8)) != 0;
    };
    for (std::uint64_t b = 0; b < blocks && first + b * entries < end_; ++b) {
      const std::uint64_t at = fields.number(superblock_.address_bytes);
      if (at == superblock_.undefined_address()) continue;
      number = b * pages;
      const std::uint64_t begin = first + b * entries;
      HEADRACE_TRY(visit_data(at, begin, entries, begin - in_index_, pages == 0 ? nullptr : &next_page));
    }
    return {};
  }

  /// \param says  What the block is to say of its place, where that is not the number of its first entry.
  /// \param written  Tells of each page in turn whether it was written; null if the block has no pages.
  Status visit_data(std::uint64_t address, std::uint64_t first, std::uint64_t entries, std::uint64_t says,
                    const std::function<bool()>* written) {
    const std::uint64_t offset_bytes = (number_bits_ + 7) / 8;
    const std::uint64_t prefix_bytes = 6 + superblock_.address_bytes + offset_bytes;
    if (entries > kMetadataLimitBytes / entries_.entry_bytes) return index_damaged("a data block");
    const std::uint64_t inside = written == nullptr ? entries * entries_.entry_bytes : 0;
    HEADRACE_TRY(count(prefix_bytes + inside + 4));
    HEADRACE_ASSIGN(const std::vector<std::byte> block,
                    read_signed(file_, superblock_, address, prefix_bytes + inside + 4, "EADB"));
    ByteCursor fields(block);
    HEADRACE_TRY(check_prefix(fields));
    const std::uint64_t offset = fields.number(static_cast<std::size_t>(offset_bytes));
    if (offset != first - in_index_ && offset != says) return index_damaged("a data block of other entries");
    if (written == nullptr) return take_entries(fields, first, entries);
    const std::uint64_t page_bytes = page_entries_ * entries_.entry_bytes + 4;
    for (std::uint64_t p = 0; p < entries / page_entries_; ++p) {
      if (!(*written)()) continue;
      HEADRACE_TRY(count(page_bytes));
      HEADRACE_ASSIGN(const std::vector<std::byte> page,
                      read_signed(file_, superblock_, address + prefix_bytes + 4 + p * page_bytes, page_bytes, ""));
      ByteCursor values(page);
      HEADRACE_TRY(take_entries(values, first + p * page_entries_, page_entries_));
    }
    return {};
  }

  // Blocks of a sound array do not overlap, so all of them take no more than the file has. Pages do not say whose they
  // are: many blocks could have the same ones.
  Status count(std::uint64_t bytes) {
    if (bytes > file_.size() - all_bytes_) return index_damaged("its blocks overlap");
    all_bytes_ += bytes;
    return {};
  }

  Status check_prefix(ByteCursor& fields) const {
    fields.skip(4);
    if (fields.number(1) != 0 || fields.number(1) != entries_.client ||
        fields.number(superblock_.address_bytes) != address_)
      return index_damaged("a block of another array");
    return {};
  }

  Status take_entries(ByteCursor& fields, std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::span<const std::byte> entry = fields.take(entries_.entry_bytes);
      if (first + i < end_) HEADRACE_TRY(take_(first + i, entry));
    }
    return {};
  }

  static std::uint64_t blocks_of(std::uint64_t u) { return std::uint64_t{1} << u / 2; }
  [[nodiscard]] std::uint64_t entries_of(std::uint64_t u) const { return smallest_ << (u + 1) / 2; }

  const RandomAccessFile& file_;
  const Superblock& superblock_;
  const std::uint64_t address_;
  const ArrayEntries& entries_;
  const TakeEntry& take_;
  std::uint64_t number_bits_ = 0, in_index_ = 0, smallest_ = 1, page_entries_ = 1, end_ = 0;
  std::uint64_t all_bytes_ = 0;  // of data blocks and pages that were read
};

}  // namespace

Status read_extensible_array(const RandomAccessFile& file, const Superblock& superblock, std::uint64_t address,
                             const ArrayEntries& entries, std::uint64_t end, const TakeEntry& take) {
  return Walk(file, superblock, address, entries, take).run(end);
}

}  // namespace headrace::hdf5
