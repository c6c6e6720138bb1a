// The mappings of a virtual dataset in the form in which they are read: whole rows and axes are joined, scratch is
// summed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/hdf5/virtual/virtual_layout.h"

namespace headrace::hdf5 {

inline constexpr std::uint64_t kVirtualGapBytes = 64 << 10;  ///< Rows nearer than this are read together.

/// A dataset that rows come from, and what reading it takes.
struct PreparedSource {
  const ArrayBase* array = nullptr;
  const SourceConversion* conversion = nullptr;
  std::uint64_t chunk_rows = 0;  ///< 0: rows can be had one by one.
  std::uint64_t batch_rows = 1;  ///< Then so many at a time.
  // Scratch for its stored and decoded bytes, for the latter converted, and for its filters; multiples of a cache line.
  std::uint64_t stored_bytes = 0, out_bytes = 0, converted_bytes = 0, filter_bytes = 0;
  bool whole_rows = false;  ///< A decoded piece holds whole rows, their elements one after the other.
};

/// What goes where, with as few axes as it takes.
struct PreparedMapping {
  std::size_t source = 0;
  Selection into, from;
  std::uint64_t unit_bytes = 0;  ///< What one rank is: an element, or a whole row.
  std::uint64_t row_units = 1;   ///< In a row of the virtual dataset.
  bool by_rows = false;          ///< A rank is a whole row.
  bool joined = false;           ///< Axes of `from` were joined: pieces must be taken as rows of from.extent.
  std::uint64_t first_row = 0, end_row = 0;
};

/// \param info  Of the virtual dataset.
PreparedSource prepare_source(const VirtualSource& source, const DatasetInfo& info);
/// \param info  Of the virtual dataset. \param whole_pieces  PreparedSource::whole_rows of its source.
PreparedMapping prepare_mapping(const VirtualMapping& mapping, const DatasetInfo& info, bool whole_pieces);

}  // namespace headrace::hdf5
