// HeldBytes: a part of a file that was read before it is asked for, as a file of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/memory/page_buffer.h"
#include "storage/random_access_file.h"

namespace headrace {

/// Offsets are those of the file that the bytes come from, which answered that it had not changed after they were read.
/// Immutable. Threads: any.
class HeldBytes final : public RandomAccessFile {
 public:
  /// \param bytes  Those of `from` at `range`.
  HeldBytes(const RandomAccessFile& from, ByteRange range, PageBuffer bytes)
      : name_(from.name()),
        size_(from.size()),
        fingerprint_(from.fingerprint()),
        range_(range),
        bytes_(std::move(bytes)) {}
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  /// Errors: kInternal for bytes that are not held.
  Status read_at(std::uint64_t offset, std::span<std::byte> out) const override;
  [[nodiscard]] FileFingerprint fingerprint() const override { return fingerprint_; }
  Status check_unchanged() const override { return {}; }

 private:
  const std::string name_;
  const std::uint64_t size_;
  const FileFingerprint fingerprint_;
  const ByteRange range_;
  const PageBuffer bytes_;
};

}  // namespace headrace
