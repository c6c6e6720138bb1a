#include "format/hdf5/virtual_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/page_buffer.h"
#include "format/hdf5/native_bytes.h"

namespace headrace::hdf5 {
namespace {

constexpr std::uint64_t kBatchBytes = 1 << 20;  // rows of a source without chunks that are read at a time
constexpr std::uint64_t kGapBytes = 64 << 10;   // rows nearer than this are read together
constexpr std::size_t kRunsLimit = 1'000'000;   // looked at to see whether all rows are mapped

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

std::uint64_t product(std::span<const std::uint64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
}

/// True if all parts select axis `d` whole.
bool axis_is_whole(const Selection& s, std::size_t d) {
  return std::ranges::all_of(s.parts, [&](const SelectionPart& part) { return part.axes[d].covers(s.extent[d]); });
}

/// Make one axis of the last one, which is selected whole, and the one before it.
void join_last_axes(Selection& s) {
  const std::uint64_t inner = s.extent.back();
  s.extent.pop_back();
  s.extent.back() *= inner;
  for (SelectionPart& part : s.parts) {
    part.axes.pop_back();
    part.axes.back() = part.axes.back().refined(inner);
  }
}

/// Count in rows: all axes but the first are selected whole.
void keep_first_axis(Selection& s) {
  const std::uint64_t row = product(std::span(s.extent).subspan(1));
  s.extent.resize(1);
  s.size /= row;
  for (SelectionPart& part : s.parts) {
    part.first_rank /= row;
    part.size /= row;
    part.axes.erase(part.axes.begin() + 1, part.axes.end());
  }
}

/// Steps of one index along each axis but the first, innermost 1.
std::vector<std::uint64_t> steps_of(std::span<const std::uint64_t> shape) {
  std::vector<std::uint64_t> steps(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) steps[d - 1] = steps[d] * shape[d];
  return steps;
}

}  // namespace

struct VirtualArray::Source {
  const ArrayBase* array = nullptr;
  const SourceConversion* conversion = nullptr;
  std::uint64_t chunk_rows = 0;                                        // 0: rows can be had one by one
  std::uint64_t batch_rows = 1;                                        // then so many at a time
  std::uint64_t stored_bytes = 0, out_bytes = 0, converted_bytes = 0;  // scratch, each a multiple of 64
  bool whole_rows = false;  // a decoded piece holds whole rows, their elements one after the other
};

struct VirtualArray::Mapping {
  std::size_t source = 0;
  Selection into, from;
  std::uint64_t unit_bytes = 0;  // what one rank is: an element, or a whole row
  std::uint64_t row_units = 1;   // in a row of the virtual dataset
  bool by_rows = false;          // a rank is a whole row
  bool joined = false;           // axes of `from` were joined: pieces must be taken as rows of from.extent
  std::uint64_t first_row = 0, end_row = 0;
};

VirtualArray::Source VirtualArray::prepared(const VirtualSource& source) const {
  Source out;
  out.array = source.array.get();
  out.conversion = source.conversion.get();
  const DatasetInfo& d = out.array->described();
  const ArrayInfo& a = d.array;
  std::uint64_t piece_bytes = 0;
  if (a.chunk_shape.empty()) {
    out.batch_rows = std::clamp<std::uint64_t>(kBatchBytes / std::max<std::uint64_t>(d.row_bytes, 1), 1, a.rows());
    piece_bytes = out.batch_rows * d.row_bytes;
    out.stored_bytes = aligned(d.row_bytes == 0 ? 0 : out.batch_rows * d.stored_row_bytes());
  } else {
    out.chunk_rows = a.chunk_shape[0];
    piece_bytes = std::max(d.chunk_bytes, out.array->pieces_across() == 1 ? out.chunk_rows * d.row_bytes : 0);
    // What does not compress grows a little; the rare chunk that is still larger gets memory of its own.
    const std::uint64_t stored = std::max(piece_bytes, d.stored_form.chunk_bytes);
    out.stored_bytes = aligned(stored + stored / 4 + 1024);
  }
  out.out_bytes = aligned(out.array->scratch_need(out.batch_rows).out_bytes);
  if (out.conversion != nullptr && a.record_bytes > 0)
    out.converted_bytes =
        aligned(piece_bytes / d.element.record_bytes * std::max(d.element.record_bytes, info_.element.record_bytes));
  out.whole_rows = out.array->pieces_across() == 1 &&
                   out.array->piece_box(0).src_shape == std::vector(a.shape.begin() + 1, a.shape.end());
  return out;
}

VirtualArray::Mapping VirtualArray::prepared(const VirtualMapping& mapping) const {
  Mapping m{mapping.source, mapping.into, mapping.from, info_.element.record_bytes};
  const bool whole_pieces = sources_[m.source].whole_rows;
  std::tie(m.first_row, m.end_row) = m.into.rows();
  const auto rows_are_whole = [](const Selection& s) {
    bool whole = true;
    for (std::size_t d = 1; d < s.extent.size(); ++d) whole = whole && axis_is_whole(s, d);
    return whole;
  };
  const std::uint64_t row = product(std::span(m.into.extent).subspan(1));
  m.by_rows = whole_pieces && row == product(std::span(m.from.extent).subspan(1)) && rows_are_whole(m.into) &&
              rows_are_whole(m.from);
  if (m.by_rows) {
    keep_first_axis(m.into);
    keep_first_axis(m.from);
    m.unit_bytes = info_.row_bytes;
    return m;
  }
  m.row_units = row;
  while (m.into.extent.size() > 2 && axis_is_whole(m.into, m.into.extent.size() - 1)) join_last_axes(m.into);
  while (whole_pieces && m.from.extent.size() > 2 && axis_is_whole(m.from, m.from.extent.size() - 1)) {
    join_last_axes(m.from);
    m.joined = true;
  }
  return m;
}

VirtualArray::VirtualArray(std::shared_ptr<FileState> state, DatasetInfo info, std::vector<std::byte> fill_element)
    : RowsArray(std::move(state), std::move(info)), fill_element_(std::move(fill_element)) {
  const VirtualLayout& layout = *info_.virtual_layout;
  for (const VirtualSource& source : layout.sources) {
    sources_.push_back(prepared(source));
    const Source& s = sources_.back();
    source_bytes_ = std::max({source_bytes_, s.stored_bytes, s.out_bytes + s.converted_bytes});
    filter_bytes_ = std::max(filter_bytes_, aligned(s.array->scratch_need(s.batch_rows).filter_bytes));
  }
  for (const VirtualMapping& mapping : layout.mappings) mappings_.push_back(prepared(mapping));
  by_first_row_.resize(mappings_.size());
  std::iota(by_first_row_.begin(), by_first_row_.end(), 0U);
  std::ranges::stable_sort(by_first_row_, {}, [&](std::uint32_t i) { return mappings_[i].first_row; });
  std::uint64_t end = 0;
  for (const std::uint32_t i : by_first_row_) ends_.push_back(end = std::max(end, mappings_[i].end_row));
  needs_fill_ = !all_rows_mapped();
}

VirtualArray::~VirtualArray() = default;

/// True if whole rows are mapped, to all rows.
bool VirtualArray::all_rows_mapped() const {
  std::vector<AxisSelection::Run> runs;
  for (const Mapping& m : mappings_) {
    if (!m.by_rows) continue;
    for (const SelectionPart& part : m.into.parts)
      for (std::uint64_t at = 0; at < part.size; at += runs.back().count) {
        if (runs.size() >= kRunsLimit) return false;
        runs.push_back({part.axes[0].index(at), part.axes[0].run_from(at)});
      }
  }
  std::ranges::sort(runs, {}, &AxisSelection::Run::first);
  std::uint64_t end = 0;
  for (const AxisSelection::Run& r : runs) {
    if (r.first > end) return false;
    end = std::max(end, r.first + r.count);
  }
  return end == info().rows();
}

/// Return the first rows from `row` on that something is mapped to, as far as one mapping has them without a gap; none
/// at the end.
RowRange VirtualArray::next_mapped(std::uint64_t row) const {
  RowRange next{info().rows(), 0};
  for (const Mapping& m : mappings_) {
    if (m.end_row <= row || m.first_row >= next.first) continue;
    for (const SelectionPart& part : m.into.parts) {
      const AxisSelection& axis = part.axes[0];
      const std::uint64_t at = axis.position_of(row);
      if (at >= axis.size() || axis.index(at) >= next.first) continue;
      next = {axis.index(at), axis.run_from(at)};
    }
  }
  return next;
}

// Rows to which nothing is mapped may be any number: they are passed over, unless they are few.
Result<std::uint64_t> VirtualArray::locate_written(RowRange rows, std::vector<Piece>& out) const {
  HEADRACE_TRY(check_rows(rows));
  const std::uint64_t few = kGapBytes / std::max<std::uint64_t>(info_.row_bytes, 1);
  std::uint64_t gaps = 0;
  for (std::uint64_t row = rows.first; row < rows.end();) {
    RowRange mapped = next_mapped(row);
    const bool goes_on =
        row == rows.first && row > 0 && next_mapped(row - 1).first != row - 1;  // counted where it began
    if (mapped.first > row && !goes_on) ++gaps;
    if (mapped.first >= rows.end()) break;
    for (RowRange more = next_mapped(mapped.end()); more.count > 0 && more.first - mapped.end() <= few;
         more = next_mapped(mapped.end())) {
      mapped.count = more.end() - mapped.first;
      if (mapped.end() >= rows.end()) break;
    }
    const std::uint64_t end = std::min(mapped.end(), rows.end());
    HEADRACE_TRY(locate({mapped.first, end - mapped.first}, out));
    row = end;
  }
  return gaps;
}

ScratchNeed VirtualArray::scratch_need(std::uint64_t max_rows) const {
  return {std::min(max_rows, info().rows()) * info_.row_bytes, filter_bytes_ + source_bytes_};
}

std::vector<OutsideFile> VirtualArray::other_files() const {
  std::vector<OutsideFile> others;
  const auto add = [&](OutsideFile file) {
    if (std::ranges::find(others, file.path, &OutsideFile::path) == others.end()) others.push_back(std::move(file));
  };
  for (const Source& s : sources_) {
    const RandomAccessFile& file = s.array->file();
    if (&file != &this->file()) add({file.name(), file.fingerprint()});
    for (OutsideFile& other : s.array->other_files()) add(std::move(other));
  }
  return others;
}

/// One call of decode().
class VirtualArray::Assembly {
 public:
  /// Rows go to scratch.out. The sources' filters have the first part of ping and pong; stored bytes lie behind it in
  /// ping, decoded and converted ones in pong.
  Assembly(const VirtualArray& array, RowRange rows, const DecodeScratch& scratch)
      : array_(array), rows_(rows), target_(scratch.out), ping_(scratch.ping), pong_(scratch.pong) {}

