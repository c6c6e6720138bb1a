// HDF5's checksum of metadata.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace::hdf5 {

/// Return Bob Jenkins' lookup3 (hashlittle) from 0 on, as the specification demands for metadata.
std::uint32_t metadata_checksum(std::span<const std::byte> bytes);

}  // namespace headrace::hdf5
