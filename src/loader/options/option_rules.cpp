#include "loader/options/option_rules.h"

#include <fmt/format.h>

#include <limits>
#include <string_view>

#include "dataset/recipe/refuse.h"
#include "loader/options/rank.h"
#include "order/steps/window_steps.h"

namespace headrace {
namespace {

constexpr std::uint32_t kMostStreams = 1 << 16;

bool lists_batches(const LoaderOptions& options) {
  const auto* const listed = options.order.get<Listed>();
  return listed && !listed->batch_rows.empty();
}

Status check_tokens(const ByTokens& choice) {
  if (choice.tokens == 0 || choice.tokens > StepRules::kMostBudget)
    return refuse(fmt::format("tokens must be 1 to {}, not {}", StepRules::kMostBudget, choice.tokens),
                  "tokens is the largest number of rows of a batch, on each rank.");
  if (choice.max_samples > kMostBatchRows)
    return refuse(fmt::format("max_samples must be 1 to {}, not {}", kMostBatchRows, choice.max_samples));
  if (choice.lanes > kMostLanes)
    return refuse(fmt::format("lanes must be 1 to {}, not {}", kMostLanes, choice.lanes),
                  "lanes is the largest number of ranks that steps are planned for.");
  if (choice.lookahead == 0 || choice.lookahead > kMostLookahead)
    return refuse(fmt::format("lookahead must be 1 to {} steps, not {}", kMostLookahead, choice.lookahead));
  return {};
}

Status check_groups(const Groups& choice, const Order& order) {
  if (choice.by.empty())
    return refuse("max_items and max_groups bound batches of whole groups: group_by is missing",
                  "Give group_by=\"file\", or a field whose value is one in a group.");
  if (choice.max_items == 0 || choice.max_items > kMostBatchRows)
    return refuse(fmt::format("max_items must be 1 to {}, not {}", kMostBatchRows, choice.max_items));
  if (order.is_sampler())
    return refuse("group_by and a sampler exclude each other: both decide the order", "Give one of them.");
  if (order.is<ExactShuffle>())
    return refuse("group_by shuffles whole groups, not their samples", "Give shuffle=True, or leave it out.");
  if (const auto* const shuffle = order.get<BlockShuffle>(); shuffle && shuffle->shape != ShuffleShape{})
    return refuse("shuffle_buffer= shapes the block shuffle; groups are shuffled whole", "Leave it out.");
  return {};
}

/// Where batches are so many samples.
Status check_size(const LoaderOptions& options) {
  const auto* const samples = std::get_if<Samples>(&options.batch);
  const auto* const global = std::get_if<GlobalSamples>(&options.batch);
  if ((samples ? samples->size : global ? global->size : 0) == 0)
    return refuse("batch_size is missing", "Give the number of samples a batch.");
  if (samples && samples->size > kMostBatchRows) return refuse("batch_size must be below 2^32");
  return {};
}

Status check_shape(const ShuffleShape& asked) {
  if (asked == ShuffleShape{}) return {};
  if (asked.bytes != 0 && (asked.streams != 0 || asked.pool_blocks != 0))
    return refuse("a shuffle buffer is given as bytes, or as streams and blocks, not both");
  if (asked.bytes == 0 && (asked.streams == 0 || asked.pool_blocks == 0))
    return refuse("a shuffle needs at least one stream and one block in each pool");
  if (asked.streams > kMostStreams) return refuse(fmt::format("at most {} streams can be mixed", kMostStreams));
  return {};
}

Status check_ranks(const LoaderOptions& options) {
  if (options.rank.has_value() != options.world_size.has_value())
    return refuse(options.rank ? "rank= needs world_size=" : "world_size= needs rank=",
                  "Give both, or neither: then the launcher is asked.");
  return options.rank ? check_rank(*options.rank, *options.world_size) : Status();
}

}  // namespace

Tail tail_of(const BatchChoice& batch) {
  return std::visit(
      []<class T>(const T& choice) {
        if constexpr (requires { choice.tail; })
          return choice.tail;
        else
          return Tail::kPartial;
      },
      batch);
}

Status check_options(const LoaderOptions& options) {
  if (options.timeout.count() < 0) return refuse("timeout must not be negative");
  if (options.share == Share::kHost && options.cache.mode == CacheChoice::kNone)
    return refuse("share='host' needs a cache, and cache='none' disables it", "Leave one of them out.");
  if (options.fill != 0 && options.layout != BatchLayout::kPadded)
    return refuse("fill= is the value of padding, and this layout has no padding", "Give layout='padded' with it.");
  HEADRACE_TRY(check_ranks(options));
  if (const auto* const shuffle = options.order.get<BlockShuffle>()) HEADRACE_TRY(check_shape(shuffle->shape));
  if (const auto* const groups = std::get_if<Groups>(&options.batch)) return check_groups(*groups, options.order);
  if (const auto* const tokens = std::get_if<ByTokens>(&options.batch); tokens && !lists_batches(options))
    return check_tokens(*tokens);
  if (!lists_batches(options)) return check_size(options);
  if (options.batch.index() != 0)
    return refuse("a batch_sampler and batch_size exclude each other: the sampler sets the size of each batch",
                  "Leave batch_size and global_batch_size out.");
  return {};
}

Status check_samples(const SampleSource& source, const LoaderOptions& options) {
  const bool in_groups = std::holds_alternative<Groups>(options.batch);
  if (source.mixture() && in_groups)
    return refuse("the data set is a mixture, which decides what is drawn: it has no groups",
                  "Make a loader of each part.");
  if (source.mixture() && options.order.is_sampler())
    return refuse("the data set is a mixture, which decides what is drawn; so does a sampler",
                  "Leave the sampler out, or use the parts of the mixture.");
  const MappedSource* const mapped = source.mapped();
  if (!mapped) return {};
  if (in_groups && mapped->map->draws_samples())
    return refuse(
        fmt::format("group_by= makes batches of numbered samples, and {} are drawn anew in each epoch", mapped->what),
        "A grid has numbers: give stride instead of samples_per_epoch.");
  return {};
}

}  // namespace headrace
