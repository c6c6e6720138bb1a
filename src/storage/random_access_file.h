// RandomAccessFile: bytes at an offset. Local files here; test doubles beside it; remote storage later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "storage/fingerprint.h"

namespace headrace {

/// A file of fixed size that many threads read at once.
/// Threads: every const member may be called from any thread. Blocks: until the bytes are there.
class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;
  RandomAccessFile() = default;
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;

  /// Return the path or other name for messages.
  [[nodiscard]] virtual const std::string& name() const = 0;
  /// Return the size in bytes when the file was opened.
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// Read exactly out.size() bytes from `offset`.
  /// Errors: kCorruptData  the range reaches past the end; kReadFailed  the system's error, after retries of what is
  /// transient; kFileChanged  the file is shorter or newer than when it was opened.
  virtual Status read_at(std::uint64_t offset, std::span<std::byte> out) const = 0;
  /// Return the version of the file that was opened; zeros where there is none (files in memory).
  [[nodiscard]] virtual FileFingerprint fingerprint() const { return {}; }
  /// Return kFileChanged if the file on disk is not the one that was opened (size, modification time, inode).
  virtual Status check_unchanged() const = 0;
  /// Say that a range will be read soon, so that the system may fetch it meanwhile. A hint: it has no errors, and does
  /// not wait.
  virtual void expect_read(ByteRange /*range*/) const {}
  /// What reading bytes before they are asked for is good for.
  enum class ReadAhead : std::uint8_t {
    kNothing,    ///< They are in memory.
    kPageCache,  ///< The system keeps what was read: read_at() finds it there.
    kHold,       ///< They have to be held until they are asked for.
  };
  [[nodiscard]] virtual ReadAhead read_ahead() const { return ReadAhead::kNothing; }
};

}  // namespace headrace
