// How the rows of a decoded block lie in one buffer: field after field, each dense and from a 64-byte boundary.
#pragma once

#include "base/memory/align.h"
#include "catalog/stored_column.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headrace {

class BlockForm {
 public:
  BlockForm() = default;
  explicit BlockForm(const std::vector<StoredColumn>& fields) {
    for (const StoredColumn& f : fields) {
      row_bytes_.push_back(f.row_bytes());
      // The two halves of a complex number have little in common: each is an element to a byte shuffle.
      element_bytes_.push_back(f.dtype.kind == DType::Kind::kComplex ? f.dtype.itemsize / 2 : f.dtype.itemsize);
    }
  }

  /// Return the form of what has no rows: a block of n "rows" is n bytes, and nothing behind them.
  static BlockForm of_bytes() {
    BlockForm form;
    form.row_bytes_ = {1};
    form.element_bytes_ = {1};
    form.step_ = 1;
    return form;
  }

  [[nodiscard]] std::size_t num_fields() const { return row_bytes_.size(); }
  [[nodiscard]] std::uint64_t row_bytes(std::size_t field) const { return row_bytes_[field]; }
  [[nodiscard]] std::uint32_t element_bytes(std::size_t field) const { return element_bytes_[field]; }
  /// Return where a field starts in the buffer of a block of `rows`.
  [[nodiscard]] std::uint64_t offset(std::size_t field, std::uint64_t rows) const {
    std::uint64_t at = 0;
    for (std::size_t f = 0; f < field; ++f) at += align_up(rows * row_bytes_[f], step_);
    return at;
  }
  /// Return the bytes of a block of `rows`.
  [[nodiscard]] std::uint64_t bytes(std::uint64_t rows) const { return offset(num_fields(), rows); }

 private:
  std::vector<std::uint64_t> row_bytes_;
  std::vector<std::uint32_t> element_bytes_;
  std::uint64_t step_ = kCacheLineBytes;
};

}  // namespace headrace
