// Filters that libhdf5 decodes for us, guarded: 1.10 trusts their parameters and streams, and reads past the end of
// both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "codec/codec.h"
#include "format/hdf5/filter_ids.h"

namespace headrace::hdf5 {

/// Why the parameters of scale-offset or n-bit cannot be right for chunks of this form; empty for sound ones and for
/// other filters.
std::string library_filter_flaw(const StoredFilter& spec, const ChunkForm& form);

/// Why a chunk encoded last by `spec` cannot be decoded safely; empty if it can. \param stored  All of the chunk.
/// The parameters have passed library_filter_flaw().
std::string library_stream_flaw(const StoredFilter& spec, const ChunkForm& form, std::span<const std::byte> stored);

}  // namespace headrace::hdf5
