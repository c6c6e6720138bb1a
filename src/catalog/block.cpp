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
  by_row_ = make_finder(files_.size(), [&](std::size_t f) { return starts_[f].first_row; });
  by_block_ = make_finder(files_.size(), [&](std::size_t f) { return starts_[f].first_block; });
  max_stored_block_rows_ = max_block_rows_;
  if (chosen_) drop_empty_blocks();
}

/// Four buckets an item: most lie inside one.
template <class Key>
BlockTable::Finder BlockTable::make_finder(std::size_t num, Key key) {
  Finder finder;
  const std::uint64_t total = key(num), wanted = 4 * (num + 1);
  while ((total >> finder.shift) > wanted) ++finder.shift;
  std::uint32_t item = 0;
  for (std::uint64_t bucket = 0; bucket <= total >> finder.shift; ++bucket) {
    while (item + 1 < num && key(item + 1) <= bucket << finder.shift) ++item;
    finder.first.push_back(item);
  }
  return finder;
}

std::size_t BlockTable::file_of_block(std::uint64_t block) const {
  std::size_t file = by_block_.first[block >> by_block_.shift];
  while (block >= starts_[file + 1].first_block) ++file;
  return file;
}

void BlockTable::drop_empty_blocks() {
  max_block_rows_ = 0;
  std::uint64_t smallest = ~std::uint64_t{0}, before = 0;
  for (std::uint64_t b = 0; b < num_stored_blocks(); ++b) {
    const FileRows p = stored_place(b);
    const std::uint64_t end = chosen_->count_below(starts_[p.file].first_row + p.rows.end()), rows = end - before;
    before = end;
    if (rows == 0) continue;
    const std::uint64_t first_stored = starts_[p.file].first_row + p.rows.first;
    const std::uint64_t first = (*chosen_)[end - rows], last = (*chosen_)[end - 1];
    chosen_blocks_.push_back(
        {end - rows, first_stored, static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(rows),
         last - first + 1 == rows ? static_cast<std::uint32_t>(first - first_stored) : ChosenBlock::kNoRun,
         static_cast<std::uint32_t>(p.rows.count)});
    max_block_rows_ = std::max(max_block_rows_, rows);
    smallest = std::min(smallest, rows);
  }
  all_equal_ = chosen_blocks_.empty() || smallest == max_block_rows_;
  by_chosen_ = make_finder(chosen_blocks_.size(), [&](std::size_t b) {
    return b == chosen_blocks_.size() ? before : chosen_blocks_[b].first_row;
  });
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
  return static_cast<std::uint64_t>(std::ranges::lower_bound(chosen_blocks_, stored, {}, &ChosenBlock::stored_block) -
                                    chosen_blocks_.begin());
}

BlockTable::RowPlace BlockTable::find_by_ends(std::size_t file, std::uint64_t row) const {
  const std::vector<std::uint64_t>& ends = files_[file].ends;
  const auto block = static_cast<std::uint64_t>(std::ranges::upper_bound(ends, row) - ends.begin());
  return {starts_[file].first_block + block, static_cast<std::uint32_t>(row - (block ? ends[block - 1] : 0)),
          static_cast<std::uint32_t>(ends[block] - row)};
}

BlockTable::FileRows BlockTable::stored_place(std::uint64_t block) const {
  const std::size_t file = file_of_block(block);
  const std::uint64_t in_file = block - starts_[file].first_block;
  if (const std::vector<std::uint64_t>& ends = files_[file].ends; !ends.empty()) {
    const std::uint64_t first = in_file ? ends[in_file - 1] : 0;
    return {static_cast<std::uint32_t>(file), {first, ends[in_file] - first}};
  }
  const std::uint64_t first = in_file * files_[file].block_rows;
  return {static_cast<std::uint32_t>(file), {first, std::min(files_[file].block_rows, files_[file].rows - first)}};
}

BlockTable::FileRows BlockTable::place(std::uint64_t block) const {
  return stored_place(chosen_ ? chosen_blocks_[block].stored_block : block);
}

RowRange BlockTable::stored_rows(std::uint64_t block) const {
  const FileRows p = place(block);
  return {starts_[p.file].first_row + p.rows.first, p.rows.count};
}

std::uint64_t BlockTable::block_rows(std::uint64_t block) const {
  return chosen_ ? chosen_blocks_[block].rows : stored_rows(block).count;
}

std::uint64_t BlockTable::first_row(std::uint64_t block) const {
  return chosen_ ? chosen_blocks_[block].first_row : stored_rows(block).first;
}

BlockTable::RowPlace BlockTable::find_chosen(std::uint64_t row) const {
  const std::uint64_t bucket = row >> by_chosen_.shift;
  std::uint64_t block = by_chosen_.first[bucket];
  const std::uint64_t last =
      bucket + 1 < by_chosen_.first.size() ? by_chosen_.first[bucket + 1] : chosen_blocks_.size() - 1;
  if (block < last) {  // blocks may differ much in length: many of them in one bucket
    const auto begin = chosen_blocks_.begin() + static_cast<std::ptrdiff_t>(block) + 1;
    const auto end = chosen_blocks_.begin() + static_cast<std::ptrdiff_t>(last) + 1;
    const auto after =
        std::upper_bound(begin, end, row, [](std::uint64_t r, const ChosenBlock& b) { return r < b.first_row; });
    block = static_cast<std::uint64_t>(after - chosen_blocks_.begin()) - 1;
  }
  const auto in_block = static_cast<std::uint32_t>(row - chosen_blocks_[block].first_row);
  return {block, in_block, chosen_blocks_[block].rows - in_block};
}

std::uint32_t BlockTable::stored_row(std::uint64_t block, std::uint32_t row_in_block) const {
  if (!chosen_) return row_in_block;
  const ChosenBlock& rows = chosen_blocks_[block];
  if (rows.run_start != ChosenBlock::kNoRun) return rows.run_start + row_in_block;
  const std::uint64_t i = rows.first_row + row_in_block, first = rows.first_stored_row;
  return static_cast<std::uint32_t>(chosen_->within(i, first, first + rows.stored_rows) - first);
}

std::uint64_t BlockTable::memory_bytes() const {
  std::uint64_t ends = 0;
  for (const FileBlocks& f : files_) ends += f.ends.capacity() * sizeof(std::uint64_t);
  return ends + files_.capacity() * sizeof(FileBlocks) + starts_.capacity() * sizeof(FileStart) +
         (by_row_.first.capacity() + by_block_.first.capacity() + by_chosen_.first.capacity()) * sizeof(std::uint32_t) +
         chosen_blocks_.capacity() * sizeof(ChosenBlock) + (chosen_ ? chosen_->memory_bytes() : 0);
}

}  // namespace headrace
