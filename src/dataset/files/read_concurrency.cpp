#include "dataset/files/read_concurrency.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>

#include "assembly/servers/part_server.h"
#include "base/memory/memory_budget.h"

namespace headrace {
namespace {

constexpr std::uint64_t kRowRequestBytes = 32;  // bookkeeping for a row that is asked for
constexpr std::uint64_t kListedBytes = sizeof(Piece) + sizeof(PieceTask) + 2 * sizeof(FileRange);  // for a piece

/// Bytes that the pieces of a block of the file take while they are listed.
std::uint64_t listed_bytes(const SourceFile& file, std::uint64_t block_rows) {
  std::uint64_t pieces = 0;
  for (const auto& array : file.arrays) {
    if (array->info().chunk_shape.empty()) continue;
    const std::uint64_t chunk_rows = std::max<std::uint64_t>(array->info().chunk_rows(), 1);
    pieces += (std::min(block_rows, file.rows) + chunk_rows - 1) / chunk_rows * array->pieces_across();
  }
  return pieces * kListedBytes;
}

/// The field whose chunks, or whose row, take most.
const Field* largest_field(const SampleSource& source) {
  const Field* largest = nullptr;
  std::uint64_t most = 0;
  const Source* const rows = source.rows();
  for (std::size_t f = 0; f < source.fields()->size(); ++f) {
    std::uint64_t bytes = (*source.fields())[f].row_bytes();
    if (rows && !rows->program && f < rows->places.size() && !rows->files.empty()) {
      const ArrayReader& array = *rows->files[0].arrays[rows->places[f].array];
      bytes = std::max({bytes, array.scratch_need(1).out_bytes, array.pieces_across() * kListedBytes});
    }
    if (largest && bytes <= most) continue;
    largest = &(*source.fields())[f];
    most = bytes;
  }
  return largest;
}

}  // namespace

std::uint64_t reading_bytes(const SampleSource& of, const BlockLayout& layout) {
  if (const MappedSource* const mapped = of.mapped()) {
    const ServerNeed need = PartServer::need(*mapped);
    return need.scratch_bytes + need.read_buffer_bytes;
  }
  const Source& source = *of.rows();
  const PieceDecoder::Need need = PieceDecoder::need(source, layout);
  std::uint64_t listed = 0;
  for (std::size_t f = 0; f < source.files.size(); ++f)
    listed = std::max(listed, listed_bytes(source.files[f], layout.files[f].block_rows));
  return need.scratch_bytes + need.read_buffer_bytes + listed;
}

std::uint64_t reading_threads(const Dataset::Impl& data, std::uint64_t rows, std::uint64_t row_bytes) {
  const std::uint64_t limit = MemoryBudget::process()->limit_bytes();
  const bool rows_fit = rows <= limit / (row_bytes + kRowRequestBytes);
  const std::uint64_t left = rows_fit ? limit - rows * (row_bytes + kRowRequestBytes) : 0;
  if (rows == 0 || (rows_fit && data.reading_bytes <= left))
    return std::max<std::uint64_t>(1, left / std::max<std::uint64_t>(data.reading_bytes, 1));
  std::string text = fmt::format("{} row{} of {}", rows, rows == 1 ? "" : "s", format_bytes(row_bytes));
  if (rows_fit) text += fmt::format(", and {} to read them,", format_bytes(data.reading_bytes));
  Error error(ErrorCode::kOutOfBudget, fmt::format("{} do{} not fit the {} that this process may use", text,
                                                   rows == 1 && !rows_fit ? "es" : "", format_bytes(limit)));
  error.with_file(data.files[0].path);
  const bool fewer_fit = rows > 1 && row_bytes + kRowRequestBytes <= limit - std::min(limit, data.reading_bytes);
  if (fewer_fit) throw error.with_hint("Take fewer rows at once, or deliver them by a Loader.");
  if (const Field* const field = largest_field(data.source)) error.with_field(field->path);
  throw error.with_hint("Leave the largest fields out with fields=, or raise the limit with set_memory().");
}

}  // namespace headrace