  Status read(const Mapping& m) {
    const Source& source = array_.sources_[m.source];
    for (const SelectionPart& into : m.into.parts) {
      const std::uint64_t first = into.axes[0].position_of(rows_.first), end = into.axes[0].position_of(rows_.end());
      if (first >= end) continue;
      const std::uint64_t row = into.size / into.axes[0].size();
      const Ranks ranks{into.first_rank + first * row, into.first_rank + end * row};
      auto from = std::ranges::upper_bound(m.from.parts, ranks.begin, {}, &SelectionPart::first_rank);
      for (--from; from != m.from.parts.end() && from->first_rank < ranks.end; ++from)
        HEADRACE_TRY(read_part({m, source, into, *from}, ranks));
    }
    return {};
  }

 private:
  struct Ranks {
    std::uint64_t begin, end;
  };
  struct Part {
    const Mapping& m;
    const Source& source;
    const SelectionPart &into, &from;
  };
  struct Held {  // the piece that lies decoded in the scratch
    const Source* source = nullptr;
    Piece piece;
    DecodedPiece decoded;
  };

  /// Read the ranks of `p.from` that are among `ranks`, some of the source's rows at a time.
  Status read_part(const Part& p, Ranks ranks) {
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

  /// Return where the source's rows end that are read together with the one at `position`.
  static std::uint64_t end_of_batch(const Source& source, const AxisSelection& rows, std::uint64_t position) {
    const std::uint64_t row = rows.index(position);
    if (source.chunk_rows > 0) return (row / source.chunk_rows + 1) * source.chunk_rows;
    const std::uint64_t run = rows.run_from(position);
    if (position + run < rows.size()) {
      const std::uint64_t gap_rows = rows.index(position + run) - row - run;
      if (gap_rows > kGapBytes / std::max<std::uint64_t>(source.array->described().row_bytes, 1))
        return row + std::min(run, source.batch_rows);
    }
    return row + source.batch_rows;
  }

  /// \param at  Positions along the first axis. \param local  Ranks within p.from that are wanted.
  Status read_piece(const Part& p, const Piece& piece, Ranks at, Ranks local) {
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
      box = p.source.array->piece_box(piece.across);
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

  /// Decode a piece whose rows all go to neighbouring rows of the target, without a copy where that can be.
  Status decode_straight(const Part& p, const Piece& piece, std::uint64_t row) {
    const std::uint64_t bytes = p.m.unit_bytes;
    const std::span<std::byte> to =
        target_.subspan((row - rows_.first) * bytes, static_cast<std::size_t>(piece.rows.count * bytes));
    const bool read_there = p.source.chunk_rows == 0 && piece.stored.range.size == to.size();
    const bool decode_there = p.source.chunk_rows > 0;
    HEADRACE_ASSIGN(const DecodedPiece decoded,
                    read_and_decode(p.source, piece, read_there ? to : std::span<std::byte>(),
                                    decode_there ? to : std::span<std::byte>()));
    if (decoded.data == to.data()) return {};
    for (std::uint64_t r = 0; r < piece.rows.count; ++r)
      std::memcpy(to.data() + r * bytes, decoded.data + r * decoded.row_stride_bytes, bytes);
    return {};
  }

  Result<DecodedPiece> decode(const Source& source, const Piece& piece) {
    if (held_.source == &source && held_.piece.id == piece.id && held_.piece.rows == piece.rows) return held_.decoded;
    HEADRACE_ASSIGN(DecodedPiece decoded, read_and_decode(source, piece, {}, {}));
    if (source.conversion != nullptr) {
      HEADRACE_ASSIGN(decoded, convert(source, piece, decoded));
    }
    held_ = {&source, piece, decoded};
    return decoded;
  }

  Result<DecodedPiece> convert(const Source& source, const Piece& piece, const DecodedPiece& decoded) {
    const std::uint64_t from = source.array->described().element.record_bytes, to = array_.info_.element.record_bytes;
    const std::uint64_t bytes = piece.rows.count * decoded.row_stride_bytes, elements = bytes / from;
    const auto buffer = pong_.subspan(array_.filter_bytes_ + source.out_bytes, source.converted_bytes);
    if (elements * std::max(from, to) > buffer.size())
      return Error(ErrorCode::kInternal, fmt::format("{} elements to convert in {} bytes", elements, buffer.size()));
    std::memcpy(buffer.data(), decoded.data, bytes);
    if (Status status = source.conversion->convert(buffer.data(), elements); !status.ok())
      return std::move(status.error().with_file(source.array->file().name()).with_field(source.array->info().path));
    return DecodedPiece{buffer.data(), decoded.row_stride_bytes / from * to};
  }

  /// \param stored_to, out_to  Where the stored and the decoded bytes may go; empty: scratch.
  Result<DecodedPiece> read_and_decode(const Source& source, const Piece& piece, std::span<std::byte> stored_to,
                                       std::span<std::byte> out_to) {
    held_.source = nullptr;
    const auto bytes = static_cast<std::size_t>(piece.stored.range.size);
    const RandomAccessFile& file = source.array->file();
    const auto of_source = [&](Error error) {
      return std::move(error.with_file(file.name())
                           .with_field(source.array->info().path)
                           .with_chunk(source.array->piece_name(piece)));
    };
    std::span<std::byte> stored = stored_to;
    if (stored.empty()) {
      stored = ping_.subspan(array_.filter_bytes_, source.stored_bytes);
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
    const std::size_t filter = array_.filter_bytes_;
    const DecodeScratch scratch{out_to.empty() ? pong_.subspan(filter, source.out_bytes) : out_to, ping_.first(filter),
                                pong_.first(filter)};
    auto decoded = source.array->decode(piece, stored, scratch);
    if (bytes == 0)  // nobody has asked yet whether the file is what it was
      if (Status same = file.check_unchanged(); !same.ok())
        return of_source(std::move(same.error().with_stage("read")));
    return decoded;
  }

  /// Copy what lies in a piece to where it belongs, run by run. \param positions  Along each axis of p.from.
  void copy(const Part& p, const Piece& piece, const DecodedPiece& decoded, const ArrayBase::RowBox& box,
            const std::vector<Ranks>& positions, Ranks local) {
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

  /// Positions [begin, end) along the innermost axis of the source, whose index `start` lies at `row`.
  void copy_run(const Part& p, const std::byte* row, std::uint64_t start, std::uint64_t step_bytes, std::uint64_t begin,
                std::uint64_t end, std::uint64_t base) {
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

  struct Place {
    std::uint64_t offset_units, run;
  };
  /// Where the element of a rank within p.into lies in the target, and how many follow it there.
  [[nodiscard]] Place place(const Part& p, std::uint64_t rank) const {
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

  const VirtualArray& array_;
  const RowRange rows_;
  const std::span<std::byte> target_, ping_, pong_;
  std::vector<Piece> pieces_;
  Held held_;
  PageBuffer spare_;
};

Result<DecodedPiece> VirtualArray::decode(const Piece& piece, std::span<const std::byte>,
                                          const DecodeScratch& scratch) const {
  const std::size_t bytes = bytes_of(piece.rows), work = filter_bytes_ + source_bytes_;
  if (scratch.out.size() < bytes || std::min(scratch.ping.size(), scratch.pong.size()) < work)
    return placed(Error(ErrorCode::kInternal,
                        fmt::format("scratch of {}, {} and {} bytes, {} and twice {} needed", scratch.out.size(),
                                    scratch.ping.size(), scratch.pong.size(), bytes, work)),
                  piece);
  const std::span<std::byte> target = scratch.out.first(bytes);
  if (needs_fill_) fill_with(fill_element_, target);
  // Mappings that begin before the rows end, and of these not those before which all have ended.
  const auto end = std::ranges::lower_bound(by_first_row_, piece.rows.end(), {},
                                            [&](std::uint32_t i) { return mappings_[i].first_row; });
  const auto begin = by_first_row_.begin() + (std::ranges::upper_bound(ends_, piece.rows.first) - ends_.begin());
  std::vector<std::uint32_t> met;
  for (auto i = begin; i < end; ++i)
    if (mappings_[*i].end_row > piece.rows.first) met.push_back(*i);
  std::ranges::sort(met);  // a later one hides what an earlier one put there
  Assembly assembly(*this, piece.rows, {target, scratch.ping, scratch.pong});
  for (const std::uint32_t i : met)
    if (Status status = assembly.read(mappings_[i]); !status.ok()) return placed(std::move(status.error()), piece);
  return DecodedPiece{target.data(), info_.row_bytes};
}

}  // namespace headrace::hdf5
