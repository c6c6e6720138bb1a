// libdeflate only says that a stream is bad. This asks zlib once more, after the fact, where and why.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"

namespace headrace {

enum class InflateWrapper { kZlib, kGzip };

/// Decode a stream that libdeflate has refused again, slowly, into the same buffer.
/// \return The error (kCorruptData) that says after how many bytes it is damaged, and how.
Error explain_inflate(std::span<const std::byte> in, std::span<std::byte> out, InflateWrapper wrapper);

}  // namespace headrace
