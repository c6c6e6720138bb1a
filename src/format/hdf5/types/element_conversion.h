// Numbers that are not as NumPy has them (24-bit integers, floats of other formats), and elements of a virtual
// dataset's sources that are of another type, converted by libhdf5 in our memory.
//
// libhdf5 sees no file here, no chunk and no filter: it is given whole elements, as many as we have bytes for, a slice
// at a time. Everything that depends on the file's bytes (where they lie, how long a stream is, what it decodes to) has
// been checked by then as for any other array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "codec/codec_chain.h"
#include "format/hdf5/types/element_type.h"

namespace headrace::hdf5 {

/// What libhdf5 converts, and to what. The code that makes one keeps the types.
struct Conversion {
  hid_t from = -1, to = -1;
  std::uint64_t from_bytes = 1, to_bytes = 1;  ///< Bytes of an element.
};

/// Return the bytes that convert() needs in each of its two buffers for so many elements.
std::uint64_t conversion_bytes(const Conversion& conversion, std::uint64_t elements);

/// Convert whole elements. What lies between the members of a record, and members that `from` lacks, are zero.
/// \param in, out  The same number of elements. They may overlap as those of stored_room() do.
/// Errors: kCorruptData if libhdf5 cannot convert them; kInternal for buffers of other sizes than were asked for.
/// Threads: any. Blocks: until no other thread is in libhdf5, once for each slice.
Status convert(const Conversion& conversion, std::span<const std::byte> in, std::span<std::byte> out,
               const CodecScratch& scratch);

/// Return the bytes that convert() needs in each of its two buffers for so many elements; 0 where nothing is converted.
std::uint64_t conversion_bytes(const ElementType& element, std::uint64_t elements);

/// Return the bytes that stored_room() takes of `pong`, beside what others need of it; 0 where it takes none.
std::uint64_t stored_room_bytes(const ElementType& element, std::uint64_t elements);

/// Return where to put the stored form of elements that convert() is to leave in `out`, so that no other buffer is
/// needed: the end of `out`, or the end of `pong` where the stored form is the larger one.
/// \param element  One that is converted.
std::span<std::byte> stored_room(const ElementType& element, std::span<std::byte> out, std::span<std::byte> pong);

/// Convert whole elements from their stored to their native form.
/// \param stored  May be stored_room() of the same `out` and `scratch.pong`.
/// Errors, Threads, Blocks: as above.
Status convert(const ElementType& element, std::span<const std::byte> stored, std::span<std::byte> out,
               const CodecScratch& scratch);

}  // namespace headrace::hdf5
