#include "loader/coding_probe.h"

#include <algorithm>
#include <atomic>

#include "base/clock.h"

namespace headrace {
namespace {

constexpr int kTimes = 2;  // the first time pays for fresh memory and cold caches

double as_ns(std::uint64_t ns) {
  return static_cast<double>(ns);
}

std::optional<CodingTrial> try_coding(const BlockForm& form, std::uint64_t rows, BlockCoding coding,
                                      const std::byte* block, std::span<std::byte> spare, std::span<std::byte> piece) {
  CodingTrial trial{coding, 1, 1e18, 1e18};
  for (int i = 0; i < kTimes; ++i) {
    const std::uint64_t start = now_ns();
    const Result<CodedBlock> coded = encode_block(form, rows, coding, block, spare);
    if (!coded.ok() || coded->pieces.empty()) return {};
    const std::uint64_t encoded = now_ns();
    for (std::size_t f = 0; f < form.num_fields(); ++f)
      for (std::uint64_t p = 0; p < Pieces::of(form, f).count(rows); ++p)
        if (!decode_piece(form, rows, *coded, spare, f, p, piece).ok()) return {};
    trial.encode_ns = std::min(trial.encode_ns, as_ns(encoded - start));
    trial.decode_ns = std::min(trial.decode_ns, as_ns(now_ns() - encoded));
    trial.coded_share = as_ns(coded->bytes()) / as_ns(std::max<std::uint64_t>(form.bytes(rows), 1));
  }
  return trial;
}

}  // namespace

std::optional<CodingProbe> probe_codings(Dataset::Impl& dataset) {
  const BlockTable& blocks = *dataset.layout.table;
  const BlockForm form(*dataset.source->fields);
  if (blocks.num_blocks() == 0) return {};
  const BlockTable::Place place = blocks.place(blocks.num_blocks() / 2);
  const std::uint64_t rows = place.rows.count;
  if (rows == 0 || !can_encode(form, rows)) return {};
  Result<PageBuffer> block = PageBuffer::allocate(form.bytes(rows)),
                     spare = PageBuffer::allocate(most_coded_bytes(form, rows)),
                     piece = PageBuffer::allocate(piece_scratch_bytes(form));
  auto server = dataset.take_server();
  if (!block.ok() || !spare.ok() || !piece.ok() || !server.ok()) return {};
  std::vector<Request> requests;
  for (std::uint32_t r = 0; r < rows; ++r) requests.push_back({r, r});
  std::vector<std::byte*> fields;
  for (std::size_t f = 0; f < form.num_fields(); ++f) fields.push_back(block->data() + form.offset(f, rows));
  const RowRun run{fields.data(), 0, static_cast<std::uint32_t>(rows)};
  const std::atomic<bool> cancelled{false};
  CodingProbe probe;
  probe.rows = rows;
  probe.miss_ns = 1e18;
  bool good = true;
  for (int i = 0; i < kTimes && good; ++i) {
    const std::uint64_t start = now_ns();
    good = server->server->serve({0, place.file, place.rows, true, 0}, requests, {&run, 1}, cancelled).empty();
    probe.miss_ns = std::min(probe.miss_ns, as_ns(now_ns() - start));
  }
  dataset.put_server(std::move(*server));
  if (!good) return {};
  for (const BlockCoding coding : {BlockCoding::kLz4, BlockCoding::kZstd})
    if (const auto trial = try_coding(form, rows, coding, block->data(), spare->bytes(), piece->bytes()))
      probe.trials.push_back(*trial);
  return probe;
}

}  // namespace headrace
