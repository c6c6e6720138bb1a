#include "assembly/source.h"

#include <algorithm>

namespace headrace {

std::vector<OutsideFile> other_files(const SourceFile& file) {
  std::vector<OutsideFile> others;
  for (const auto& array : file.arrays)
    for (OutsideFile& other : array->other_files())
      if (std::ranges::find(others, other.path, &OutsideFile::path) == others.end()) others.push_back(std::move(other));
  return others;
}

}  // namespace headrace
