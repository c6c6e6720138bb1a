#include "catalog/block.h"

#include <algorithm>

namespace headrace {

BlockTable::BlockTable(const std::vector<FileBlocks>& files, std::shared_ptr<const RowSet> chosen)
    : files_(files), chosen_(std::move(chosen)) {
  FileStart at{0, 0, Divisor(1), false};
  for (const FileBlocks& f : files_) {
    starts_.push_back({at.first_row, at.first_block, Divisor(f.block_rows), !f.ends.empty()});
    at.first_block += f.ends.empty() ? f.rows / f.block_rows + (f.rows % f.block_rows != 0) : f.ends.size();
    at.first_row += f.rows;
    if (f.rows == 0) continue;
    if (!f.ends.empty()) {
      for (std::size_t b = 0; b < f.ends.size(); ++b) {
        const std::uint64_t rows = f.ends[b] - (b ? f.ends[b - 1] : 0);
        all_equal_ = all_equal_ && (max_block_rows_ == 0 || max_block_rows_ == rows);
        max_block_rows_ = std::max(max_block_rows_, rows);
      }
      continue;
    }
    all_equal_ = all_equal_ && f.rows % f.block_rows == 0 &&
                 (max_block_rows_ == 0 || max_block_rows_ == std::min(f.block_rows, f.rows));
    max_block_rows_ = std::max(max_block_rows_, std::min(f.block_rows, f.rows));
  }
  starts_.push_back(at);
  by_row_ = make_finder(starts_, &FileStart::first_row);
  by_block_ = make_finder(starts_, &FileStart::first_block);
  if (chosen_) drop_empty_blocks();
}

/// Four buckets a file: most lie inside one.
BlockTable::Finder BlockTable::make_finder(const std::vector<FileStart>& starts, std::uint64_t FileStart::*key) {
  Finder finder;
  const std::uint64_t total = starts.back().*key, wanted = 4 * starts.size();
  while ((total >> finder.shift) > wanted) ++finder.shift;
  std::uint32_t file = 0;
  for (std::uint64_t bucket = 0; bucket <= total >> finder.shift; ++bucket) {
    while (file + 2 < starts.size() && starts[file + 1].*key <= bucket << finder.shift) ++file;
    finder.first_file.push_back(file);
  }
  return finder;
}

std::size_t BlockTable::file_of_block(std::uint64_t block) const {
  std::size_t file = by_block_.first_file[block >> by_block_.shift];
  while (block >= starts_[file + 1].first_block) ++file;
  return file;
}

void BlockTable::drop_empty_blocks() {
  max_block_rows_ = 0;
  std::uint64_t smallest = ~std::uint64_t{0}, before = 0;
  for (std::uint64_t b = 0; b < num_stored_blocks(); ++b) {
    const Place p = stored_place(b);
    const std::uint64_t end = chosen_->count_below(starts_[p.file].first_row + p.rows.end()), rows = end - before;
    before = end;
    if (rows == 0) continue;
    stored_block_.push_back(static_cast<std::uint32_t>(b));
    max_block_rows_ = std::max(max_block_rows_, rows);
    smallest = std::min(smallest, rows);
  }
  all_equal_ = stored_block_.empty() || smallest == max_block_rows_;
}

BlockTable BlockTable::of_files(std::size_t first_file, std::size_t num_files) const {
  const std::vector<FileBlocks> files(files_.begin() + static_cast<std::ptrdiff_t>(first_file),
                                      files_.begin() + static_cast<std::ptrdiff_t>(first_file + num_files));
  if (!chosen_) return BlockTable(files);
  const std::uint64_t first = starts_[first_file].first_row, end = starts_[first_file + num_files].first_row;
  return BlockTable(files, std::make_shared<const RowSet>(chosen_->part(first, end)));
}

std::uint64_t BlockTable::first_block_of(std::size_t file) const {
  if (!chosen_) return starts_[file].first_block;
  const auto stored = static_cast<std::uint32_t>(starts_[file].first_block);
  return static_cast<std::uint64_t>(std::ranges::lower_bound(stored_block_, stored) - stored_block_.begin());
}

BlockTable::RowPlace BlockTable::find_by_ends(std::size_t file, std::uint64_t row) const {
  const std::vector<std::uint64_t>& ends = files_[file].ends;
  const auto block = static_cast<std::uint64_t>(std::ranges::upper_bound(ends, row) - ends.begin());
  return {starts_[file].first_block + block, static_cast<std::uint32_t>(row - (block ? ends[block - 1] : 0)),
          static_cast<std::uint32_t>(ends[block] - row)};
}

BlockTable::Place BlockTable::stored_place(std::uint64_t block) const {
  const std::size_t file = file_of_block(block);
  const std::uint64_t in_file = block - starts_[file].first_block;
  if (const std::vector<std::uint64_t>& ends = files_[file].ends; !ends.empty()) {
    const std::uint64_t first = in_file ? ends[in_file - 1] : 0;
    return {static_cast<std::uint32_t>(file), {first, ends[in_file] - first}};
  }
  const std::uint64_t first = in_file * files_[file].block_rows;
  return {static_cast<std::uint32_t>(file), {first, std::min(files_[file].block_rows, files_[file].rows - first)}};
}

BlockTable::Place BlockTable::place(std::uint64_t block) const {
  return stored_place(chosen_ ? stored_block_[block] : block);
}

RowRange BlockTable::stored_rows(std::uint64_t block) const {
  const Place p = place(block);
  return {starts_[p.file].first_row + p.rows.first, p.rows.count};
}

std::uint64_t BlockTable::block_rows(std::uint64_t block) const {
  const RowRange stored = stored_rows(block);
  return chosen_ ? chosen_->count_below(stored.end()) - chosen_->count_below(stored.first) : stored.count;
}

std::uint64_t BlockTable::first_row(std::uint64_t block) const {
  const RowRange stored = stored_rows(block);
  return chosen_ ? chosen_->count_below(stored.first) : stored.first;
}

BlockTable::RowPlace BlockTable::find_chosen(std::uint64_t row) const {
  const std::uint64_t stored = find_stored((*chosen_)[row]).block;
  const auto it = std::lower_bound(stored_block_.begin(), stored_block_.end(), static_cast<std::uint32_t>(stored));
  const auto block = static_cast<std::uint64_t>(it - stored_block_.begin());
  const auto in_block = static_cast<std::uint32_t>(row - first_row(block));
  return {block, in_block, static_cast<std::uint32_t>(block_rows(block)) - in_block};
}

std::uint32_t BlockTable::stored_row(std::uint64_t block, std::uint32_t row_in_block) const {
  if (!chosen_) return row_in_block;
  const RowRange stored = stored_rows(block);
  const std::uint64_t i = chosen_->count_below(stored.first) + row_in_block;
  return static_cast<std::uint32_t>(chosen_->within(i, stored.first, stored.end()) - stored.first);
}

std::uint64_t BlockTable::memory_bytes() const {
  std::uint64_t ends = 0;
  for (const FileBlocks& f : files_) ends += f.ends.capacity() * sizeof(std::uint64_t);
  return ends + files_.capacity() * sizeof(FileBlocks) + starts_.capacity() * sizeof(FileStart) +
         (by_row_.first_file.capacity() + by_block_.first_file.capacity() + stored_block_.capacity()) *
             sizeof(std::uint32_t) +
         (chosen_ ? chosen_->memory_bytes() : 0);
}

}  // namespace headrace
