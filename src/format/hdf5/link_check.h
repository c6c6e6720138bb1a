// Link messages, checked before libhdf5 lists a group: where one of them cannot be decoded, 1.10 frees what it never
// set.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "format/hdf5/superblock.h"

namespace headrace::hdf5 {

/// Check a link message (specification IV.A.2.g). Errors: kCorruptData.
Status check_link(std::span<const std::byte> message, const Superblock& superblock);

}  // namespace headrace::hdf5
