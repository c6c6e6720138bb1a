// MappedRows: the rows of .npy files, read in place, field by field.
#pragma once

#include <vector>

#include "cache/file_mapping.h"
#include "cache/row_layout.h"

namespace headrace {

class MappedRows {
 public:
  MappedRows() = default;
  /// Decide what the page cache can hold, here, for all fields together.
  explicit MappedRows(const RowLayout& layout);
  /// Map the file of the next field, rows after a header. Errors: of FileMapping::map().
  Status add(int fd, std::uint64_t header_bytes, const RowLayout& layout);

  [[nodiscard]] const std::byte* field(std::size_t field) const { return maps_[field].data() + headers_[field]; }
  [[nodiscard]] std::uint64_t file_bytes(std::size_t field) const { return maps_[field].size_bytes(); }
  /// As RowStore says.
  [[nodiscard]] bool random_access() const { return random_access_; }
  void will_need(const RowLayout& layout, std::uint64_t block, RowRange rows) const;

 private:
  bool random_access_ = true;
  std::vector<FileMapping> maps_;
  std::vector<std::uint64_t> headers_;
};

}  // namespace headrace
