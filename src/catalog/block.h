// A block: rows of one file that decode together. The unit of order, of decoding and of read amplification.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/random/divisor.h"
#include "catalog/row_set.h"

namespace headrace {

/// Rows [first, first + count) of one file.
struct RowRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  [[nodiscard]] std::uint64_t end() const { return first + count; }
  friend bool operator==(const RowRange&, const RowRange&) = default;
};

/// All blocks of a data set, file by file in order, rows ascending. 10^6 blocks in 10^5 files cost a few MB where a
/// file's blocks have one length, except its last; where they differ (row groups), 8 bytes a block more.
///
/// Where rows were chosen, the data set's rows are those, numbered anew; blocks without any are not there (48 bytes
/// for each that is). place() tells of the stored rows, everything else counts chosen ones.
class BlockTable {
 public:
  struct FileBlocks {
    std::uint64_t rows = 0;
    std::uint64_t block_rows = 1;  ///< Rows of every block of the file but the last.
    /// Where blocks differ in length: rows up to the end of each, ascending, none empty. Empty: `block_rows` says it.
    std::vector<std::uint64_t> ends = {};
  };
  BlockTable() = default;
  /// \param chosen  Rows of all files, one file after the other; null: all of them.
  explicit BlockTable(const std::vector<FileBlocks>& files, std::shared_ptr<const RowSet> chosen = nullptr);

  struct FileRows {
    std::uint32_t file;
    RowRange rows;  ///< In the file, as stored.
  };
  [[nodiscard]] std::uint64_t num_blocks() const { return chosen_ ? chosen_blocks_.size() : num_stored_blocks(); }
  [[nodiscard]] std::uint64_t num_rows() const { return chosen_ ? chosen_->size() : num_stored_rows(); }
  /// Return the rows of all files, chosen or not.
  [[nodiscard]] std::uint64_t num_stored_rows() const { return starts_.empty() ? 0 : starts_.back().first_row; }
  [[nodiscard]] std::size_t num_files() const { return files_.size(); }
  /// Return the rows of a file, chosen or not.
  [[nodiscard]] std::uint64_t file_rows(std::size_t file) const { return files_[file].rows; }
  [[nodiscard]] FileRows place(std::uint64_t block) const;
  /// Return the block's rows as stored, numbered through all files.
  [[nodiscard]] RowRange stored_rows(std::uint64_t block) const;
  [[nodiscard]] std::uint64_t block_rows(std::uint64_t block) const;
  /// Return the row of the data set with which `block` starts.
  [[nodiscard]] std::uint64_t first_row(std::uint64_t block) const;
  /// Block that holds `row` of the data set, and the row inside it.
  struct RowPlace {
    std::uint64_t block;
    std::uint32_t row_in_block;
    std::uint32_t left;  ///< Rows of the block from it on, itself among them.
  };
  [[nodiscard]] RowPlace find(std::uint64_t row) const { return chosen_ ? find_chosen(row) : find_stored(row); }
  /// Return true if rows were chosen.
  [[nodiscard]] bool is_chosen() const { return chosen_ != nullptr; }
  /// Return the stored row of `block` that is the block's row `row_in_block`.
  [[nodiscard]] std::uint32_t stored_row(std::uint64_t block, std::uint32_t row_in_block) const;
  /// Return the number, among all stored rows, of the block's row `row_in_block`.
  [[nodiscard]] std::uint64_t stored_number(std::uint64_t block, std::uint32_t row_in_block) const {
    return stored_rows(block).first + (is_chosen() ? stored_row(block, row_in_block) : row_in_block);
  }
  /// Return the blocks of some files alone, as a table of their own: its block b is this one's
  /// first_block_of(first_file) + b.
  [[nodiscard]] BlockTable of_files(std::size_t first_file, std::size_t num_files) const;
  /// Return the number of blocks before those of `file`.
  [[nodiscard]] std::uint64_t first_block_of(std::size_t file) const;
  /// Return what was chosen; null: everything.
  [[nodiscard]] const std::shared_ptr<const RowSet>& chosen() const { return chosen_; }
  /// Return what the table and the chosen rows hold.
  [[nodiscard]] std::uint64_t memory_bytes() const;
  /// Return the rows of the largest block.
  [[nodiscard]] std::uint64_t max_block_rows() const { return max_block_rows_; }
  /// Return the stored rows of the largest block, of which some may not be chosen: all of them are below it.
  [[nodiscard]] std::uint64_t max_stored_block_rows() const { return max_stored_block_rows_; }
  /// Return true if all blocks but each file's last have the same length, and every file's rows are a multiple of it.
  [[nodiscard]] bool all_equal() const { return all_equal_; }

 private:
  [[nodiscard]] std::uint64_t num_stored_blocks() const { return starts_.empty() ? 0 : starts_.back().first_block; }
  [[nodiscard]] FileRows stored_place(std::uint64_t stored_block) const;
  [[nodiscard]] RowPlace find_chosen(std::uint64_t row) const;
  [[nodiscard]] RowPlace find_stored(std::uint64_t row) const {
    std::size_t file = by_row_.first[row >> by_row_.shift];
    file += row >= starts_[file + 1].first_row;  // a jump that cannot be guessed would cost more than the rest
    while (row >= starts_[file + 1].first_row) ++file;
    const FileStart& start = starts_[file];
    if (start.differ) return find_by_ends(file, row - start.first_row);
    const auto [block, in_block] = start.block_rows.divide(row - start.first_row);
    const std::uint64_t left = std::min(start.block_rows.value() - in_block, starts_[file + 1].first_row - row);
    return {start.first_block + block, static_cast<std::uint32_t>(in_block), static_cast<std::uint32_t>(left)};
  }
  [[nodiscard]] RowPlace find_by_ends(std::size_t file, std::uint64_t row) const;
  void drop_empty_blocks();

  /// A file where it is looked for.
  struct FileStart {
    std::uint64_t first_row, first_block;  // of the data set as stored
    Divisor block_rows;
    bool differ = false;  // the file's blocks in length
  };
  /// Files, or blocks, by what is before them: the one that holds item i is found from a table of `i >> shift`.
  struct Finder {
    std::vector<std::uint32_t> first;  // of each bucket
    int shift = 0;
  };
  /// \param num  Of items, and one more at the end. \param key  Returns what is before one of them.
  template <class Key>
  static Finder make_finder(std::size_t num, Key key);
  [[nodiscard]] std::size_t file_of_block(std::uint64_t stored_block) const;

  std::vector<FileBlocks> files_;
  std::vector<FileStart> starts_;  // one for each file, and the totals at the end
  Finder by_row_, by_block_;
  std::uint64_t max_block_rows_ = 0, max_stored_block_rows_ = 0;
  bool all_equal_ = true;
  std::shared_ptr<const RowSet> chosen_;
  /// A block some of whose rows were chosen.
  struct ChosenBlock {
    static constexpr std::uint32_t kNoRun = ~std::uint32_t{0};
    std::uint64_t first_row;         // of the data set: chosen rows before the block
    std::uint64_t first_stored_row;  // of all rows
    std::uint32_t stored_block, rows;
    std::uint32_t run_start;    // stored row of the first, where the chosen ones follow each other; or kNoRun
    std::uint32_t stored_rows;  // of the block
  };
  std::vector<ChosenBlock> chosen_blocks_;
  Finder by_chosen_;  // blocks by their first chosen row
};

}  // namespace headrace
