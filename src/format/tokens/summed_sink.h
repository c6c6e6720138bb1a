// SummedSink: a file that is written from its start to its end, of which a checkpoint says what its bytes come to.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "format/tokens/byte_sink.h"

namespace headrace::token_files {

/// As ByteSink, with the CRC-32C of what is written behind a head. Threads: one at a time.
class SummedSink {
 public:
  /// \param head  Begins the file and may be written anew at its end; no part of the checksum.
  Status create(const std::string& path, std::string_view head = {});
  /// Go on with the file of a checkpoint. \param head_bytes  As many as create() was given.
  /// Errors: kCorruptData  it is shorter, or its bytes are others. Throws what a checkpoint of another kind throws.
  Status reopen(const std::string& path, const nlohmann::json& checkpoint, std::uint64_t head_bytes = 0);
  Status write(std::span<const std::byte> bytes);
  template <class Number>
  Status write_number(Number number) {
    return write(little_endian(number));
  }
  /// Bring what was written to the disk. \return What reopen() needs.
  Result<nlohmann::json> checkpoint();
  /// Close the file. \param head  In place of the one that it has; as long. \return The checksum of all its bytes.
  Result<std::uint32_t> close(std::string_view head = {});

 private:
  ByteSink sink_;
  std::uint64_t head_bytes_ = 0;
  std::uint32_t crc_ = 0;
};

}  // namespace headrace::token_files
