// A block: rows of one file that decode together. The unit of order, of decoding and of read amplification.
#pragma once

#include <cstdint>
#include <vector>

namespace headrace {

/// Rows [first, first + count) of one file.
struct RowRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  [[nodiscard]] std::uint64_t end() const { return first + count; }
  friend bool operator==(const RowRange&, const RowRange&) = default;
};

/// All blocks of a data set, file by file in order, rows ascending. 10^6 blocks in 10^5 files cost a few MB: every file
/// has blocks of one length, except its last.
class BlockTable {
 public:
  struct FileBlocks {
    std::uint64_t rows = 0;
    std::uint64_t block_rows = 1;  ///< Rows of every block of the file but the last.
  };
  BlockTable() = default;
  explicit BlockTable(const std::vector<FileBlocks>& files);

  struct Place {
    std::uint32_t file;
    RowRange rows;  ///< In the file.
  };
  [[nodiscard]] std::uint64_t num_blocks() const { return first_block_.empty() ? 0 : first_block_.back(); }
  [[nodiscard]] std::uint64_t num_rows() const { return first_row_.empty() ? 0 : first_row_.back(); }
  [[nodiscard]] std::size_t num_files() const { return files_.size(); }
  [[nodiscard]] Place place(std::uint64_t block) const;
  [[nodiscard]] std::uint64_t block_rows(std::uint64_t block) const { return place(block).rows.count; }
  /// Row of the data set with which `block` starts.
  [[nodiscard]] std::uint64_t first_row(std::uint64_t block) const;
  /// Block that holds `row` of the data set, and the row inside it.
  struct RowPlace {
    std::uint64_t block;
    std::uint32_t row_in_block;
  };
  [[nodiscard]] RowPlace find(std::uint64_t row) const;
  /// Rows of the largest block.
  [[nodiscard]] std::uint64_t max_block_rows() const { return max_block_rows_; }
  /// True if all blocks but each file's last have the same length, and every file's rows are a multiple of it.
  [[nodiscard]] bool all_equal() const { return all_equal_; }

 private:
  std::vector<FileBlocks> files_;
  std::vector<std::uint64_t> first_block_, first_row_;  // a prefix sum over files, each with the total at the end
  std::uint64_t max_block_rows_ = 0;
  bool all_equal_ = true;
};

}  // namespace headrace
