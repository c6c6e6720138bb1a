// Which members of a record can be delivered, and where they lie in the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "format/hdf5/library_lock.h"

namespace headrace::hdf5 {

/// Return why values of a type that is neither a record nor an array cannot be delivered; empty if they can.
/// \param member  Text that names the member, " (member 'id')", or empty.
std::string why_not_delivered(hid_t type, const std::string& member);

/// Return what a user can do about a reason of why_not_delivered(), or about another one for which an array is refused.
std::string remedy_for(std::string_view reason);

/// Return the bytes that an element takes in the file. libhdf5 describes types as they are in memory, where text of
/// variable length is a pointer; in a file with addresses of 8 bytes it takes 16 (specification III.E, global heap
/// IDs).
std::uint64_t stored_size(hid_t type);

/// Return a record type of those members only that can be delivered, as large as it is in the file and its members
/// where they lie there. Not ok() if there are none, or if the type is no record.
Id readable_type(hid_t type);

}  // namespace headrace::hdf5
