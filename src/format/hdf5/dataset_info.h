// One dataset as the file describes it, and whether and how it can be read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catalog/array_info.h"
#include "codec/codec.h"
#include "format/hdf5/file_state.h"
#include "format/hdf5/filter_ids.h"
#include "format/hdf5/outside_files.h"
#include "format/hdf5/types/element_type.h"

namespace headrace::hdf5 {

struct SourceTrail;
struct VirtualLayout;

/// Chunks a dataset may have: beyond, 24 bytes for each of them are no longer small.
inline constexpr std::uint64_t kGridLimit = 20'000'000;
/// Largest decoded chunk (also HDF5's own limit before format 4.0).
inline constexpr std::uint64_t kChunkLimitBytes = (std::uint64_t{1} << 32) - 1;

struct DatasetInfo {
  std::uint64_t header_address = 0;  ///< Address of the object header, as in the file.
  ArrayInfo array;                   ///< shape is empty for a scalar, which is no array of rows.
  ElementType element;
  std::vector<StoredFilter> filters;
  bool edges_unfiltered = false;    ///< H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS
  std::uint64_t row_bytes = 0;      ///< Decoded, all columns.
  std::uint64_t chunk_bytes = 0;    ///< Decoded; 0 where there are no chunks.
  ChunkForm stored_form;            ///< Form of a chunk as the filters see it (before conversion by libhdf5).
  std::vector<std::uint64_t> grid;  ///< Chunks along each axis.
  std::vector<RawSegment> external;
  std::shared_ptr<const VirtualLayout> virtual_layout;  ///< Null unless virtual, and all of it can be read.

  /// Return the bytes of a row as stored, before any conversion. Only where a row has bytes.
  [[nodiscard]] std::uint64_t stored_row_bytes() const {
    return row_bytes / element.record_bytes * element.stored_bytes;
  }
};

/// What is known before a dataset is described.
struct KnownOfDataset {
  SourceTrail* trail = nullptr;               ///< The sources that are open already, if it is one itself.
  std::optional<std::uint64_t> stored_bytes;  ///< Then the index of its chunks is not read.
};

/// Describe an open dataset. What is there but cannot be read is described with kUnsupported and the reason.
/// Errors: kCorruptData and the like if libhdf5 cannot even describe it.
Result<DatasetInfo> describe_dataset(const LibraryLock&, FileState& state, hid_t dataset, const std::string& path,
                                     const KnownOfDataset& known = {});

}  // namespace headrace::hdf5
