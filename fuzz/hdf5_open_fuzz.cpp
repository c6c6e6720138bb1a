// Opens arbitrary bytes as HDF5, walks over them, and locates and decodes whatever is small. libhdf5 is not
// instrumented: the sanitizers see our own code, and what libhdf5 does to the heap through memcpy and its like.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "format/hdf5/hdf5_reader.h"
#include "storage/testing/memory_file.h"

namespace {

constexpr std::uint64_t kSmallBytes = 1 << 22, kRows = 1000, kPieces = 64;

std::unique_ptr<std::byte[]> buffer(std::uint64_t bytes) {
  return std::make_unique<std::byte[]>(bytes);
}

void read_some(const headrace::ArrayReader& array) {
  const std::uint64_t rows = std::min(array.info().rows(), kRows);
  std::vector<headrace::Piece> pieces;
  if (rows == 0 || array.pieces_across() > kPieces || !array.locate({0, rows}, pieces).ok()) return;
  for (const headrace::Piece& piece : pieces) {
    const headrace::ScratchNeed need = array.scratch_need(piece.rows.count);
    if (std::max({need.out_bytes, need.filter_bytes, piece.stored.range.size}) > kSmallBytes) return;
    const auto out = buffer(need.out_bytes), ping = buffer(need.filter_bytes), pong = buffer(need.filter_bytes);
    const auto [file, range] = piece.stored;
    const auto stored = buffer(range.size);
    if (range.size > 0 && !file->read_at(range.offset, {stored.get(), range.size}).ok()) continue;
    (void)array.decode(piece, {stored.get(), range.size},
                       {{out.get(), need.out_bytes}, {ping.get(), need.filter_bytes}, {pong.get(), need.filter_bytes}});
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  auto memory = std::make_shared<headrace::MemoryFile>("fuzz.h5", std::vector<std::byte>(bytes, bytes + size));
  auto file = headrace::hdf5::open_hdf5(std::move(memory), "fuzz.h5");
  if (!file.ok()) return 0;
  for (const headrace::ArrayInfo& info : (*file)->arrays()) {
    const auto array = (*file)->open_array(info.path);
    if (array.ok()) read_some(**array);
  }
  return 0;
}
