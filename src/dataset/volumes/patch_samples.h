// Boxes of volumes as samples: what patches(), selections and choices of fields make again.
#pragma once

#include <headrace/volumes.h>

#include <memory>

#include "assembly/mapped_source.h"

namespace headrace {

/// Return the maker of patches. \param options  Checked. \param volumes  Whose patches they will be. Its make() throws
/// kInvalidArgument for volumes that are smaller than a patch, and those of volume_grid().
std::shared_ptr<const SampleMaker> patch_maker(const PatchOptions& options, const Source& volumes);

}  // namespace headrace
