#include "loader/option_rules.h"

#include <fmt/format.h>

#include <limits>
#include <string_view>

#include "dataset/refuse.h"
#include "loader/rank.h"
#include "order/window_steps.h"

namespace headrace {
namespace {

constexpr std::uint64_t kMostBatchRows = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kMostStreams = 1 << 16, kMostLanes = 1 << 16;
constexpr std::uint64_t kMostLookahead = 1 << 16;

bool lists_batches(const LoaderOptions& options) {
  const auto* const listed = options.sampler ? std::get_if<Listed>(options.sampler.get()) : nullptr;
  return listed && !listed->batch_rows.empty();
}

Status check_tokens(const LoaderOptions& options) {
  const ByTokens& choice = *options.by_tokens;
  if (options.batch_size != 0 || options.global_batch_size != 0 || options.group_by || lists_batches(options))
    return refuse(
        "a token budget sets the number of samples of a batch, and so do batch_size, global_batch_size, group_by and "
        "a batch_sampler",
        "Give one of them; max_samples= of the budget bounds the samples of a batch.");
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

Status check_groups(const LoaderOptions& options) {
  const GroupBy& choice = *options.group_by;
  if (choice.by.empty())
    return refuse("max_items and max_groups bound batches of whole groups: group_by is missing",
                  "Give group_by=\"file\", or a field whose value is one in a group.");
  if (choice.max_items == 0 || choice.max_items > kMostBatchRows)
    return refuse(fmt::format("max_items must be 1 to {}, not {}", kMostBatchRows, choice.max_items));
  if (options.batch_size != 0 || options.global_batch_size != 0)
    return refuse("group_by and batch_size exclude each other: group_by makes batches of whole groups",
                  "Leave batch_size out; max_items= bounds the samples of a batch, max_groups= its groups.");
  if (options.sampler)
    return refuse("group_by and a sampler exclude each other: both decide the order", "Give one of them.");
  if (options.shuffle.mode() != Shuffle::kNone)
    return refuse("group_by shuffles whole groups, not their samples",
                  "Give shuffle=True (in C++: GroupBy::shuffle), or leave it out.");
  if (options.shuffle_buffer != ShuffleShape{})
    return refuse("shuffle_buffer= shapes the block shuffle; groups are shuffled whole", "Leave it out.");
  return {};
}

/// Where batches are so many samples.
Status check_batch_size(const LoaderOptions& options) {
  if (options.batch_size != 0 && options.global_batch_size != 0)
    return refuse("batch_size and global_batch_size exclude each other", "Give one of them.");
  if (options.batch_size == 0 && options.global_batch_size == 0)
    return refuse("batch_size is missing", "Give the number of samples a batch.");
  if (options.batch_size > kMostBatchRows) return refuse("batch_size must be below 2^32");
  return {};
}

Status check_shuffle(const LoaderOptions& options) {
  if (options.sampler && options.shuffle.mode() != Shuffle::kNone)
    return refuse("shuffle and a sampler exclude each other: both decide the order", "Give one of them.");
  const ShuffleShape& asked = options.shuffle_buffer;
  if (asked == ShuffleShape{}) return {};
  if (options.shuffle.mode() != Shuffle::kBlock)
    return refuse("shuffle_buffer= shapes the block shuffle; this is another order", "Give shuffle=True with it.");
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

Status check_tail(const LoaderOptions& options, bool is_given) {
  if (is_given && (options.group_by || lists_batches(options)))
    return refuse(
        "drop_last= and tail= do not apply to group_by= and a batch_sampler, which set the size of each batch",
        "Leave drop_last= and tail= out.");
  return {};
}

Status check_options(const LoaderOptions& options) {
  if (options.timeout.count() < 0) return refuse("timeout must not be negative");
  if (options.share == Share::kHost && options.cache.mode == CacheChoice::kNone)
    return refuse("share='host' needs a cache, and cache='none' disables it", "Leave one of them out.");
  if (options.fill != 0 && options.layout != BatchLayout::kPadded)
    return refuse("fill= is the value of padding, and this layout has no padding", "Give layout='padded' with it.");
  HEADRACE_TRY(check_ranks(options));
  HEADRACE_TRY(check_tail(options, options.tail != Tail::kPartial));
  if (options.by_tokens) HEADRACE_TRY(check_tokens(options));
  if (options.by_tokens && options.layout == BatchLayout::kPadded)
    return Error(ErrorCode::kUnsupported,
                 "layout='padded' with a token budget is not there yet: the budget bounds the "
                 "rows, not the padding")
        .with_hint("Leave layout= out, or give batch_size=.");
  if (options.group_by) return check_groups(options);
  HEADRACE_TRY(check_shuffle(options));
  if (options.by_tokens) return {};
  if (!lists_batches(options)) return check_batch_size(options);
  if (options.batch_size != 0 || options.global_batch_size != 0)
    return refuse("a batch_sampler and batch_size exclude each other: the sampler sets the size of each batch",
                  "Leave batch_size and global_batch_size out.");
  return {};
}

Status check_samples(const SampleSource& source, const LoaderOptions& options) {
  const MappedSource* const mapped = source.mapped();
  if (!mapped) return {};
  const auto unsupported = [&](std::string_view option, std::string_view why, std::string_view hint) {
    return std::move(
        Error(ErrorCode::kUnsupported, fmt::format("{} for {} is not there yet{}", option, mapped->what, why))
            .with_hint(hint));
  };
  constexpr std::string_view kNone = "Use cache='auto' or 'none'.";
  const std::string_view kAnew =
      mapped->boxes ? ": they are decoded anew in each epoch" : ": cache='auto' keeps what fits";
  if (options.group_by) return unsupported("group_by=", "", "Leave it out.");
  if (options.cache.mode == CacheChoice::kRam) return unsupported("cache='ram'", kAnew, kNone);
  if (options.cache.mode == CacheChoice::kDirectory) return unsupported("a cache directory", kAnew, kNone);
  if (options.share == Share::kHost)
    return unsupported("share='host'", ": each process has its own cache", "Leave it out.");
  return {};
}

}  // namespace headrace
