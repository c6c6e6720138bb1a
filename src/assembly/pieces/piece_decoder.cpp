#include "assembly/pieces/piece_decoder.h"

#include <algorithm>

#include "base/clock.h"
#include "base/memory/unplanned_memory.h"

namespace headrace {
namespace {

constexpr std::uint64_t kReadTogetherBytes = 4 << 20;  // stored bytes of a block that are read before decoding begins
constexpr std::size_t kPiecesTogether = 4096;          // no more pieces than this, so that a block can be given up

struct Scratch {
  std::uint64_t out = 0, filter = 0;
};
Scratch largest_scratch(const Source& source, const BlockLayout& layout) {
  Scratch most;
  for (std::size_t f = 0; f < source.files.size(); ++f)
    for (const auto& array : source.files[f].arrays) {
      std::uint64_t rows = layout.files[f].block_rows;
      if (const std::uint64_t page_rows = array->info().page_rows; page_rows > 0) rows = std::min(rows, page_rows);
      const ScratchNeed n = array->scratch_need(rows);
      most.out = std::max(most.out, n.out_bytes);
      most.filter = std::max(most.filter, n.filter_bytes);
    }
  return most;
}

}  // namespace

PieceDecoder::PieceDecoder(const Source& source, const BlockLayout& layout, DecodeCounters& counters)
    : source_(source), layout_(layout), counters_(counters) {
  std::uint64_t rows = 0;
  for (const SourceFile& file : source.files) {
    first_row_of_file_.push_back(rows);
    rows += file.rows;
  }
}

PieceDecoder::Need PieceDecoder::need(const Source& source, const BlockLayout& layout) {
  const Scratch most = largest_scratch(source, layout);
  std::uint64_t stored = 0;
  for (std::size_t f = 0; f < source.files.size(); ++f) {
    std::uint64_t block = 0,
                  piece = 0;  // stored bytes are at most the decoded ones, but for data that does not compress
    for (const auto& array : source.files[f].arrays) {
      const std::uint64_t piece_rows = array->info().rows_for_one();
      const std::uint64_t rows = std::max(layout.files[f].block_rows, piece_rows);
      const bool converted = array->info().read_path == ReadPath::kConverted;  // from twice the size at most
      const std::uint64_t row_bytes = array->info().distinct_row_bytes() * (converted ? 2 : 1);
      block += rows * row_bytes;
      piece = std::max(piece, piece_rows * row_bytes);
    }
    stored = std::max(stored, std::min(block, kReadTogetherBytes + piece));
  }
  return {PageBuffer::charge_for(most.out) + 2 * PageBuffer::charge_for(most.filter),
          PageBuffer::charge_for(stored + stored / 4)};
}

Status PieceDecoder::prepare() {
  const Scratch most = largest_scratch(source_, layout_);
  HEADRACE_ASSIGN(out_, PageBuffer::allocate(most.out));
  HEADRACE_ASSIGN(ping_, PageBuffer::allocate(most.filter));
  HEADRACE_ASSIGN(pong_, PageBuffer::allocate(most.filter));
  return {};
}

void PieceDecoder::release() {
  for (PageBuffer* b : {&out_, &ping_, &pong_, &read_buffer_}) b->reset();
}

Status PieceDecoder::reserve_read_buffer(std::uint64_t bytes) {
  if (bytes <= read_buffer_.size_bytes()) return {};
  const std::uint64_t planned = need(source_, layout_).read_buffer_bytes;
  read_buffer_.reset();
  const std::uint64_t wanted = std::min(bytes + bytes / 4, planned);
  HEADRACE_ASSIGN(read_buffer_,
                  wanted >= bytes ? PageBuffer::allocate(wanted) : unplanned_memory(MemoryTag::kReadBuffers, bytes));
  return {};
}

std::size_t PieceDecoder::read_together(std::span<const PieceTask> tasks) {
  std::size_t end = 0;
  const std::size_t most = std::min(tasks.size(), kPiecesTogether);
  for (std::uint64_t bytes = 0; end < most && (end == 0 || bytes < kReadTogetherBytes); ++end)
    bytes += tasks[end].piece.stored.range.size;
  return end;
}

Status PieceDecoder::read(std::uint32_t file_number, std::span<const PieceTask> tasks) {
  const SourceFile& file = source_.files[file_number];
  const std::uint64_t start = now_ns();
  ranges_.clear();
  for (const PieceTask& task : tasks) ranges_.push_back(task.piece.stored);
  HEADRACE_ASSIGN(std::uint64_t bytes, batch_.plan(ranges_));
  if (bytes > read_buffer_.size_bytes() && bytes > need(source_, layout_).read_buffer_bytes) {
    // Holes between the pieces would take more memory than was planned: from now on they are left out.
    batch_ = ReadBatch(CoalesceOptions{.hole_bytes = 0});
    HEADRACE_ASSIGN(bytes, batch_.plan(ranges_));
  }
  HEADRACE_TRY(reserve_read_buffer(bytes));
  std::uint32_t asked = ~std::uint32_t{0};
  for (const PieceTask& task : tasks) {  // fill values, and what decode() reads by itself: no file is asked below
    if (task.piece.stored.range.size > 0 || task.array == asked) continue;
    asked = task.array;
    HEADRACE_TRY(file.arrays[asked]->check_unchanged());
  }
  if (bytes == 0) return {};
  Status read = batch_.read(read_buffer_.bytes());
  if (!read.ok()) {  // the batch is of several arrays, perhaps of several files: name the first whose bytes failed
    const Error& error = read.error();
    const auto failed = std::ranges::find_if(ranges_, [&](const FileRange& r) {
      const bool meets = r.range.offset < error.bytes().end() && error.bytes().offset < r.range.end();
      return r.range.size > 0 && r.file->name() == error.file() && (error.bytes().size == 0 || meets);
    });
    const auto task = failed == ranges_.end() ? 0 : static_cast<std::size_t>(failed - ranges_.begin());
    return std::move(read.error().with_field(file.arrays[tasks[task].array]->info().path));
  }
  counters_.clock.add(Stage::kRead, now_ns() - start, bytes, batch_.merged().size());
  return {};
}

Status PieceDecoder::reserve_page(const ArrayReader& reader, const Piece& piece) {
  const std::uint64_t bytes = reader.scratch_need(piece.rows.count).out_bytes;
  if (bytes <= out_.size_bytes()) return {};
  out_.reset();
  HEADRACE_ASSIGN(out_, unplanned_memory(MemoryTag::kScratch, bytes));
  return {};
}

Result<RowsAt> PieceDecoder::decode(std::uint32_t file, const PieceTask& task, std::size_t i,
                                    std::span<std::byte> out) {
  const ArrayReader& reader = *source_.files[file].arrays[task.array];
  if (out.empty() && reader.info().page_rows > 0) HEADRACE_TRY(reserve_page(reader, task.piece));
  const DecodeScratch scratch{out.empty() ? out_.bytes() : out, ping_.bytes(), pong_.bytes()};
  HEADRACE_ASSIGN(const DecodedPiece decoded, reader.decode(task.piece, batch_.bytes(i), scratch));
  decoded_bytes_ += task.piece.decoded_bytes;
  if (reader.info().read_path == ReadPath::kFallback) counters_.add_slow_piece();
  return RowsAt{decoded.data, decoded.row_stride_bytes, first_row_of(file) + task.piece.rows.first,
                task.piece.rows.count};
}

Result<DecodedPart> PieceDecoder::load(std::uint32_t file, std::size_t array, const Piece& piece) {
  const PieceTask task{static_cast<std::uint32_t>(array), piece};
  HEADRACE_TRY(read(file, {&task, 1}));
  StageSpan span(counters_.clock, Stage::kDecode);
  span.add_bytes(piece.decoded_bytes);
  HEADRACE_ASSIGN(const RowsAt rows, decode(file, task, 0, {}));
  DecodedPart part;
  part.rows = piece.rows;
  part.row_stride_bytes = rows.stride_bytes;
  const std::uint64_t bytes = source_.files[file].arrays[array]->decoded_rows(piece) * rows.stride_bytes;
  HEADRACE_ASSIGN(part.data, PageBuffer::allocate(bytes));
  std::copy_n(rows.data, bytes, part.data.data());
  return part;
}

std::uint64_t PieceDecoder::take_decoded_bytes() {
  return std::exchange(decoded_bytes_, 0);
}

}  // namespace headrace
