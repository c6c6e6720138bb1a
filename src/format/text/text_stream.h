// TextStream: the bytes of a text file from its start to its end, decompressed where it is compressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "codec/stream_decoder.h"
#include "storage/random_access_file.h"

namespace headrace::text_files {

/// Bytes that a stream holds for itself: what was read ahead, and the window of a codec.
inline constexpr std::size_t kReadBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMostWindowBytes = std::size_t{128} << 20;  // zstd --long

/// Threads: one at a time. Blocks: reads.
class TextStream {
 public:
  /// Open a stream over a file; whether it is compressed is said by its name: .gz, .zst.
  /// Errors: kUnsupported  compressed otherwise, or in another way than the name says, or UTF-16; those of reading.
  static Result<std::unique_ptr<TextStream>> open(std::shared_ptr<const RandomAccessFile> file);

  /// Read into `out` until it is full or the file ends. \return Bytes read; fewer than out.size() only at the end.
  /// A byte order mark at the start of the text is passed over. Errors: kCorruptData  a damaged stream, or one that was
  /// cut short, with the place; those of reading.
  Result<std::size_t> read(std::span<std::byte> out);
  /// Go on at a byte of the text, which is not before the place that was reached. A file that is not compressed is not
  /// read for it. Errors: as read(); kFileChanged  the text ends before.
  Status skip_to(std::uint64_t offset);

  /// Return how many bytes of the text were read or skipped; a byte order mark counts.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  /// Return how many bytes of the file were used for them.
  [[nodiscard]] std::uint64_t stored_offset() const { return stored_ - (pending_.size() - at_); }
  [[nodiscard]] const RandomAccessFile& file() const { return *file_; }
  /// Return what the codec of its first member holds, beside kReadBytes.
  [[nodiscard]] std::uint64_t window_bytes() const { return window_bytes_; }

 private:
  TextStream(std::shared_ptr<const RandomAccessFile> file, std::unique_ptr<StreamDecoder> decoder)
      : file_(std::move(file)), decoder_(std::move(decoder)) {}
  Status fill();
  Result<std::size_t> read_decoded(std::span<std::byte> out);
  Result<std::size_t> read_some(std::span<std::byte> out);

  std::shared_ptr<const RandomAccessFile> file_;
  std::unique_ptr<StreamDecoder> decoder_;  ///< Null: as it lies.
  std::vector<std::byte> pending_;          ///< Read and not decoded yet.
  std::size_t at_ = 0;
  std::uint64_t stored_ = 0, offset_ = 0, window_bytes_ = 0;
};

/// Return true if a name has one of these endings.
bool ends_with_any(std::string_view name, std::span<const std::string_view> endings);
/// Return a name without .gz or .zst.
std::string_view plain_name(std::string_view name);

}  // namespace headrace::text_files
