#include "format/hdf5/types/element_conversion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "format/hdf5/types/native_bytes.h"

namespace headrace::hdf5 {
namespace {

constexpr std::uint64_t kSliceBytes = 64 << 10;  // some milliseconds at most under the lock that all threads share

std::uint64_t larger_form(const Conversion& c) {
  return std::max(c.from_bytes, c.to_bytes);
}

std::uint64_t elements_a_slice(const Conversion& c) {
  return std::max<std::uint64_t>(kSliceBytes / larger_form(c), 1);
}

Conversion conversion_of(const ElementType& element) {
  return {element.stored_type.get(), element.memory_type.get(), element.stored_bytes, element.record_bytes};
}

}  // namespace

std::uint64_t conversion_bytes(const Conversion& conversion, std::uint64_t elements) {
  return std::min(elements, elements_a_slice(conversion)) * larger_form(conversion);
}

std::uint64_t conversion_bytes(const ElementType& element, std::uint64_t elements) {
  return element.memory_type.ok() ? conversion_bytes(conversion_of(element), elements) : 0;
}

std::uint64_t stored_room_bytes(const ElementType& element, std::uint64_t elements) {
  return element.memory_type.ok() && element.stored_bytes > element.record_bytes ? elements * element.stored_bytes : 0;
}

// At the end of `out` the stored form is never overwritten before it is read: after k of n elements of s stored and m
// >= s native bytes, the native ones end at k*m, and what is still to be read begins at n*(m - s) + k*s >= k*m.
std::span<std::byte> stored_room(const ElementType& element, std::span<std::byte> out, std::span<std::byte> pong) {
  const std::size_t bytes = out.size() / element.record_bytes * element.stored_bytes;
  return bytes <= out.size() ? out.last(bytes) : pong.last(std::min(bytes, pong.size()));
}

Status convert(const Conversion& conversion, std::span<const std::byte> in, std::span<std::byte> out,
               const CodecScratch& scratch) {
  const auto [from, to, from_bytes, to_bytes] = conversion;
  const std::uint64_t elements = out.size() / to_bytes, slice_bytes = conversion_bytes(conversion, elements);
  if (out.size() != elements * to_bytes || in.size() != elements * from_bytes || scratch.ping.size() < slice_bytes ||
      scratch.pong.size() < slice_bytes)
    return Error(ErrorCode::kInternal,
                 fmt::format("{} bytes given to convert {} elements of {} into {}, with {} aside", in.size(), elements,
                             from_bytes, out.size(), std::min(scratch.ping.size(), scratch.pong.size())));
  const std::uint64_t step = elements_a_slice(conversion);
  for (std::uint64_t at = 0; at < elements; at += step) {
    const std::uint64_t n = std::min(step, elements - at);
    std::memcpy(scratch.ping.data(), in.data() + at * from_bytes, n * from_bytes);
    // Where libhdf5 puts records together; what lies between their members is not converted, and must not be left over
    // from other chunks.
    std::memset(scratch.pong.data(), 0, n * to_bytes);
    {
      const LibraryLock library;
      if (H5Tconvert(from, to, n, scratch.ping.data(), scratch.pong.data(), H5P_DEFAULT) < 0)
        return Error(ErrorCode::kCorruptData, "its elements cannot be converted: " + last_library_error(library).text())
            .with_stage("H5Tconvert");
    }
    std::memcpy(out.data() + at * to_bytes, scratch.ping.data(), n * to_bytes);
  }
  return {};
}

Status convert(const ElementType& element, std::span<const std::byte> stored, std::span<std::byte> out,
               const CodecScratch& scratch) {
  HEADRACE_TRY(convert(conversion_of(element), stored, out, scratch));
  to_native(element, out);
  return {};
}

}  // namespace headrace::hdf5
