// snappy: one raw Snappy block, as Parquet's SNAPPY pages hold it: a varint with the decoded size, then literals and
// copies. It has no checksum. Source: Snappy's format_description.txt.
#include <fmt/format.h>
#include <snappy-c.h>

#include "codec/codec.h"
#include "codec/coded_bytes.h"

namespace headrace {
namespace {

class Snappy final : public Codec {
 public:
  [[nodiscard]] std::string_view name() const override { return "snappy"; }
  [[nodiscard]] std::uint64_t max_encoded_size(std::uint64_t decoded) const override {
    return snappy_max_compressed_length(decoded);
  }

  // libsnappy decodes exactly as many bytes as the block declares and refuses bytes behind its end, so the declared
  // size is compared with the room before anything is written.
  Result<std::size_t> decode(std::span<const std::byte> in, std::span<std::byte> out) const override {
    std::size_t declared = 0;
    if (snappy_uncompressed_length(as_char(in.data()), in.size(), &declared) != SNAPPY_OK)
      return corrupt(
          fmt::format("no decoded size in front of the {} stored bytes, {} bytes expected", in.size(), out.size()));
    if (declared > out.size())
      return corrupt(fmt::format("the block declares {} bytes where {} are expected", declared, out.size()));
    std::byte none;  // an empty output may be a null pointer
    std::size_t written = out.size();
    if (snappy_uncompress(as_char(in.data()), in.size(), as_char(out.empty() ? &none : out.data()), &written) !=
        SNAPPY_OK)
      return corrupt(fmt::format("damaged block: its {} stored bytes do not decode to the {} that it declares",
                                 in.size(), declared));
    return written;
  }
};

}  // namespace

Result<std::unique_ptr<Codec>> make_snappy(const FilterSpec& /*spec*/, const ChunkForm& /*form*/) {
  return std::unique_ptr<Codec>(std::make_unique<Snappy>());
}

}  // namespace headrace
