#include "format/parquet/pages/stored_page.h"

#include <fmt/format.h>

#include <optional>

#include "codec/coded_bytes.h"
#include "codec/compression/raw_deflate.h"

namespace headrace::parquet {
namespace {

/// True if the bytes of a page are stored as they are, by the codec of its chunk and by its own header.
bool is_stored_plain(bool compressed, const PageHeader& header) {
  return !compressed || (header.kind == PageKind::kDataV2 && !header.is_compressed);
}

}  // namespace

Result<StoredPage> open_page(std::span<const std::byte> bytes) {
  HEADRACE_ASSIGN(const std::optional<PageHeader> header, parse_page_header(bytes));
  if (!header || header->page_bytes() != bytes.size())
    return corrupt("a page has other bounds than when its column was indexed");
  const StoredPage page{*header, bytes.subspan(static_cast<std::size_t>(header->header_bytes))};
  if (!header->crc32) return page;
  if (const std::uint32_t crc = crc32_of(page.stored); crc != *header->crc32)
    return corrupt(fmt::format("the CRC-32 of the page is {:08x}, its header says {:08x}", crc, *header->crc32));
  return page;
}

Status check_decoded_size(bool compressed, const PageHeader& header) {
  if (!is_stored_plain(compressed, header) || header.stored_bytes == header.decoded_bytes) return {};
  return corrupt(fmt::format("a page of {} bytes that is not compressed, where {} are expected", header.stored_bytes,
                             header.decoded_bytes));
}

Result<std::span<const std::byte>> decompress(const Codec* codec, const StoredPage& page, std::span<std::byte> out) {
  const PageHeader& header = page.header;
  if (is_stored_plain(codec != nullptr, header)) return page.stored;
  // Levels stand before the values as they are, in pages of version 2.
  const auto levels = static_cast<std::size_t>(header.definition_bytes + header.repetition_bytes);
  copy_bytes(out.data(), page.stored.data(), levels);
  const std::span<std::byte> values = out.subspan(levels, static_cast<std::size_t>(header.decoded_bytes) - levels);
  if (values.empty()) return std::span<const std::byte>(out.first(levels));
  HEADRACE_ASSIGN(const std::size_t got, codec->decode(page.stored.subspan(levels), values));
  if (got != values.size())
    return corrupt(fmt::format("{} decompressed bytes, where {} are expected", got, values.size()));
  return std::span<const std::byte>(out.first(static_cast<std::size_t>(header.decoded_bytes)));
}

}  // namespace headrace::parquet
