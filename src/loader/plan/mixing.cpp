#include "loader/plan/mixing.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>
#include <cmath>

#include "order/quality.h"

namespace headrace {
namespace {

constexpr std::uint64_t kLookedAt = 1 << 19;  // samples of an epoch

std::uint64_t mixed_bytes(const BlockShuffleShape& shape, const BlockTable& blocks, std::uint64_t sample_bytes) {
  const std::uint64_t number = std::max<std::uint64_t>(blocks.num_blocks(), 1);
  const auto share = static_cast<double>(std::min(shape.mixed_blocks(), number)) / static_cast<double>(number);
  return static_cast<std::uint64_t>(share * static_cast<double>(blocks.num_rows() * sample_bytes));
}

}  // namespace

std::optional<Mixing> measure_mixing(const EnginePlan& plan, std::uint64_t sample_bytes) {
  const BlockTable& blocks = *plan.blocks;
  const std::uint64_t batch = std::max<std::uint64_t>(plan.global_batch, 1);
  if (!plan.is_shuffled || blocks.num_rows() < batch) return std::nullopt;
  if (plan.budget && plan.budget->options().arrangement == StepArrangement::kBucket)
    return std::nullopt;  // steps take like lengths out of the order
  Mixing mixing;
  mixing.mixed_bytes = plan.shape ? mixed_bytes(*plan.shape, blocks, sample_bytes) : blocks.num_rows() * sample_bytes;
  if (!plan.shape) return mixing;  // of draws without replacement: 1, and need not be measured
  const OrderQuality quality =
      measure_order(*plan.sampler, blocks, batch, {}, 0, std::clamp<std::uint64_t>(kLookedAt / batch, 16, 1024));
  mixing.block_effect = quality.block_effect;
  mixing.file_effect = quality.file_effect;
  return mixing;
}

double planned_block_effect(const BlockShuffleShape& shape, std::uint64_t blocks, std::uint64_t global_batch) {
  const auto batch = static_cast<double>(global_batch), all = static_cast<double>(std::max<std::uint64_t>(blocks, 1)),
             mixed = std::min(static_cast<double>(shape.mixed_blocks()), all);
  if (shape.streams >= global_batch) return 1;
  // A stream gives `each` samples to a batch, or one more: that costs something too where they are few.
  const double each = batch / shape.streams, more = each - std::floor(each);
  return std::max((batch + shape.streams * more * (1 - more) / each) / mixed - batch / all, 0.0) + 1 -
         1.0 / shape.pool_blocks;
}

std::string mixing_warning(const BlockShuffleShape& shape, const BlockTable& blocks, std::uint64_t global_batch,
                           std::uint64_t sample_bytes) {
  const double effect = planned_block_effect(shape, blocks.num_blocks(), global_batch);
  if (effect <= kGoodEffect) return {};
  const std::uint64_t block_bytes = mixed_bytes({1, 1}, blocks, sample_bytes);
  // The least that any order reaches which holds so many blocks of rows: docs/decisions/0039.
  const double batch = static_cast<double>(global_batch), held = static_cast<double>(shape.mixed_blocks());
  const double bound = std::max(
      batch * (4 / (9 * held) - 1 / static_cast<double>(std::max<std::uint64_t>(blocks.num_blocks(), 1))), 0.0);
  return fmt::format(
      "blocks of {} are large for batches of {}: {} of them are mixed at any time, and Deff is about {} for a label "
      "that is "
      "constant in each block (1: as independent draws; no order that holds {} gets below {}). order_report(by=...) "
      "says what it is for yours; smaller chunks mix better, and so does a larger shuffle_buffer=, for more memory",
      format_bytes(block_bytes), global_batch, shape.mixed_blocks(), effect_text(effect),
      format_bytes(mixed_bytes(shape, blocks, sample_bytes)), effect_text(bound));
}

std::string mixing_summary(const Mixing& mixing) {
  return fmt::format(
      "Deff {} for a label that is constant in each block, {} in each file (1: as independent draws); {} are mixed at "
      "any time",
      effect_text(mixing.block_effect), effect_text(mixing.file_effect), format_bytes(mixing.mixed_bytes));
}

std::optional<Mixing> MixingMemo::of(const std::shared_ptr<const EnginePlan>& plan, std::uint64_t sample_bytes) {
  const std::lock_guard lock(mutex_);
  if (measured_.lock() == plan) return mixing_;
  mixing_ = measure_mixing(*plan, sample_bytes);
  measured_ = plan;
  return mixing_;
}

}  // namespace headrace
