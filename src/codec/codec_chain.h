// CodecChain: a whole filter pipeline, decoded from the last filter to the first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "codec/codec.h"

namespace headrace {

/// Buffers a thread decodes with. Sized once, before the first chunk, from CodecChain::scratch_bytes().
struct CodecScratch {
  std::span<std::byte> ping;
  std::span<std::byte> pong;
};

class CodecChain {
 public:
  CodecChain() = default;
  /// \param filters  In the order they were applied when writing.
  static Result<CodecChain> make(const std::vector<FilterSpec>& filters, const ChunkForm& form);

  /// Decode `stored` into exactly out.size() bytes (the chunk's decoded size).
  /// \param skip_mask  Bit i set: filter i was not applied to this chunk.
  /// Errors: kCorruptData with the failing filter as stage, also when the decoded length is not exactly out.size().
  Status decode(std::span<const std::byte> stored, std::uint32_t skip_mask, std::span<std::byte> out,
                const CodecScratch& scratch) const;

  /// Return the bytes that each of the two scratch buffers must have (0 where no second buffer is needed).
  [[nodiscard]] std::uint64_t scratch_bytes() const { return scratch_bytes_; }
  /// Return the largest stored size that is plausible for a chunk; anything above is damage.
  [[nodiscard]] std::uint64_t max_stored_bytes() const { return max_stored_bytes_; }
  [[nodiscard]] bool empty() const { return codecs_.empty(); }
  [[nodiscard]] const std::vector<std::unique_ptr<Codec>>& codecs() const { return codecs_; }

 private:
  std::vector<std::unique_ptr<Codec>> codecs_;
  std::uint64_t scratch_bytes_ = 0;
  std::uint64_t max_stored_bytes_ = 0;
};

}  // namespace headrace
