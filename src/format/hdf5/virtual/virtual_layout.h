// What a virtual dataset is put together of: sources, which are arrays read by ourselves, and what goes where.
//
// libhdf5 would open and decode the sources by itself, unchecked and one at a time, and answer what it cannot open with
// fill values. Here it only lists the mappings; sources are opened as any other array is, with the same checks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "format/hdf5/arrays/array_base.h"
#include "format/hdf5/types/source_conversion.h"
#include "format/hdf5/virtual/selection.h"

namespace headrace::hdf5 {

/// A dataset that rows come from.
struct VirtualSource {
  std::shared_ptr<const ArrayBase> array;
  std::shared_ptr<const SourceConversion> conversion;  ///< Null: its elements are the virtual dataset's.
};

/// The elements `from` a source go `into` the virtual dataset, by rank.
struct VirtualMapping {
  Selection into, from;
  std::size_t source = 0;
};

struct VirtualLayout {
  std::vector<VirtualSource> sources;
  std::vector<VirtualMapping> mappings;  ///< A later one hides what an earlier one put into the same place.
  double work = 1;                       ///< Elements that are read for one of the virtual dataset, sources included.
};

struct SourceTrail;

/// Read the mappings of a virtual dataset and open its sources.
/// \param info  Its shape and type. \param trail  Where it is a source itself: what is open already.
/// Errors, all of them said of the source: kNotFound; kUnsupported (outside the file's directory, growing or patterned
/// mappings, a dataset that contains itself, unreadable or different types); kCorruptData (too small, damaged).
Result<std::shared_ptr<const VirtualLayout>> open_virtual_sources(const LibraryLock&, FileState& state, hid_t dataset,
                                                                  hid_t creation_list, const DatasetInfo& info,
                                                                  SourceTrail* trail);

}  // namespace headrace::hdf5
