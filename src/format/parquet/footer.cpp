#include "format/parquet/footer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "codec/coded_bytes.h"

namespace headrace::parquet {
namespace {

constexpr std::string_view kMagic = "PAR1", kEncryptedMagic = "PARE";
constexpr std::uint64_t kTailBytes = 8;          // length of the metadata, and the magic
constexpr std::uint64_t kGuessBytes = 64 << 10;  // most footers are shorter, and are had by one read
constexpr std::uint64_t kSmallestFileBytes = 12;

bool begins_with(std::span<const std::byte> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

}  // namespace

bool is_parquet(std::span<const std::byte> head) {
  return begins_with(head, kMagic) || begins_with(head, kEncryptedMagic);
}

FooterDecoder::FooterDecoder(std::uint64_t file_bytes) : file_bytes_(file_bytes) {
  const std::uint64_t size = std::min(file_bytes, kGuessBytes);
  needs_ = ByteRange{file_bytes - size, size};
}

Status FooterDecoder::push(std::span<const std::byte> bytes) {
  if (!needs_ || bytes.size() != needs_->size) return Error(ErrorCode::kInternal, "other bytes than were asked for");
  if (bytes.size() < kSmallestFileBytes)
    return corrupt(fmt::format("a Parquet file of {} bytes, where an empty one has more", file_bytes_));
  const std::span<const std::byte> tail = bytes.last(kTailBytes);
  if (begins_with(tail.subspan(4), kEncryptedMagic))
    return Error(ErrorCode::kUnsupported, "an encrypted Parquet file: its footer needs a key")
        .with_hint("Write it again without encryption.");
  if (!begins_with(tail.subspan(4), kMagic))
    return corrupt("the file begins as Parquet does, but does not end in PAR1: it is cut short")
        .with_hint("Its copy or its writer did not finish?");
  const std::uint64_t length = load_le32(tail.data());
  if (length + kSmallestFileBytes > file_bytes_)
    return corrupt(fmt::format("its metadata should have {} bytes, but the whole file has {}", length, file_bytes_));
  if (length + kTailBytes > bytes.size()) {
    needs_ = ByteRange{file_bytes_ - length - kTailBytes, length + kTailBytes};
    return {};
  }
  const ByteRange place{file_bytes_ - length - kTailBytes, length};
  auto parsed = parse_file_metadata(bytes.last(length + kTailBytes).first(length));
  if (!parsed.ok()) return std::move(parsed.error().with_bytes(place));
  metadata_ = std::move(*parsed);
  needs_.reset();
  return {};
}

}  // namespace headrace::parquet
