#include "format/hdf5/chunks/chunk_place.h"

#include <fmt/format.h>

#include <algorithm>

namespace headrace::hdf5 {

Status put_in_order(FoundChunks& found) {
  constexpr auto cell_of = &FoundChunks::value_type::first;
  if (!std::ranges::is_sorted(found, {}, cell_of)) std::ranges::sort(found, {}, cell_of);
  const auto twice = std::ranges::adjacent_find(found, {}, cell_of);
  return twice == found.end() ? Status() : index_damaged(fmt::format("chunk number {} has two places", twice->first));
}

Error index_damaged(const std::string& why) {
  return Error(ErrorCode::kCorruptData, "the chunk index is damaged: " + why).with_stage("index");
}

}  // namespace headrace::hdf5
