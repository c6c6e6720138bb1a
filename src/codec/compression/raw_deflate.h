// Raw deflate streams (RFC 1951), as zip archives hold them: without zlib's header and checksum. The archive keeps the
// checksum elsewhere, so that the caller compares it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace headrace {

/// Decode a whole stream into exactly out.size() bytes.
/// Errors: kCorruptData  the stream is damaged, or holds fewer or more bytes; kOutOfBudget.
Status inflate_raw(std::span<const std::byte> in, std::span<std::byte> out);

/// Decode the first bytes of a stream, of which `in` may be only the start. \return Bytes written: out.size(), or fewer
/// where `in` gives no more. Errors: kCorruptData, kOutOfBudget.
Result<std::size_t> inflate_raw_start(std::span<const std::byte> in, std::span<std::byte> out);

/// Return the CRC-32 that zip and gzip use.
std::uint32_t crc32_of(std::span<const std::byte> bytes);

}  // namespace headrace
