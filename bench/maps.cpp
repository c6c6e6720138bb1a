// What samples that are no rows cost: ragged rows and boxes through the window against plain copies of the same bytes,
// and the map from a sample to its parts alone. Everything is decoded and resident: the copies are what is measured.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <numeric>
#include <thread>

#include "assembly/servers/part_server.h"
#include "assembly/window/request_window.h"
#include "base/clock.h"
#include "base/random/philox.h"
#include "catalog/samples/box_map.h"
#include "catalog/samples/span_map.h"
#include "delivery/slot_arena.h"
#include "order/steps/fixed_steps.h"

namespace headrace {
namespace {

constexpr int kPairs = 7;

/// An array that lies decoded in memory: rows of `row_bytes`, or the cells of a grid one after the other.
class ResidentArray final : public ArrayReader {
 public:
  ResidentArray(std::uint64_t rows, std::uint64_t row_bytes, std::vector<std::uint64_t> chunk_shape)
      : row_bytes_(row_bytes), data_(PageBuffer::allocate(rows * row_bytes).value()) {
    info_.shape = {rows, row_bytes};
    info_.record_bytes = 1;
    info_.chunk_shape = std::move(chunk_shape);
    info_.columns = {{"", {DType::Kind::kUInt, 1}, {}, 0}};
    for (std::uint64_t i = 0; i < data_.size_bytes(); i += 8) std::memcpy(data_.data() + i, &i, sizeof(i));
  }
  [[nodiscard]] const std::byte* data() const { return data_.data(); }
  [[nodiscard]] const ArrayInfo& info() const override { return info_; }
  Status locate(RowRange rows, std::vector<Piece>& out) const override {
    Piece& piece = out.emplace_back();
    piece.id = rows.first;
    piece.rows = rows;
    return {};
  }
  Status locate_cells(std::span<const std::uint64_t> cells, std::vector<Piece>& out) const override {
    for (const std::uint64_t cell : cells) HEADRACE_TRY(locate({cell, 1}, out));
    return {};
  }
  Result<DecodedPiece> decode(const Piece& piece, std::span<const std::byte>, const DecodeScratch&) const override {
    return DecodedPiece{data_.data() + piece.rows.first * row_bytes_, row_bytes_};
  }
  [[nodiscard]] RowGeometry geometry(std::uint32_t, std::size_t) const override { return {0, 0, row_bytes_, {}}; }
  [[nodiscard]] std::uint32_t pieces_across() const override { return 1; }
  [[nodiscard]] ScratchNeed scratch_need(std::uint64_t) const override { return {}; }
  [[nodiscard]] std::string piece_name(const Piece&) const override { return ""; }

