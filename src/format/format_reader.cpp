#include "format/format_reader.h"

namespace headrace {

Status ArrayReader::locate_cells(std::span<const std::uint64_t>, std::vector<Piece>&) const {
  return std::move(Error(ErrorCode::kUnsupported, "the array has no grid of chunks that can be read one by one")
                       .with_field(info().path)
                       .with_hint("Rows of it can be read; boxes need an array that is stored in chunks."));
}

}  // namespace headrace
