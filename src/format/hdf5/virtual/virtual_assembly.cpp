#include "format/hdf5/virtual/virtual_assembly.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "format/hdf5/types/native_bytes.h"

namespace headrace::hdf5 {
namespace {

/// Steps of one index along each axis but the first, innermost 1.
std::vector<std::uint64_t> steps_of(std::span<const std::uint64_t> shape) {
  std::vector<std::uint64_t> steps(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) steps[d - 1] = steps[d] * shape[d];
  return steps;
}

}  // namespace

Status VirtualAssembly::read(const PreparedMapping& m) {
  const PreparedSource& source = array_.sources[m.source];
  for (auto part = first_part_after(m.into.parts, rows_.first); part != m.into.parts.end(); ++part) {
    const SelectionPart& into = *part;
    const std::uint64_t first = into.axes[0].position_of(rows_.first), end = into.axes[0].position_of(rows_.end());
    if (into.axes[0].index(0) >= rows_.end()) break;
    if (first >= end) continue;  // it passes over these rows
    const std::uint64_t row = into.size / into.axes[0].size();
    const Ranks ranks{into.first_rank + first * row, into.first_rank + end * row};
    auto from = std::ranges::upper_bound(m.from.parts, ranks.begin, {}, &SelectionPart::first_rank);
    for (--from; from != m.from.parts.end() && from->first_rank < ranks.end; ++from)
      HEADRACE_TRY(read_part({m, source, into, *from}, ranks));
  }
  return {};
}

Status VirtualAssembly::read_part(const MappedPart& p, Ranks ranks) {
  const AxisSelection& rows = p.from.axes[0];
  const std::uint64_t row = p.from.size / rows.size();
  const Ranks local{std::max(ranks.begin, p.from.first_rank) - p.from.first_rank,
                    std::min(ranks.end, p.from.first_rank + p.from.size) - p.from.first_rank};
  const std::uint64_t end = (local.end + row - 1) / row;
  for (std::uint64_t at = local.begin / row; at < end;) {
    const std::uint64_t first_row = rows.index(at);
    const std::uint64_t next = std::min(end, rows.position_of(end_of_batch(p.source, rows, at)));
    pieces_.clear();
    HEADRACE_TRY(p.source.array->locate({first_row, rows.index(next - 1) + 1 - first_row}, pieces_));
    for (const Piece& piece : pieces_) HEADRACE_TRY(read_piece(p, piece, {at, next}, local));
    at = next;
  }
  return {};
}

std::uint64_t VirtualAssembly::end_of_batch(const PreparedSource& source, const AxisSelection& rows,
                                            std::uint64_t position) {
  const std::uint64_t row = rows.index(position);
  if (source.chunk_rows > 0) return (row / source.chunk_rows + 1) * source.chunk_rows;
  const std::uint64_t run = rows.run_from(position);
  if (position + run < rows.size()) {
    const std::uint64_t gap_rows = rows.index(position + run) - row - run;
    if (gap_rows > kVirtualGapBytes / std::max<std::uint64_t>(source.array->described().row_bytes, 1))
      return row + std::min(run, source.batch_rows);
  }
  return row + source.batch_rows;
}

Status VirtualAssembly::read_piece(const MappedPart& p, const Piece& piece, Ranks at, Ranks local) {
  const AxisSelection& rows = p.from.axes[0];
  at.begin = std::max(at.begin, rows.position_of(piece.rows.first));
  at.end = std::min(at.end, rows.position_of(piece.rows.end()));
  if (at.begin >= at.end) return {};
  if (p.m.by_rows && p.source.conversion == nullptr && rows.index(at.begin) == piece.rows.first &&
      rows.run_from(at.begin) >= piece.rows.count && at.end - at.begin == piece.rows.count &&
      piece.decoded_bytes == piece.rows.count * p.m.unit_bytes) {
    const std::uint64_t rank = p.from.first_rank + at.begin;
    if (rank >= p.into.first_rank && rank - p.into.first_rank < p.into.size &&
        p.into.axes[0].run_from(rank - p.into.first_rank) >= piece.rows.count && at.begin >= local.begin &&
        at.end <= local.end)
      return decode_straight(p, piece, p.into.axes[0].index(rank - p.into.first_rank));
  }
  // Which positions along the other axes lie in the piece.
  std::vector<Ranks> positions{at};
  ArrayBase::RowBox box;
  if (p.m.joined) {
    box.src_shape.assign(p.m.from.extent.begin() + 1, p.m.from.extent.end());
    box.dst_start.assign(box.src_shape.size(), 0);
    box.count = box.src_shape;
  } else {
    box = p.source.array->row_box_of(piece.across);
  }
  for (std::size_t d = 1; d < p.from.axes.size(); ++d) {
    const std::uint64_t start = box.dst_start[d - 1];
    positions.push_back({p.from.axes[d].position_of(start), p.from.axes[d].position_of(start + box.count[d - 1])});
    if (positions.back().begin >= positions.back().end) return {};
  }
  HEADRACE_ASSIGN(const DecodedPiece decoded, decode(p.source, piece));
  copy(p, piece, decoded, box, positions, local);
  return {};
}

Status VirtualAssembly::decode_straight(const MappedPart& p, const Piece& piece, std::uint64_t row) {
  const std::uint64_t bytes = p.m.unit_bytes;
  const std::span<std::byte> to =
      target_.subspan((row - rows_.first) * bytes, static_cast<std::size_t>(piece.rows.count * bytes));
  const bool read_there = p.source.chunk_rows == 0 && piece.stored.range.size == to.size();
  const bool decode_there = p.source.chunk_rows > 0;
  HEADRACE_ASSIGN(const DecodedPiece decoded, read_and_decode(p.source, piece, read_there ? to : std::span<std::byte>(),
                                                              decode_there ? to : std::span<std::byte>()));
  if (decoded.data == to.data()) return {};
  for (std::uint64_t r = 0; r < piece.rows.count; ++r)
    std::memcpy(to.data() + r * bytes, decoded.data + r * decoded.row_stride_bytes, bytes);
  return {};
}

Result<DecodedPiece> VirtualAssembly::decode(const PreparedSource& source, const Piece& piece) {
  if (held_.source == &source && held_.piece.id == piece.id && held_.piece.rows == piece.rows) return held_.decoded;
  HEADRACE_ASSIGN(DecodedPiece decoded, read_and_decode(source, piece, {}, {}));
  if (source.conversion != nullptr) {
    HEADRACE_ASSIGN(decoded, convert(source, piece, decoded));
  }
  held_ = {&source, piece, decoded};
  return decoded;
}

Result<DecodedPiece> VirtualAssembly::convert(const PreparedSource& source, const Piece& piece,
                                              const DecodedPiece& decoded) {
  const std::uint64_t from = source.array->described().element.record_bytes, to = array_.record_bytes;
  const std::uint64_t bytes = piece.rows.count * decoded.row_stride_bytes, converted_bytes = bytes / from * to;
  if (converted_bytes > source.converted_bytes)
    return Error(ErrorCode::kInternal,
                 fmt::format("{} converted bytes for a buffer of {}", converted_bytes, source.converted_bytes));
  const auto buffer = pong_.subspan(array_.filter_bytes + source.out_bytes, converted_bytes);
  // The filters are done with their scratch.
  Status status = source.conversion->convert({decoded.data, bytes}, buffer,
                                             {ping_.first(array_.filter_bytes), pong_.first(array_.filter_bytes)});
  if (!status.ok())
    return std::move(status.error().with_file(source.array->file().name()).with_field(source.array->info().path));
  return DecodedPiece{buffer.data(), decoded.row_stride_bytes / from * to};
}

Result<DecodedPiece> VirtualAssembly::read_and_decode(const PreparedSource& source, const Piece& piece,
                                                      std::span<std::byte> stored_to, std::span<std::byte> out_to) {
  held_.source = nullptr;
  const auto bytes = static_cast<std::size_t>(piece.stored.range.size);
  const RandomAccessFile& file = source.array->file();
  const auto of_source = [&](Error error) {
    return std::move(
        error.with_file(file.name()).with_field(source.array->info().path).with_chunk(source.array->piece_name(piece)));
  };
  std::span<std::byte> stored = stored_to;
  if (stored.empty()) {
    stored = ping_.subspan(array_.filter_bytes, source.stored_bytes);
    if (bytes > stored.size()) {
      if (bytes > spare_.size_bytes()) {
        spare_.reset();
        HEADRACE_ASSIGN(spare_, PageBuffer::allocate(bytes));
      }
      stored = spare_.bytes();
    }
  }
  stored = stored.first(bytes);
  Status read = read_ranges({&piece.stored, 1}, stored);
  if (!read.ok()) return of_source(std::move(read.error()));
  const std::size_t filter = array_.filter_bytes;
  const DecodeScratch scratch{out_to.empty() ? pong_.subspan(filter, source.out_bytes) : out_to, ping_.first(filter),
                              pong_.first(filter)};
  auto decoded = source.array->decode(piece, stored, scratch);
  if (bytes == 0)  // no read has asked yet whether the file is what it was
    if (Status same = file.check_unchanged(); !same.ok()) return of_source(std::move(same.error().with_stage("read")));
  return decoded;
}

void VirtualAssembly::copy(const MappedPart& p, const Piece& piece, const DecodedPiece& decoded,
                           const ArrayBase::RowBox& box, const std::vector<Ranks>& positions, Ranks local) {
  const std::size_t last = positions.size() - 1;
  const std::vector<std::uint64_t> steps = steps_of(box.src_shape);
  std::vector<std::uint64_t> at;
  for (const Ranks& r : positions) at.push_back(r.begin);
  const auto next = [&] {  // the next run along the innermost axis
    for (std::size_t d = last; d-- > 0;) {
      if (++at[d] < positions[d].end) return true;
      at[d] = positions[d].begin;
    }
    return false;
  };
  do {
    std::uint64_t rank = 0;
    for (std::size_t d = 0; d <= last; ++d) rank = rank * p.from.axes[d].size() + at[d];
    std::uint64_t begin = positions[last].begin, end = positions[last].end;
    const std::uint64_t base = rank - begin;
    if (base + end <= local.begin || base + begin >= local.end) continue;
    begin = std::max(begin, local.begin > base ? local.begin - base : 0);
    end = std::min(end, local.end - base);
    const std::byte* row = decoded.data;
    if (last > 0) row += (p.from.axes[0].index(at[0]) - piece.rows.first) * decoded.row_stride_bytes;
    for (std::size_t d = 1; d < last; ++d)
      row += (p.from.axes[d].index(at[d]) - box.dst_start[d - 1]) * steps[d - 1] * p.m.unit_bytes;
    const std::uint64_t start = last > 0 ? box.dst_start[last - 1] : piece.rows.first;
    const std::uint64_t step = last > 0 ? p.m.unit_bytes : decoded.row_stride_bytes;
    copy_run(p, row, start, step, begin, end, base);
  } while (next());
}

void VirtualAssembly::copy_run(const MappedPart& p, const std::byte* row, std::uint64_t start, std::uint64_t step_bytes,
                               std::uint64_t begin, std::uint64_t end, std::uint64_t base) {
  const AxisSelection& axis = p.from.axes.back();
  const std::uint64_t unit = p.m.unit_bytes;
  while (begin < end) {
    std::uint64_t n = step_bytes == unit ? std::min(end - begin, axis.run_from(begin)) : 1;
    const std::byte* from = row + (axis.index(begin) - start) * step_bytes;
    const auto [offset, run] = place(p, p.from.first_rank + base + begin - p.into.first_rank);
    n = std::min(n, run);
    std::memcpy(target_.data() + offset * unit, from, n * unit);
    begin += n;
  }
}

VirtualAssembly::TargetRun VirtualAssembly::place(const MappedPart& p, std::uint64_t rank) const {
  const std::vector<AxisSelection>& axes = p.into.axes;
  std::uint64_t offset = 0, step = 1, run = 0;
  for (std::size_t d = axes.size(); d-- > 0;) {
    const std::uint64_t position = d == 0 ? rank : rank % axes[d].size();
    if (d + 1 == axes.size()) run = axes[d].run_from(position);
    const std::uint64_t index = axes[d].index(position);
    offset += d == 0 ? (index - rows_.first) * p.m.row_units : index * step;
    rank /= axes[d].size();
    step *= p.m.into.extent[d];
  }
  return {offset, run};
}

}  // namespace headrace::hdf5
