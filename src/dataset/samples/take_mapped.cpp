#include "dataset/samples/take_mapped.h"

#include <algorithm>
#include <limits>
#include <new>

#include "assembly/copying/finisher.h"
#include "assembly/servers/part_server.h"
#include "assembly/window/step_parts.h"
#include "delivery/slot_arena.h"

namespace headrace {
namespace {

struct WantedPart {
  std::uint32_t unit;
  Request request;
};

std::vector<WantedPart> parts_by_unit(const StepContent& content) {
  std::vector<WantedPart> wanted;
  wanted.reserve(content.parts.size());
  std::uint32_t part = 0;
  for (std::uint32_t i = 0; i < content.samples.size(); ++i)
    for (; part < content.part_ends[i]; ++part) wanted.push_back({content.parts[part].unit, {part, i}});
  std::ranges::stable_sort(wanted, {}, &WantedPart::unit);
  return wanted;
}

}  // namespace

Result<Batch> take_mapped(const MappedSource& mapped, std::span<const std::uint64_t> samples, EpochSeed draws,
                          const std::function<bool()>& go_on, const Finisher* padding) {
  WindowSlot slot;
  StepContent& content = slot.content;
  for (const std::uint64_t sample : samples) {
    const BlockTable::RowPlace place = mapped.map->shuffle_blocks()->find(sample);
    content.samples.push_back({static_cast<std::uint32_t>(place.block), place.row_in_block});
  }
  plan_parts(*mapped.map, draws, true, padding != nullptr, content);
  const std::vector<SlotField> fields = slot_fields(mapped);
  const auto arena =
      std::make_shared<SlotArena>(fields, 1, SlotArena::slot_bytes(fields, content.sizes), mapped.fields);
  HEADRACE_ASSIGN(slot.memory, arena->acquire(content.sizes, true));

  StageClock clock;
  DecodeCounters counters(clock);
  PartServer server(mapped, counters);
  HEADRACE_TRY(server.prepare());
  const std::vector<WantedPart> wanted = parts_by_unit(content);
  const std::atomic<bool> cancelled{false};
  RowDigest placed;
  std::optional<Error> error;
  std::uint64_t failed_part = std::numeric_limits<std::uint64_t>::max();
  Claim claim;
  claim.first = claim.last = true;
  for (std::size_t begin = 0; begin < wanted.size();) {
    if (go_on && !go_on()) return Error(ErrorCode::kCancelled, "stopped before all samples were read");
    claim.unit = wanted[begin].unit;
    claim.requests.clear();
    for (; begin < wanted.size() && wanted[begin].unit == claim.unit; ++begin)
      claim.requests.push_back(wanted[begin].request);
    claim.runs.assign(1, {&slot, 0, static_cast<std::uint32_t>(claim.requests.size())});
    RowDigest digest;
    for (const RowFailure& failure : server.serve(claim, {&digest, 1}, cancelled)) {
      const std::uint64_t part = std::max<std::uint64_t>(failure.rows.first, claim.requests.front().item);
      if (part >= failed_part) continue;
      failed_part = part;
      error = failure.error;
    }
    placed += digest;
  }
  if (error) return *error;
  if (placed.placed != content.expected)
    return Error(ErrorCode::kInternal,
                 "the samples are not what the plan says: a fault of headrace or of this machine's memory");
  if (const Finisher* const finisher = padding ? padding : mapped.finisher.get())
    HEADRACE_TRY(finish_all(*finisher, {slot.memory->fields, content.samples, content.starts,
                                        *mapped.map->shuffle_blocks(), draws.epoch, draws.seed, content.lengths}));
  const std::uint64_t count = samples.size();
  return arena->deliver(std::move(slot.memory), content, count, 0, 0, {});
}

}  // namespace headrace
