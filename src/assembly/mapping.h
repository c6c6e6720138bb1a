// Mapping: how samples that are not simply rows lie in the columns of one or more sources.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "assembly/block_layout.h"
#include "assembly/source.h"
#include "base/result.h"
#include "catalog/box_map.h"
#include "catalog/sample_map.h"

namespace headrace {

/// Columns of one group of a map. Its fields follow those of the group before in a batch.
struct SourceGroup {
  std::shared_ptr<const Source> source;
  BlockLayout layout;  ///< Of a group of rows: its blocks are the group's units.
};

/// Sizes of samples, over all fields.
struct SampleSizes {
  double mean_bytes = 0, deviation_bytes = 0;
  std::uint64_t most_bytes = 0;
  /// Return what `samples` that come in a random order take, but for one batch in millions.
  [[nodiscard]] std::uint64_t largest_batch_bytes(std::uint64_t samples) const;
};

/// Immutable.
struct Mapping {
  std::shared_ptr<const SampleMap> map;
  std::shared_ptr<const BoxMap> boxes;  ///< The map, where its groups are grids of cells; else null.
  std::vector<SourceGroup> groups;
  std::string identity;  ///< Of the map: equal text, equal samples of equal files.
  SampleSizes sizes;
};

/// Where a field's bytes are stored.
struct ColumnPlace {
  const Source* source = nullptr;  ///< Null: nowhere, transforms make it of others.
  Source::Place place = {};
  /// Of the first file.
  [[nodiscard]] const ArrayInfo& info() const { return source->files[0].arrays[place.array]->info(); }
};
ColumnPlace column_of(const Source& source, std::size_t field);
/// Return the sources that have files: the groups' of mapped samples, else the source itself.
std::vector<const Source*> stored_sources(const Source& source);

/// Make the source of a data set of mapped samples: its fields are those of the groups, one after the other, ragged
/// where the map says so. Goes through the lengths of all samples once. \param identity  What the map was made from.
/// Errors: kUnsupported for groups of which rows were selected.
Result<std::shared_ptr<const Source>> make_mapped_source(std::shared_ptr<const SampleMap> map,
                                                         std::shared_ptr<const BoxMap> boxes,
                                                         std::vector<SourceGroup> groups, std::string identity);

}  // namespace headrace
