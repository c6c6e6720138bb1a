// Compressed streams of any length: what does not end where a chunk ends, as files named .gz and .zst.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"

namespace headrace {

/// Decodes a stream that is handed over in parts. It reads no file. Threads: one at a time.
class StreamDecoder {
 public:
  /// What one call did.
  struct Step {
    std::size_t consumed = 0, produced = 0;
  };
  virtual ~StreamDecoder() = default;
  /// Decode from `in` into `out`, as far as one of them goes. Members of a file that is several, one behind the other,
  /// are one stream. Errors: kCorruptData  the stream is damaged, or something else follows it; kOutOfBudget.
  virtual Result<Step> decode(std::span<const std::byte> in, std::span<std::byte> out) = 0;
  /// Return true if the stream may end here: at its start, or behind the checksum of a member.
  [[nodiscard]] virtual bool may_end() const = 0;
};

/// Decode gzip (RFC 1952), with zlib, which compares its checksums.
Result<std::unique_ptr<StreamDecoder>> make_gzip_stream();
/// Decode zstd's frames (RFC 8878), skippable ones included, whose windows are up to `most_window_bytes`.
Result<std::unique_ptr<StreamDecoder>> make_zstd_stream(std::size_t most_window_bytes);

/// Return the window that a frame of zstd needs, by its first 18 bytes (RFC 8878, section 3.1.1.1); 0: they are none.
std::uint64_t zstd_window_bytes(std::span<const std::byte> head);

}  // namespace headrace
