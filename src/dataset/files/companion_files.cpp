#include "dataset/files/companion_files.h"

#include <headrace/dataset.h>

#include <algorithm>

#include "dataset/dataset_contents.h"
#include "dataset/files/file_lists.h"

namespace headrace {

SourceFile with_arrays(const SourceFile& file, std::span<const std::size_t> arrays) {
  SourceFile out{file.path, file.rows, file.fingerprint, {}, {}, file.axes};
  for (const std::size_t a : arrays) out.arrays.push_back(file.arrays[a]);
  out.extents = file.extents;
  if (!file.offsets.empty())
    for (const std::size_t a : arrays) out.offsets.push_back(file.offsets[a]);
  if (!file.scales.empty())
    for (const std::size_t a : arrays) out.scales.push_back(file.scales[a]);
  for (const CompanionFile& one : file.companion_files) {
    CompanionFile kept{one.path, one.fingerprint, {}};
    for (std::uint32_t i = 0; i < arrays.size(); ++i)
      if (std::ranges::find(one.arrays, arrays[i]) != one.arrays.end()) kept.arrays.push_back(i);
    if (!kept.arrays.empty()) out.companion_files.push_back(std::move(kept));
  }
  return out;
}

std::map<std::string, std::vector<std::string>> companion_files_of(const Source& source) {
  std::map<std::string, std::vector<std::string>> files;
  for (std::size_t c = 0; c < source.columns->size(); ++c) {
    const auto divided = divide_path((*source.columns)[c].path);
    if (!divided || files.contains(divided->first)) continue;
    std::vector<std::string> paths;
    for (const SourceFile& file : source.files)
      for (const CompanionFile& one : file.companion_files)
        if (std::ranges::find(one.arrays, source.places[c].array) != one.arrays.end()) paths.push_back(one.path);
    if (paths.size() == source.files.size()) files.emplace(divided->first, std::move(paths));
  }
  return files;
}

std::map<std::string, std::vector<std::string>> Dataset::companion_files() const {
  if (!impl_->source.rows()) return {};
  return companion_files_of(*impl_->source.rows());
}

}  // namespace headrace
