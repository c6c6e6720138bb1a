// FooterDecoder: from the end of a file to its FileMetadata, without reading anything itself.
//
// It says which bytes it needs, is given them, and says so again until it is done: at most twice. So the bytes may come
// from a file, from a remote store or from a fuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "format/parquet/file_metadata.h"

namespace headrace::parquet {

/// Threads: one.
class FooterDecoder {
 public:
  /// \param file_bytes  Size of the file.
  explicit FooterDecoder(std::uint64_t file_bytes);
  /// Return the bytes that push() wants next; nothing: it is done.
  [[nodiscard]] std::optional<ByteRange> needs() const { return needs_; }
  /// Take the bytes of needs().
  /// Errors: kCorruptData  damaged, truncated, no Parquet file; kUnsupported  an encrypted footer.
  Status push(std::span<const std::byte> bytes);
  /// Give what was decoded away, when needs() is empty.
  FileMetadata take() { return std::move(metadata_); }

 private:
  std::uint64_t file_bytes_;
  std::optional<ByteRange> needs_;
  FileMetadata metadata_;
};

/// Return true if bytes begin as a Parquet file does, an encrypted one included.
bool is_parquet(std::span<const std::byte> head);

}  // namespace headrace::parquet
