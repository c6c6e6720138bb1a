// Units to read, whatever samples are made of: blocks of rows, or cells of volumes.
#pragma once

#include "assembly/sample_source.h"
#include "tools/inspect/block_sample.h"

namespace headrace {

/// Choose units of all groups in turn, at equal distances, as sample_blocks() does: of rows, blocks; of volumes, cells,
/// or stretches where any box can be read by itself, of which only `arrays` and `stored_bytes` are set. \param layout
/// Layout of rows; of other samples it is not looked at. Reads chunk indexes. Errors: as ArrayReader::locate.
Result<std::vector<SampledBlock>> sample_units(const SampleSource& source, const BlockLayout& layout,
                                               std::uint64_t most_units, std::uint64_t most_bytes);

}  // namespace headrace
