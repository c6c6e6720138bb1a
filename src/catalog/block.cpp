#include "catalog/block.h"

#include <algorithm>

namespace headrace {

BlockTable::BlockTable(const std::vector<FileBlocks>& files) : files_(files), first_block_{0}, first_row_{0} {
  for (const FileBlocks& f : files_) {
    const std::uint64_t blocks = f.rows / f.block_rows + (f.rows % f.block_rows != 0);
    first_block_.push_back(first_block_.back() + blocks);
    first_row_.push_back(first_row_.back() + f.rows);
    if (f.rows == 0) continue;
    all_equal_ = all_equal_ && f.rows % f.block_rows == 0 &&
                 (max_block_rows_ == 0 || max_block_rows_ == std::min(f.block_rows, f.rows));
    max_block_rows_ = std::max(max_block_rows_, std::min(f.block_rows, f.rows));
  }
}

BlockTable::Place BlockTable::place(std::uint64_t block) const {
  const auto it = std::upper_bound(first_block_.begin(), first_block_.end(), block);
  const auto file = static_cast<std::size_t>(it - first_block_.begin()) - 1;
  const std::uint64_t first = (block - first_block_[file]) * files_[file].block_rows;
  return {static_cast<std::uint32_t>(file), {first, std::min(files_[file].block_rows, files_[file].rows - first)}};
}

std::uint64_t BlockTable::first_row(std::uint64_t block) const {
  const Place p = place(block);
  return first_row_[p.file] + p.rows.first;
}

BlockTable::RowPlace BlockTable::find(std::uint64_t row) const {
  const auto it = std::upper_bound(first_row_.begin(), first_row_.end(), row);
  const auto file = static_cast<std::size_t>(it - first_row_.begin()) - 1;
  const std::uint64_t in_file = row - first_row_[file];
  return {first_block_[file] + in_file / files_[file].block_rows,
          static_cast<std::uint32_t>(in_file % files_[file].block_rows)};
}

}  // namespace headrace
