#include "catalog/stored_column.h"

namespace headrace {

std::uint64_t StoredColumn::row_elements() const {
  std::uint64_t n = 1;
  for (const std::uint64_t extent : shape) n *= extent;
  return n;
}

std::vector<Field> fields_of(const std::vector<StoredColumn>& columns) {
  std::vector<Field> fields;
  fields.reserve(columns.size());
  for (const StoredColumn& column : columns) fields.push_back(column.field());
  return fields;
}

}  // namespace headrace
