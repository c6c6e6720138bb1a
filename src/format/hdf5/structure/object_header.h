// Object headers, read by ourselves before libhdf5 sees them.
//
// libhdf5 1.10 trusts much of what it decodes: a chunk length of 0 divides by zero, a wrong size in a global heap is
// followed out of the buffer. A header is therefore parsed here first (HDF5 File Format Specification, "Data Object
// Headers"), what is known to crash is refused, and what libhdf5 reads unsafely (variable-length text) is read here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/hdf5/structure/superblock.h"
#include "storage/random_access_file.h"

namespace headrace::hdf5 {

enum class MessageType : std::uint16_t {
  kDataspace = 0x01,
  kLinkInfo = 0x02,
  kDatatype = 0x03,
  kOldFillValue = 0x04,
  kFillValue = 0x05,
  kLink = 0x06,
  kExternalFiles = 0x07,
  kLayout = 0x08,
  kFilters = 0x0B,
  kAttribute = 0x0C,
  kContinuation = 0x10,
  kSymbolTable = 0x11,
  kAttributeInfo = 0x15,
};

struct HeaderMessage {
  std::uint16_t type = 0;
  std::uint8_t flags = 0;  ///< Bit 1: shared, the bytes only point to the message.
  std::vector<std::byte> bytes;
  [[nodiscard]] bool is(MessageType t) const { return type == static_cast<std::uint16_t>(t); }
  [[nodiscard]] bool shared() const { return (flags & 0x02) != 0; }
};

/// A cursor over little-endian bytes that never leaves them.
class ByteCursor {
 public:
  explicit ByteCursor(std::span<const std::byte> bytes) : bytes_(bytes) {}
  /// Return an unsigned number of up to 8 bytes; 0 past the end, after which ok() is false.
  std::uint64_t number(std::size_t size);
  std::span<const std::byte> take(std::uint64_t size);
  void skip(std::uint64_t size) { take(size); }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t left() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  bool ok_ = true;
};

/// Return a kCorruptData error about an object header. \param why  What is wrong, as the end of a sentence.
Error header_damaged(const std::string& why);

/// Return all messages of an object, continuation blocks included.
/// \param address  As in the file, relative to superblock.at.
/// Errors: kCorruptData; those of reading.
Result<std::vector<HeaderMessage>> read_object_header(const RandomAccessFile& file, const Superblock& superblock,
                                                      std::uint64_t address);

/// Refuse datasets on which libhdf5 is known to crash. Errors: kCorruptData.
Status check_dataset(const RandomAccessFile& file, const Superblock& superblock,
                     const std::vector<HeaderMessage>& messages);

}  // namespace headrace::hdf5
