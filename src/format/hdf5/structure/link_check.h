// Links of groups, checked before libhdf5 lists them: where a message cannot be decoded, 1.10 frees what it never set,
// and where an index has no address, it reads from the null pointer.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/result.h"
#include "format/hdf5/structure/superblock.h"

namespace headrace::hdf5 {

/// Check a link message (specification IV.A.2.g). \return Its name, as far as libhdf5 reads it. Errors: kCorruptData.
Result<std::string_view> check_link(std::span<const std::byte> message, const Superblock& superblock);

/// Check the message that says where a group keeps many links (IV.A.2.c). Errors: kCorruptData.
Status check_link_info(std::span<const std::byte> message, const Superblock& superblock);

}  // namespace headrace::hdf5
