#include "cache/mapped_rows.h"

#include "base/machine/memory_limits.h"

namespace headrace {

MappedRows::MappedRows(const RowLayout& layout) : random_access_(layout.data_bytes() <= memory_for_files_bytes() / 2) {}

Status MappedRows::add(int fd, std::uint64_t header_bytes, const RowLayout& layout) {
  const std::uint64_t data_bytes = layout.rows() * layout.fields[maps_.size()].row_bytes();
  HEADRACE_ASSIGN(FileMapping map, FileMapping::map(fd, header_bytes + data_bytes, false));
  // A disk's read-ahead around rows from anywhere would throw out what is needed for what is not.
  if (!random_access_) map.expect_random_reads();
  maps_.push_back(std::move(map));
  headers_.push_back(header_bytes);
  return {};
}

void MappedRows::will_need(const RowLayout& layout, std::uint64_t block, RowRange rows) const {
  for (std::size_t f = 0; f < maps_.size(); ++f) {
    const std::uint64_t row_bytes = layout.fields[f].row_bytes();
    maps_[f].will_need({headers_[f] + (layout.block_starts[block] + rows.first) * row_bytes, rows.count * row_bytes});
  }
}

}  // namespace headrace
