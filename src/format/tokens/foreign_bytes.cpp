#include "format/tokens/foreign_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <cstring>

#include "format/tokens/megatron_index.h"

namespace headrace::token_files {
namespace {

template <class Number>
Number number_from(std::span<const std::byte> bytes, std::size_t at) {
  Number number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

/// llm.c, and modded-nanogpt after it: a magic number, a version and a count, in a header of 256 int32.
bool is_llm_c(std::span<const std::byte> start) {
  constexpr std::uint32_t kGpt2 = 20240520, kLlama3 = 20240801, kMostVersion = 255;
  if (start.size() < 12) return false;
  const auto magic = number_from<std::uint32_t>(start, 0), version = number_from<std::uint32_t>(start, 4);
  return (magic == kGpt2 || magic == kLlama3) && version >= 1 && version <= kMostVersion;
}

/// The length of a JSON object, and the object.
bool is_safetensors(std::span<const std::byte> start) {
  constexpr std::uint64_t kMostHeader = 100'000'000;
  if (start.size() < 10 || start[8] != std::byte{'{'} || start[9] != std::byte{'"'}) return false;
  return number_from<std::uint64_t>(start, 0) <= kMostHeader;
}

/// Return how many bytes the UTF-8 sequence at the start has; 0: it is none. One that is cut off has what is there.
std::size_t utf8_length(std::span<const std::byte> bytes) {
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[i]); };
  const unsigned first = at(0);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xC2 && first < 0xE0 ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  const std::size_t here = std::min(length, bytes.size());
  for (std::size_t i = 1; i < here; ++i)
    if ((at(i) & 0xC0) != 0x80) return 0;
  return here;
}

bool is_utf8(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    if (length == 0) return false;
    bytes = bytes.subspan(length);
  }
  return true;
}

/// The largest of every second number, and how many of them are not 0.
struct Half {
  std::uint64_t largest = 0;
  std::size_t not_0 = 0;

  void add(std::uint64_t id) {
    largest = std::max(largest, id);
    not_0 += id != 0;
  }
  /// True if this is the upper half of numbers of twice the width, and the other one the lower.
  [[nodiscard]] bool is_upper_of(const Half& lower) const {
    constexpr std::size_t kEnough = 64;
    constexpr std::uint64_t kSmall = 16, kLarge = 256;
    return lower.not_0 >= kEnough && (largest == 0 || (largest < kSmall && lower.largest >= kLarge));
  }
};

template <class Number>
std::string doubt_of(const DType& type, std::span<const std::byte> start) {
  constexpr std::uint64_t kMostWords = 1 << 24;  // no vocabulary is as large
  Half halves[2];
  for (std::size_t i = 0; i < start.size() / sizeof(Number); ++i) {
    const auto id = number_from<Number>(start, i * sizeof(Number));
    if (sizeof(Number) == 4 && id >= kMostWords)
      return fmt::format("token {} is {}: are these 2-byte tokens, read as {}?", i, id, type.name());
    halves[i % 2].add(id);
  }
  for (const bool odd : {true, false})
    if (halves[odd ? 1 : 0].is_upper_of(halves[odd ? 0 : 1]))
      return fmt::format("every second id is at most {}: are these {}-byte tokens, read as {}?",
                         halves[odd ? 1 : 0].largest, 2 * sizeof(Number), type.name());
  return {};
}

}  // namespace

std::string_view foreign_name(std::span<const std::byte> start) {
  using namespace std::string_view_literals;
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  if (text.starts_with("\x89HDF\r\n\x1a\n"sv)) return "an HDF5 file";
  if (text.starts_with("PAR1"sv)) return "a Parquet file";
  if (text.starts_with("ARROW1"sv)) return "an Arrow file";
  if (text.starts_with("PK\x03\x04"sv)) return "a zip archive";
  if (text.starts_with("\x1f\x8b\x08"sv)) return "a gzip file";
  if (text.starts_with("\x28\xb5\x2f\xfd"sv)) return "a Zstandard file";
  if (text.starts_with("LITPKDS"sv)) return "a packed data set of lit-gpt, whose header and fill are no tokens";
  if (is_llm_c(start)) return "a file of llm.c, whose first 256 int32 are a header and no tokens";
  if (is_safetensors(start)) return "a safetensors file";
  if (is_megatron_index(start)) return "an index of Megatron's, not the tokens";
  return {};
}

bool is_text(std::span<const std::byte> start) {
  constexpr std::size_t kLeast = 16, kMany = 4096, kFewKinds = 4;  // tokens of chance, and one token again and again
  if (start.size() < kLeast) return false;
  std::size_t controls = 0, printable = 0;
  std::bitset<256> kinds;
  for (const std::byte byte : start) {
    const auto c = std::to_integer<unsigned>(byte);
    const bool is_space = c == '\t' || c == '\n' || c == '\r' || c == '\f';
    kinds.set(c);
    if (!is_space && (c < 0x20 || c == 0x7F))
      ++controls;
    else if (c < 0x80)
      ++printable;
  }
  if (kinds.count() <= kFewKinds || controls > start.size() / 1000) return false;
  return is_utf8(start) || (start.size() >= kMany && printable * 100 >= start.size() * 85);
}

std::string width_doubt(const DType& type, std::span<const std::byte> start) {
  constexpr std::size_t kEnough = 256;
  if (start.size() / std::max(type.itemsize, 1U) < kEnough) return {};
  if (type.itemsize == 4) return doubt_of<std::uint32_t>(type, start);
  if (type.itemsize == 2) return doubt_of<std::uint16_t>(type, start);
  return {};
}

}  // namespace headrace::token_files
