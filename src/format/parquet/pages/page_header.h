// The header of a page, and what it says of the bytes behind it. No I/O here.
//
// Source: parquet.thrift of apache/parquet-format (PageHeader and its three kinds).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"

namespace headrace::parquet {

enum class PageKind : std::uint8_t { kData = 0, kIndex = 1, kDictionary = 2, kDataV2 = 3, kOther = 4 };

enum class Encoding : std::uint8_t {
  kPlain = 0,
  kPlainDictionary = 2,
  kRle = 3,
  kBitPacked = 4,
  kDeltaBinaryPacked = 5,
  kDeltaLengthByteArray = 6,
  kDeltaByteArray = 7,
  kRleDictionary = 8,
  kByteStreamSplit = 9
};

struct PageHeader {
  PageKind kind = PageKind::kOther;
  std::uint64_t header_bytes = 0;                     ///< Bytes of this header itself.
  std::uint64_t decoded_bytes = 0, stored_bytes = 0;  ///< What follows, levels included.
  std::optional<std::uint32_t> crc32;                 ///< Checksum of the stored bytes.
  std::uint64_t num_values = 0;                       ///< Nulls included.
  Encoding encoding = Encoding::kPlain;
  Encoding definition_encoding = Encoding::kRle, repetition_encoding = Encoding::kRle;  ///< kData.
  std::uint64_t num_nulls = 0, num_rows = 0;                                            ///< kDataV2.
  std::uint64_t definition_bytes = 0, repetition_bytes = 0;  ///< kDataV2: of the levels, which are not compressed.
  bool is_compressed = true;                                 ///< kDataV2.

  [[nodiscard]] bool is_data() const { return kind == PageKind::kData || kind == PageKind::kDataV2; }
  [[nodiscard]] std::uint64_t page_bytes() const { return header_bytes + stored_bytes; }
};

/// Read the header that `bytes` begin with. \return Nothing if they end before it does.
/// Errors: kCorruptData.
Result<std::optional<PageHeader>> parse_page_header(std::span<const std::byte> bytes);

}  // namespace headrace::parquet