 private:
  std::uint64_t row_bytes_;
  PageBuffer data_;
  ArrayInfo info_;
};

SourceGroup group_of(std::shared_ptr<ResidentArray> array, bool rows) {
  auto source = std::make_shared<Source>();
  source->set_columns({{"v", "v", {DType::Kind::kUInt, 1}, {array->info().shape[1]}}});
  source->places.push_back({0, 0});
  SourceFile& file = source->files.emplace_back();
  file.path = "memory";
  file.rows = array->info().rows();
  file.arrays.push_back(std::move(array));
  BlockLayout layout;
  if (rows)
    layout = plan_layout(*source, 0);
  else
    layout.files.push_back({1, {ArrayRole::kAligned}});
  return {std::move(source), std::move(layout)};
}

struct Pipeline {
  std::shared_ptr<const SampleMap> map;
  std::shared_ptr<const BoxMap> boxes;  // the map, where it is one
  std::vector<SourceGroup> groups;
  std::vector<SlotField> fields;
  std::uint64_t batch = 64, arena_bytes = 0;
};

/// Return the nanoseconds of one epoch with one decode thread, from the second epoch of a window on: memory is touched.
double epoch_ns(const Pipeline& p) {
  const auto arena = std::make_shared<SlotArena>(p.fields, 1, p.arena_bytes);
  std::shared_ptr<const Sampler> order = make_block_shuffle(p.map->shuffle_blocks(), {4, 4}, 1);
  RequestWindow window(std::make_shared<FixedSteps>(order, p.batch, RankShare{}, Tail::kPartial),
                       p.map->shuffle_blocks(), {.max_slots = 64, .map = p.map, .row_weight = 1}, *arena);
  arena->set_release_callback([&] { window.memory_released(); });
  const MappedSource mapped{nullptr, p.map, p.boxes, p.groups, {}, {}};
  std::jthread decoder([&] {
    StageBoard board;
    DecodeCounters counters(board.add_thread());
    PartServer server(mapped, counters);
    server.prepare().value();
    Claim claim;
    std::vector<RowDigest> digests;
    while (window.claim(claim)) {
      digests.assign(claim.runs.size(), {});
      const auto failures = server.serve(claim, digests, window.cancel_flag());
      window.complete(claim, failures, digests);
    }
  });
  double ns = 0;
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    const std::uint64_t start = now_ns();
    window.start_epoch(epoch);
    while (window.next().value()) {
    }
    ns = static_cast<double>(now_ns() - start);
  }
  window.stop();
  decoder.join();
  arena->set_release_callback({});
  return ns;
}

/// Return the median of `plain` over `ours`, taken in turns.
double median_share(const std::function<double()>& plain, const std::function<double()>& ours) {
  std::vector<double> shares;
  for (int i = 0; i < kPairs; ++i) {
    const double a = plain();
    shares.push_back(a / ours());
  }
  std::sort(shares.begin(), shares.end());
  return shares[kPairs / 2];
}

struct Costs {
  double share = 0, map_ns = 0;
};

/// Return the nanoseconds that expand() takes for a sample or, `by_part`, for a part.
double map_ns(const SampleMap& map, bool by_part) {
  const BlockTable& blocks = *map.shuffle_blocks();
  std::vector<SampleRef> samples;
  for (std::uint32_t block = 0; block < blocks.num_blocks(); ++block)
    for (std::uint32_t row = 0; row < blocks.block_rows(block); ++row) samples.push_back({block, row});
  std::vector<Part> parts;
  std::vector<std::uint32_t> ends;
  double best = 1e18;
  for (int i = 0; i < kPairs; ++i) {
    std::uint64_t num_parts = 0;
    const std::uint64_t start = now_ns();
    for (std::size_t at = 0; at < samples.size(); at += 256) {
      parts.clear(), ends.clear();
      map.expand(std::span(samples).subspan(at, std::min<std::size_t>(256, samples.size() - at)), {}, parts, ends);
      num_parts += parts.size();
    }
    const auto ns = static_cast<double>(now_ns() - start);
    best = std::min(best, ns / static_cast<double>(by_part ? num_parts : samples.size()));
  }
  return best;
}

/// Events of a heavy-tailed length, 150 rows of 12 bytes on average.
Costs ragged() {
  constexpr std::uint64_t kEvents = 200'000;
  std::vector<std::uint64_t> starts{0};
  for (std::uint64_t i = 0; i < kEvents; ++i) {
    const double u = static_cast<double>(RandomKey::of({7, i}).low >> 11) * 0x1.0p-53;
    starts.push_back(starts.back() +
                     std::min<std::uint64_t>(static_cast<std::uint64_t>(25 / std::pow(1 - u, 0.8)), 20'000));
  }
  const auto array = std::make_shared<ResidentArray>(starts.back(), 12, std::vector<std::uint64_t>{});
  Pipeline p;
  p.groups.push_back(group_of(array, true));
  const std::uint64_t rows_a_block = p.groups[0].layout.table->block_rows(0);
  p.map = std::make_shared<SpanMap>(SpanMap::Options{.block_samples = rows_a_block * kEvents / starts.back(),
                                                     .rows = p.groups[0].layout.table,
                                                     .row_weight = row_weight(1),
                                                     .spans = Spans::between(starts)});
  p.fields = {{12, 0}};
  p.batch = 512;
  p.arena_bytes = std::uint64_t{128} << 20;
  std::vector<std::byte> batch(64 << 20);
  std::vector<std::int64_t> offsets(p.batch + 1);
  const auto plain = [&] {
    const std::uint64_t start = now_ns();
    for (std::uint64_t first = 0; first < kEvents; first += p.batch) {
      std::uint64_t place = 0;
      for (std::uint64_t k = 0; k < p.batch && first + k < kEvents; ++k) {
        const std::uint64_t event = (first + k) * 7919 % kEvents;  // in a shuffled order, as the other side
        const std::uint64_t rows = starts[event + 1] - starts[event];
        std::memcpy(batch.data() + place * 12, array->data() + starts[event] * 12, rows * 12);
        place += rows;
        offsets[k + 1] = static_cast<std::int64_t>(place);
      }
    }
    return static_cast<double>(now_ns() - start);
  };
  return {median_share(plain, [&] { return epoch_ns(p); }), map_ns(*p.map, false)};
}

/// Boxes of 64^3 out of cells of 64^3, one byte an element, every 45 elements.
Costs boxes() {
  constexpr std::uint64_t kSide = 512, kCell = 64;
  const CellGrid grid{3, {kSide, kSide, kSide}, {kCell, kCell, kCell}, 1};
  const std::uint64_t cell_bytes = grid.cell_elements();
  const auto array =
      std::make_shared<ResidentArray>(grid.num_cells(), cell_bytes, std::vector<std::uint64_t>{1, cell_bytes});
  const Axes box{kCell, kCell, kCell, 1, 1}, stride{45, 45, 45, 1, 1};
  const auto grid_starts = std::make_shared<const GridStarts>(GridStarts::Options{3, {grid.shape}, box, stride});
  std::vector<Axes> starts;
  for (std::uint64_t i = 0; i < grid_starts->num_samples(); ++i) starts.push_back(grid_starts->place_of(i).start);
  const auto map = std::make_shared<const BoxMap>(BoxMap::Options{{{0, {grid}}}, box, grid_starts, 16});
  Pipeline p;
  p.map = map;
  p.boxes = map;
  p.groups.push_back(group_of(array, false));
  p.fields = {{map->box_elements(0), 0}};
  p.batch = 16;
  p.arena_bytes = std::uint64_t{512} << 20;
  std::vector<std::byte> batch(p.batch * cell_bytes);
  const auto plain = [&] {
    const std::uint64_t start = now_ns();
    for (std::size_t i = 0; i < starts.size(); ++i) {
      std::byte* const to = batch.data() + i % p.batch * cell_bytes;
      for (std::uint64_t z = 0; z < kCell; ++z)
        for (std::uint64_t y = 0; y < kCell; ++y)
          for (std::uint64_t x = 0; x < kCell;) {
            const std::uint64_t az = starts[i][0] + z, ay = starts[i][1] + y, ax = starts[i][2] + x;
            const std::uint64_t cell = (az / kCell * (kSide / kCell) + ay / kCell) * (kSide / kCell) + ax / kCell;
            const std::uint64_t run = std::min(kCell - x, kCell - ax % kCell);
            std::memcpy(to + (z * kCell + y) * kCell + x,
                        array->data() + cell * cell_bytes + (az % kCell * kCell + ay % kCell) * kCell + ax % kCell,
                        run);
            x += run;
          }
    }
    return static_cast<double>(now_ns() - start);
  };
  return {median_share(plain, [&] { return epoch_ns(p); }), map_ns(*map, true)};
}

}  // namespace
}  // namespace headrace

int main() {
  const headrace::Costs ragged = headrace::ragged(), boxes = headrace::boxes();
  const nlohmann::json out = {{"ragged_share", ragged.share},
                              {"span_map_ns", ragged.map_ns},
                              {"box_share", boxes.share},
                              {"box_map_ns", boxes.map_ns}};
  std::puts(out.dump().c_str());
}
