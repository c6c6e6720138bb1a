// Reads arbitrary bytes as the metadata of a Zarr array and, if it is one, as the index of a shard and as chunks. The
// input: u8 version (even: 2, odd: 3), u16 bytes of the document, the document, then what is decoded.
#include <memory>

#include "format/zarr/shard_index.h"
#include "format/zarr/zarr_array.h"
#include "storage/testing/memory_file.h"

namespace {

using namespace headrace;
using namespace headrace::zarr;

constexpr std::uint64_t kMostBytes = 1 << 20;  // of a chunk that is decoded here

void decode(const ArrayMetadata& metadata, std::span<const std::byte> stored) {
  std::uint64_t bytes = metadata.type.record_bytes;
  for (const std::uint64_t n : metadata.chunk_shape) bytes *= n;
  auto chain = CodecChain::make(metadata.filters, {bytes, std::max<std::uint64_t>(metadata.type.record_bytes, 1)});
  if (!chain.ok() || bytes > kMostBytes || metadata.shape.empty()) return;
  ArrayInfo info = describe("fuzz", metadata, *chain);
  const ZarrArray array({"fuzz.zarr", "fuzz.zarr/fuzz", nullptr}, metadata, std::move(info), std::move(*chain));
  if (array.info().rows() == 0) return;
  const ScratchNeed need = array.scratch_need(1);
  if (need.filter_bytes > 4 * kMostBytes) return;
  const auto file = std::make_shared<MemoryFile>("fuzz", std::vector<std::byte>(stored.begin(), stored.end()));
  std::vector<std::byte> out(need.out_bytes), ping(need.filter_bytes), pong(need.filter_bytes);
  for (const std::size_t size : {stored.size(), std::size_t{0}}) {
    Piece piece;
    piece.rows = {0, 1};
    piece.stored = {file.get(), {0, size}};
    piece.decoded_bytes = bytes;
    (void)array.decode(piece, stored.first(size), {out, ping, pong});
    (void)array.piece_name(piece);
    (void)array.geometry(0, 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  const std::size_t length = std::min<std::size_t>(data[1] | data[2] << 8, size - 3);
  const auto json = parse_json(bytes.subspan(3, length));
  if (!json.ok()) return 0;
  const auto metadata = data[0] % 2 == 0 ? parse_v2_array(*json) : parse_v3_array(*json);
  if (!metadata.ok()) return 0;
  const std::span<const std::byte> stored = bytes.subspan(3 + length);
  if (metadata->shards) {
    const std::uint64_t chunks = metadata->chunks_in_file();
    const auto shard =
        open_shard(std::make_shared<MemoryFile>("fuzz", std::vector<std::byte>(stored.begin(), stored.end())),
                   *metadata->shards, chunks);
    if (shard.ok())
      for (std::uint64_t i = 0; i < std::min<std::uint64_t>(chunks, 64); ++i)
        if (const ByteRange at = (*shard)->index.at(i); at.size > 0)
          decode(*metadata, stored.subspan(at.offset, at.size));
  } else {
    decode(*metadata, stored);
  }
  return 0;
}
