// Reads tests/golden/codec.golden: chunks as HDF5 and the reference filters store them (make_codec_golden.py).
#pragma once

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "codec/codec_chain.h"
#include "codec/codec_testing.h"

namespace headrace {

struct GoldenChunk {
  std::string name;
  Bytes plain;
  std::uint64_t element_bytes = 1;
  std::uint32_t skip_mask = 0;
  std::vector<FilterSpec> filters;
  Bytes stored;
};

/// True if this build was made without a library (HEADRACE_WITHOUT lists them: "blosc,bzip2").
inline bool built_without(std::string_view library) {
  return std::string_view("," HEADRACE_WITHOUT ",").find("," + std::string(library) + ",") != std::string_view::npos;
}

inline Bytes bytes_of_hex(std::string_view hex) {
  Bytes bytes;
  for (; hex.size() >= 2; hex.remove_prefix(2))
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(0, 2)), nullptr, 16)));
  return bytes;
}

/// The formulas of make_codec_golden.py, or the bytes themselves after "hex:".
inline Bytes golden_pattern(const std::string& pattern, std::uint32_t size) {
  if (pattern.starts_with("hex:")) return bytes_of_hex(std::string_view(pattern).substr(4));
  Bytes bytes(size);
  for (std::uint32_t i = 0; i < size; ++i) {
    const std::uint32_t smooth = (i * i >> 13) ^ (i >> 4);
    std::uint32_t value = 0;
    if (pattern == "smooth") value = smooth;
    if (pattern == "padded") value = i % 512 < 100 ? smooth : 0;
    if (pattern == "noise") {
      value = i * 2654435761u;
      value = (value ^ value >> 15) * 2246822519u;
      value = (value ^ value >> 13) >> 24;
    }
    bytes[i] = static_cast<std::byte>(value);
  }
  return bytes;
}

/// The codec that HDF5 knows by a number.
inline std::string codec_of_number(std::uint32_t number) {
  static const std::map<std::uint32_t, std::string> names{
      {1, "deflate"}, {2, "shuffle"}, {3, "fletcher32"}, {4, "szip"},    {5, "nbit"},           {6, "scaleoffset"},
      {307, "bzip2"}, {32000, "lzf"}, {32001, "blosc"},  {32004, "lz4"}, {32008, "bitshuffle"}, {32015, "zstd"}};
  return names.at(number);
}

/// Every chunk that this build has the libraries for.
inline std::vector<GoldenChunk> golden_chunks() {
  std::vector<GoldenChunk> chunks;
  std::ifstream file(HEADRACE_SOURCE_DIR "/tests/golden/codec.golden");
  EXPECT_TRUE(file.is_open());
  for (std::string line; std::getline(file, line);) {
    GoldenChunk chunk;
    std::istringstream words(line);
    std::string bar, pattern, hex, word;
    std::uint32_t size = 0;
    words >> chunk.name >> bar >> pattern >> bar >> size >> bar >> chunk.element_bytes >> bar >> chunk.skip_mask >> bar;
    for (words >> word; word != "|"; words >> word) {
      FilterSpec spec;
      char separator = 0;
      std::istringstream numbers(word);
      std::uint32_t number = 0;
      numbers >> number >> separator;
      spec.name = codec_of_number(number);
      for (std::uint32_t value = 0; numbers >> value; numbers >> separator) spec.parameters.push_back(value);
      chunk.filters.push_back(spec);
    }
    words >> hex;
    chunk.stored = bytes_of_hex(hex);
    chunk.plain = golden_pattern(pattern, size);
    const auto missing = [](const FilterSpec& spec) { return built_without(spec.name); };
    if (std::none_of(chunk.filters.begin(), chunk.filters.end(), missing)) chunks.push_back(std::move(chunk));
  }
  return chunks;
}

/// Decode through a chain with scratch of exactly the size it asks for.
inline Status decode_chain(const CodecChain& chain, std::span<const std::byte> stored, std::uint32_t skip_mask,
                           std::span<std::byte> out) {
  ExactBuffer in(stored), ping(chain.scratch_bytes()), pong(chain.codecs().size() > 2 ? chain.scratch_bytes() : 0);
  return chain.decode(in.span(), skip_mask, out, {ping.span(), pong.span()});
}

}  // namespace headrace
