#include "assembly/source.h"

#include "format/outside_files.h"

namespace headrace {

std::vector<OutsideFile> other_files(const SourceFile& file) {
  OutsideFiles others;
  for (const auto& array : file.arrays)
    for (OutsideFile& other : array->other_files()) others.add(std::move(other));
  return std::move(others).take();
}

}  // namespace headrace
