// Codec: one step of a filter pipeline, stored bytes → decoded bytes, into a buffer of known size, never a byte more.
// CodecChain (codec_chain.h) runs a pipeline. A new filter is one file here and one line in registry.cpp; see
// docs/guides/adding-a-filter.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headrace {

/// A codec and its parameters. Each format maps its own names or numbers of filters onto these.
struct FilterSpec {
  std::string name;                       ///< As registered: "deflate", "zstd", …
  std::vector<std::uint32_t> parameters;  ///< In the order of the HDF5 filter of that name; some need none.
};

/// What a filter may need to know of the chunk it works on.
struct ChunkForm {
  std::uint64_t chunk_bytes = 0;    ///< Decoded bytes of a whole chunk.
  std::uint64_t element_bytes = 1;  ///< Bytes an element (a record for compounds).
};

/// A decoder with its parameters. Immutable; state that can be reused between calls lives in thread-local storage of
/// the implementation (a libdeflate decompressor, a ZSTD_DCtx).
/// Threads: decode() may be called from any number of threads at once.
class Codec {
 public:
  virtual ~Codec() = default;
  /// Return the registered name, for example "deflate".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Return its setting for people, for example "4" for gzip-4; may be empty.
  [[nodiscard]] virtual std::string setting() const { return {}; }
  /// Return the encoded size where it follows from the decoded size alone (shuffle: the same; fletcher32: 4 more).
  /// nullopt for compressors.
  [[nodiscard]] virtual std::optional<std::uint64_t> encoded_size(std::uint64_t /*decoded*/) const { return {}; }
  /// Return an upper bound of the encoded size of any stream a sane writer makes from `decoded` bytes.
  [[nodiscard]] virtual std::uint64_t max_encoded_size(std::uint64_t decoded) const {
    return decoded + decoded / 8 + 65536;
  }
  /// Decode all of `in` into the front of `out`.
  /// \return Bytes written, at most out.size(). Fewer is not an error here; the chain compares with what it expects.
  /// Errors: kCorruptData for damaged input or input that decodes to more than out.size(). The message says what was
  /// expected and found ("stream ends after 61440 of 524288 bytes"); place and stage are added by the caller.
  /// Memory: never reads outside `in`, never writes outside `out`; `in` and `out` do not overlap.
  virtual Result<std::size_t> decode(std::span<const std::byte> in, std::span<std::byte> out) const = 0;
};

/// Make the decoder of a filter.
/// Errors: kUnsupported for an unknown name, kCorruptData for parameters that make no sense (shuffle of 0 bytes).
Result<std::unique_ptr<Codec>> make_codec(const FilterSpec& spec, const ChunkForm& form);

/// Return true if make_codec() knows the name.
bool codec_known(std::string_view name);

}  // namespace headrace
