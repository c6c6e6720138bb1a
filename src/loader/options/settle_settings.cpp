// What the words of a loader come to: its batch, its order, and what two of them contradict.
#include <fmt/format.h>

#include <utility>

#include "dataset/recipe/refuse.h"
#include "loader/options/loader_settings.h"
#include "loader/options/option_rules.h"

namespace headrace {
namespace {

bool lists_batches(const LoaderSettings& s) {
  const auto* const listed = s.sampler_order ? s.sampler_order->get<Listed>() : nullptr;
  return listed && !listed->batch_rows.empty();
}

/// What says how large batches are: one of the words, or the sampler.
Status settle_batch(LoaderSettings& s) {
  const bool sizes = s.batch_size != 0 || s.global_batch_size != 0, lists = lists_batches(s);
  const bool groups = !s.group_by.empty() || s.max_items != 0 || s.max_groups != 0;
  if (groups && s.group_by.empty())
    return refuse("max_items and max_groups bound batches of whole groups: group_by is missing",
                  "Give group_by=\"file\", or a field whose value is one in a group.");
  if (s.drop_last && s.tail && *s.tail != Tail::kDrop)
    return refuse("drop_last and tail contradict each other", "Give one of them.");
  if ((groups || lists) && (s.tail || s.drop_last))
    return refuse(
        "drop_last= and tail= do not apply to group_by= and a batch_sampler, which set the size of each batch",
        "Leave drop_last= and tail= out.");
  if (s.by_tokens && (sizes || groups || lists))
    return refuse(
        "a token budget sets the number of samples of a batch, and so do batch_size, global_batch_size, group_by and "
        "a batch_sampler",
        "Give one of them; max_samples= of the budget bounds the samples of a batch.");
  if (groups && sizes)
    return refuse("group_by and batch_size exclude each other: group_by makes batches of whole groups",
                  "Leave batch_size out; max_items= bounds the samples of a batch, max_groups= its groups.");
  if (lists && sizes)
    return refuse("a batch_sampler and batch_size exclude each other: the sampler sets the size of each batch",
                  "Leave batch_size and global_batch_size out.");
  if (s.batch_size != 0 && s.global_batch_size != 0)
    return refuse("batch_size and global_batch_size exclude each other", "Give one of them.");
  const Tail tail = s.tail.value_or(s.drop_last ? Tail::kDrop : Tail::kPartial);
  BatchChoice& batch = s.options.batch;
  batch = {};
  if (groups)
    batch = Groups{s.group_by, s.max_items != 0 ? s.max_items : Groups{}.max_items, s.max_groups};
  else if (s.by_tokens)
    batch.emplace<ByTokens>(*s.by_tokens).tail = tail;
  else if (s.batch_size != 0)
    batch = Samples{s.batch_size, tail};
  else if (s.global_batch_size != 0)
    batch = GlobalSamples{s.global_batch_size, tail};
  return {};
}

Status settle_order(LoaderSettings& s) {
  const bool groups = std::holds_alternative<Groups>(s.options.batch);
  if (groups && s.shuffle_buffer != ShuffleShape{})
    return refuse("shuffle_buffer= shapes the block shuffle; groups are shuffled whole", "Leave it out.");
  if (s.sampler_order && groups)
    return refuse("group_by and a sampler exclude each other: both decide the order", "Give one of them.");
  if (s.sampler_order && s.shuffle != ShuffleWord::kNone)
    return refuse("shuffle and a sampler exclude each other: both decide the order", "Give one of them.");
  if (s.shuffle_buffer != ShuffleShape{} && s.shuffle != ShuffleWord::kBlock)
    return refuse("shuffle_buffer= shapes the block shuffle; this is another order", "Give shuffle=True with it.");
  if (s.sampler_order)
    s.options.order = *s.sampler_order;
  else if (s.shuffle == ShuffleWord::kBlock)
    s.options.order = BlockShuffle{s.shuffle_buffer};
  else if (s.shuffle == ShuffleWord::kExact)
    s.options.order = ExactShuffle{};
  else
    s.options.order = InOrder{};
  return {};
}

}  // namespace

Status settle(LoaderSettings& settings) {
  LoaderOptions& options = settings.options;
  options.staged_batches = settings.device == "cpu" ? 0 : kStagedBatches;
  if (settings.device != "cpu" && settings.framework != "torch")
    return refuse(
        fmt::format("device={} takes tensors of torch, and framework is {}", settings.device, settings.framework),
        "Give framework=\"torch\" with it. JAX: headrace.jax.Loader copies to JAX's devices.");
  HEADRACE_TRY(settle_batch(settings));
  HEADRACE_TRY(settle_order(settings));
  if (options.cache.mode == CacheChoice::kDirectory) options.share = Share::kNothing;  // it is shared as it is
  return check_options(options);
}

LoaderSettings settings_of(const LoaderOptions& options) {
  LoaderSettings settings;
  settings.options = options;
  if (const Tail tail = tail_of(options.batch); tail != Tail::kPartial) settings.tail = tail;
  if (const auto* const samples = std::get_if<Samples>(&options.batch)) settings.batch_size = samples->size;
  if (const auto* const samples = std::get_if<GlobalSamples>(&options.batch))
    settings.global_batch_size = samples->size;
  if (const auto* const tokens = std::get_if<ByTokens>(&options.batch)) settings.by_tokens = *tokens;
  if (const auto* const groups = std::get_if<Groups>(&options.batch)) {
    settings.group_by = groups->by;
    if (groups->max_items != Groups{}.max_items) settings.max_items = groups->max_items;
    settings.max_groups = groups->max_groups;
  }
  if (const auto* const shuffle = options.order.get<BlockShuffle>()) {
    settings.shuffle = ShuffleWord::kBlock;
    settings.shuffle_buffer = shuffle->shape;
  } else if (options.order.is<ExactShuffle>()) {
    settings.shuffle = ShuffleWord::kExact;
  } else if (options.order.is_sampler()) {
    settings.sampler_order = options.order;
  }
  return settings;
}

}  // namespace headrace
