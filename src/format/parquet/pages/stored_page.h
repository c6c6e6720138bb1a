// A page as it is stored: its header, its checksum, and the decompression of what follows.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "codec/codec.h"
#include "format/parquet/pages/page_header.h"

namespace headrace::parquet {

/// The header of a page that was read whole, and the bytes behind it.
struct StoredPage {
  PageHeader header;
  std::span<const std::byte> stored;
};

/// Read the header of a page and compare the checksum, if it has one. \param bytes  All of the page.
/// Errors: kCorruptData.
Result<StoredPage> open_page(std::span<const std::byte> bytes);

/// Refuse a page that is not compressed and says that it becomes larger, before there is memory for it.
/// \param compressed  Whether its column chunk has a codec. Errors: kCorruptData.
Status check_decoded_size(bool compressed, const PageHeader& header);

/// Decompress a page into `out`, of its decoded size. \param codec  Null: its column chunk has none.
/// \return The decompressed bytes: those stored if they are not compressed. Errors: kCorruptData.
Result<std::span<const std::byte>> decompress(const Codec* codec, const StoredPage& page, std::span<std::byte> out);

}  // namespace headrace::parquet
