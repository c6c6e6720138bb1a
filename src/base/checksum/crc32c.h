// CRC-32C (Castagnoli, RFC 3720 appendix B.4): the checksum of what is kept on disk. One instruction for 8 bytes on
// x86-64 and ARMv8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace {

/// Return the checksum of `data`, or of what `before` is the checksum of followed by `data`. Threads: any.
std::uint32_t crc32c(std::span<const std::byte> data, std::uint32_t before = 0);

/// Return the checksum of two pieces, one after the other, from the checksums of each.
std::uint32_t crc32c_combine(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes);

/// Compute crc32c() on machines without the instruction, 8 bytes a step from tables.
std::uint32_t crc32c_portable(std::span<const std::byte> data, std::uint32_t before = 0);

}  // namespace headrace
