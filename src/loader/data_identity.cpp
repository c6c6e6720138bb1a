#include "loader/data_identity.h"

#include <fmt/format.h>

#include "base/philox.h"

namespace headrace {

std::string hash_of(const Source& source, const BlockLayout& layout) {
  RandomKey key = RandomKey::of({source.files.size(), source.fields->size()});
  for (std::size_t f = 0; f < source.files.size(); ++f)
    key = key.with(source.files[f].rows).with(layout.files[f].block_rows);
  for (const Field& field : *source.fields) {
    for (const char c : field.name + '/' + field.dtype.name()) key = key.with(static_cast<unsigned char>(c));
    for (const std::uint64_t n : field.shape) key = key.with(n);
  }
  if (source.chosen)
    for (const std::uint64_t word : source.chosen->words()) key = key.with(word);
  return fmt::format("{:016x}", key.low);
}

}  // namespace headrace
