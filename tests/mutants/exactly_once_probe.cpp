// Deliver two epochs from every source that rows come from, and say of each whether the exactly-once check raised. Run
// as it is built, every line ends in "fine"; linked with a mutant of a copy kernel, the sources that use it must raise.
#include <cstdio>
#include <thread>

#include "assembly/copying/row_gather.h"
#include "assembly/servers/block_server.h"
#include "assembly/servers/part_server.h"
#include "assembly/window/request_window.h"
#include "catalog/samples/span_map.h"
#include "dataset/testing/fake_source.h"
#include "delivery/slot_arena.h"
#include "delivery/slot_pool.h"
#include "order/steps/fixed_steps.h"

namespace headrace {
namespace {

enum class From { kFiles, kDecodedBlocks, kEncodedBlocks, kAllRows };

constexpr std::uint64_t kBatch = 50;
std::shared_ptr<const StepPlan> cut(std::shared_ptr<const Sampler> sampler) {
  return std::make_shared<FixedSteps>(std::move(sampler), kBatch, RankShare{}, Tail::kPartial);
}

const char* run_rows(From from) {
  const Dataset dataset = testing::fake_dataset({700, 333}, {{32, 64}, {3, 32}, {5000, 16}});
  const Source& source = *impl_of(dataset)->source.rows();
  const BlockLayout layout = plan_layout(source, 0);
  auto pool = std::make_shared<SlotPool>(source.fields, source.fields, kBatch, 6);

  DecodedCache decoded_cache;
  decoded_cache.policy.keep_everything();  // so that the second epoch comes from there
  const auto budget = MemoryBudget::process();
  if (from == From::kDecodedBlocks || from == From::kEncodedBlocks)
    decoded_cache.blocks = std::make_shared<BlockCache>(
        budget, BlockCache::Options{.form = BlockForm(*source.columns),
                                    .capacity_bytes = std::uint64_t{1} << 28,
                                    .coding = from == From::kEncodedBlocks ? BlockCoding::kLz4 : BlockCoding::kRaw});
  if (from == From::kAllRows) {
    RowLayout rows{*source.columns, {0}};
    for (std::uint64_t b = 0; b < layout.table->num_blocks(); ++b)
      rows.block_starts.push_back(rows.block_starts.back() + layout.table->stored_rows(b).count);
    decoded_cache.rows = std::make_shared<RowStores>(std::vector{RowStore::in_memory(std::move(rows)).value()});
  }
  std::atomic<bool> gather_ready{false};
  RequestWindow window(
      cut(make_global_shuffle(layout.table, 3)), layout.table,
      {.max_slots = 4, .row_weight = row_weight(source.columns->size()), .gather_ready = &gather_ready}, *pool);
  pool->set_release_callback([&] { window.memory_released(); });
  std::jthread decoder([&] {
    StageBoard board;
    DecodeCounters counters(board.add_thread());
    ResidentArrays residents;
    SideChunks side_chunks(0);
    BlockServer server(source, layout, residents, side_chunks, counters);
    server.set_decoded_cache(&decoded_cache);
    server.prepare().value();
    std::optional<RowGather> gather;
    if (decoded_cache.rows) gather.emplace((*decoded_cache.rows)[0], *layout.table, nullptr);
    Claim claim;
    std::vector<RowRun> runs;
    std::vector<RowDigest> digests;
    while (window.claim(claim)) {
      runs.clear();
      digests.assign(claim.runs.size(), {});
      for (const SlotRun& r : claim.runs)
        runs.push_back({r.slot->memory->fields.data(), r.begin, r.end, r.slot->content.step.first_position,
                        &digests[runs.size()]});
      if (claim.kind == Claim::Kind::kBatch) {
        gather->gather(claim.runs[0].slot->content.samples, runs[0]);
        window.complete(claim, {}, digests);
        continue;
      }
      const BlockTable::FileRows place = layout.table->place(claim.unit);
      const auto failures = server.serve({claim.unit, place.file, place.rows, claim.first, 0},
                                         {claim.requests, {}, runs}, window.cancel_flag());
      window.complete(claim, failures, digests);
    }
    server.release();
  });
  const char* outcome = "fine";
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    if (decoded_cache.rows && decoded_cache.rows->complete()) gather_ready = true;
    window.start_epoch(epoch);
    for (;;) {
      auto next = window.next();
      if (!next.ok()) {
        outcome = next.error().code() == ErrorCode::kInternal ? "raised" : "another error";
        epoch = 2;
        break;
      }
      if (!*next) break;
    }
  }
  window.stop();
  decoder.join();
  window.drop_slots();
  pool->set_release_callback({});
  pool->close();
  return outcome;
}

const char* run_spans() {
  const Dataset dataset = testing::fake_dataset({5000, 5000}, {{7, 100}});
  std::vector<SourceGroup> groups{{impl_of(dataset)->source.shared_rows(), impl_of(dataset)->layout}};
  const auto map = std::make_shared<SpanMap>(SpanMap::Options{.block_samples = 40,
                                                              .rows = groups[0].layout.table,
                                                              .row_weight = row_weight(1),
                                                              .spans = Spans::windows({{0, 10'000}}, 11, 12)});
  const auto arena = std::make_shared<SlotArena>(std::vector<SlotField>{{28, 0}}, 1, 1 << 20);
  RequestWindow window(cut(make_global_shuffle(map->shuffle_blocks(), 3)), map->shuffle_blocks(),
                       {.max_slots = 4, .map = map, .row_weight = 1}, *arena);
  arena->set_release_callback([&] { window.memory_released(); });
  std::jthread decoder([&] {
    StageBoard board;
    DecodeCounters counters(board.add_thread());
    const MappedSource mapped{nullptr, map, nullptr, groups, {}, {}};
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
  const char* outcome = "fine";
  window.start_epoch(0);
  for (;;) {
    auto next = window.next();
    if (!next.ok()) outcome = next.error().code() == ErrorCode::kInternal ? "raised" : "another error";
    if (!next.ok() || !*next) break;
  }
  window.stop();
  decoder.join();
  arena->set_release_callback({});
  return outcome;
}

}  // namespace
}  // namespace headrace

int main() {
  using namespace headrace;
  std::printf("files: %s\n", run_rows(From::kFiles));
  std::printf("decoded blocks: %s\n", run_rows(From::kDecodedBlocks));
  std::printf("encoded blocks: %s\n", run_rows(From::kEncodedBlocks));
  std::printf("all rows: %s\n", run_rows(From::kAllRows));
  std::printf("spans: %s\n", run_spans());
}
