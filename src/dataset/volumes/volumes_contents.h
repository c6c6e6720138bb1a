// What is behind a Volumes handle.
#pragma once

#include <headrace/volumes.h>

#include <memory>
#include <string>
#include <vector>

#include "assembly/source.h"
#include "dataset/recipe/data_tree.h"

namespace headrace {

struct Volumes::Impl {
  std::shared_ptr<const Source> source;            ///< A column for each array, whose values are its elements.
  DataTree node;                                   ///< What opens them again.
  std::vector<std::vector<std::uint64_t>> shapes;  ///< The shape of each file's volume.
};

/// The way to what Volumes keep private.
struct VolumesInternals {
  static const Volumes::Impl& of(const Volumes& volumes) { return *volumes.impl_; }
};
/// Return what is behind a handle. Lives as long as the handle does.
inline const Volumes::Impl& impl_of(const Volumes& volumes) {
  return VolumesInternals::of(volumes);
}

}  // namespace headrace
