// OutsideFiles: a list of files in which each comes once, however many there are.
#pragma once

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "format/format_reader.h"

namespace headrace {

class OutsideFiles {
 public:
  /// Add a file, unless one of its path is there.
  void add(OutsideFile file) {
    if (paths_.insert(file.path).second) files_.push_back(std::move(file));
  }
  /// Return them in the order in which they came.
  [[nodiscard]] std::vector<OutsideFile> take() && { return std::move(files_); }

 private:
  std::vector<OutsideFile> files_;
  std::unordered_set<std::string> paths_;
};

}  // namespace headrace
