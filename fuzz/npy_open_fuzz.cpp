// Opens arbitrary bytes as .npy and as .npz, and locates and decodes whatever is small.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "format/npy/npy_reader.h"
#include "storage/testing/memory_file.h"

namespace {

constexpr std::uint64_t kSmallBytes = 1 << 22, kRows = 1000;

void read_some(const headrace::ArrayReader& array) {
  const std::uint64_t rows = std::min(array.info().rows(), kRows);
  std::vector<headrace::Piece> pieces;
  if (rows == 0 || !array.locate({0, rows}, pieces).ok()) return;
  for (const headrace::Piece& piece : pieces) {
    const headrace::ScratchNeed need = array.scratch_need(piece.rows.count);
    if (std::max(need.out_bytes, piece.stored.range.size) > kSmallBytes) return;
    const auto out = std::make_unique<std::byte[]>(need.out_bytes);
    const auto stored = std::make_unique<std::byte[]>(piece.stored.range.size);
    if (!piece.stored.file->read_at(piece.stored.range.offset, {stored.get(), piece.stored.range.size}).ok()) continue;
    (void)array.decode(piece, {stored.get(), piece.stored.range.size}, {{out.get(), need.out_bytes}, {}, {}});
  }
}

void read_some(const headrace::Result<std::shared_ptr<headrace::FormatReader>>& file) {
  if (!file.ok()) return;
  for (const headrace::ArrayInfo& info : (*file)->arrays()) {
    const auto array = (*file)->open_array(info.path);
    if (array.ok()) read_some(**array);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const auto file = std::make_shared<headrace::MemoryFile>("fuzz", std::vector<std::byte>(bytes, bytes + size));
  read_some(headrace::npy::open_npy(file, "fuzz.npy"));
  read_some(headrace::npy::open_npz(file, "fuzz.npz"));
  return 0;
}
