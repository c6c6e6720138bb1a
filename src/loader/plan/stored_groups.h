// What samples are made of, as stores keep it: rows of columns that decode together, or cells of volumes.
#pragma once

#include <vector>

#include "assembly/sample_source.h"
#include "assembly/servers/block_server.h"
#include "cache/row_store.h"

namespace headrace {

/// What one store has.
struct StoredGroup {
  const Source& source;
  RowLayout rows;   ///< All rows of each block, also where some were selected. A cell is a row, and a block.
  ServerNeed need;  ///< What a thread takes for a block on its way there.
};

/// Return the groups of samples, in the order of their map's. \param layout, blocks  Of samples that are rows.
std::vector<StoredGroup> stored_groups(const SampleSource& source, const BlockLayout& layout, const BlockTable& blocks);

}  // namespace headrace
