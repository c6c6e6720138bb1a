#include "loader/plan/plan_order.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>
#include <cmath>

#include "assembly/copying/padding.h"
#include "base/random/philox.h"
#include "base/text/number_text.h"
#include "dataset/recipe/refuse.h"
#include "loader/options/group_choice.h"
#include "loader/options/option_rules.h"
#include "loader/plan/mixing.h"
#include "order/steps/cut_steps.h"
#include "order/steps/fixed_steps.h"

namespace headrace {
namespace {

/// Samples of a step over all ranks.
Result<std::uint64_t> resolve_global_batch(const LoaderOptions& options, RankShare share, std::uint64_t rows) {
  std::uint64_t global_batch = 0;
  if (const auto* const global = std::get_if<GlobalSamples>(&options.batch)) {
    global_batch = global->size;
    if (global_batch % share.world_size != 0)
      return refuse(fmt::format("global_batch_size {} is no multiple of the {} ranks", global_batch, share.world_size),
                    "Give a multiple, so that all ranks get as many samples.");
    if (global_batch / share.world_size > ~std::uint32_t{0}) return refuse("batch_size must be below 2^32");
  } else {
    global_batch = std::get<Samples>(options.batch).size * share.world_size;
  }
  if (tail_of(options.batch) == Tail::kDrop && global_batch > rows)
    return refuse(fmt::format("a batch of {}{} is larger than the data set ({} samples), and drop_last drops what does "
                              "not fill a batch: no batch would be left",
                              global_batch, share.world_size > 1 ? " over all ranks" : "", rows),
                  "Lower batch_size, or do without drop_last.");
  if (share.world_size > rows)
    return refuse(fmt::format("{} samples are too few for {} ranks: some would get none", rows, share.world_size),
                  "Use fewer ranks.");
  return global_batch;
}

/// The most samples of a step over all ranks, where batches are listed.
Result<std::uint64_t> bound_global_batch(RankShare share, const ListedRows& listed) {
  if (share.world_size > listed.num_batches())
    return refuse(
        fmt::format("{} batches are too few for {} ranks: some would get none", listed.num_batches(), share.world_size),
        "Use fewer ranks.");
  return std::min(listed.most_batch_rows() * share.world_size, listed.size());
}

/// Samples of a step over all ranks, on average, where a token budget cuts. \param lanes  Set to how many there are.
Result<std::uint64_t> mean_global_batch(const LoaderOptions& options, const PlanContext& context,
                                        const TokenLengths& lengths, std::uint64_t samples, std::uint32_t& lanes) {
  const std::uint32_t world = context.rank.share.world_size;
  const auto& choice = std::get<ByTokens>(options.batch);
  lanes = choice.lanes != 0 ? choice.lanes : context.lanes != 0 ? context.lanes : world;
  if (world > lanes)
    return refuse(
        fmt::format("the steps are planned for {} rank{}, and there are {}", lanes, plural(lanes), world),
        fmt::format("Give lanes={} or more to the first run: the largest number of ranks there will be.", world));
  if (samples < (choice.tail == Tail::kDrop ? lanes : world))
    return refuse(fmt::format("{} samples are too few for {} lanes: no step would be full", samples, lanes),
                  "Use fewer ranks or lanes, or do without drop_last.");
  return lengths.costs.mean_samples(budget_options(options, lanes));
}

Status check_weights(const Weighted& choice, std::uint64_t rows, std::uint64_t& positive) {
  if (choice.weights.size() != rows)
    return refuse(fmt::format("there are {} weights for {} rows", choice.weights.size(), rows),
                  "Give one for each row.");
  for (std::uint64_t i = 0; i < rows; ++i) {
    if (!std::isfinite(choice.weights[i]) || choice.weights[i] < 0)
      return refuse(fmt::format("the weight of row {} is {}", i, choice.weights[i]),
                    "Weights are finite and not negative.");
    positive += choice.weights[i] > 0;
  }
  if (positive == 0) return refuse("all weights are 0", "Give at least one row a weight.");
  return {};
}

/// A sampler as chosen by the caller, where it is no list.
Result<std::shared_ptr<const Sampler>> make_chosen(const Order& order, const std::shared_ptr<const BlockTable>& blocks,
                                                   const Label* label, std::uint64_t seed) {
  using Made = std::shared_ptr<const Sampler>;
  const std::uint64_t rows = blocks->num_rows();
  if (const auto* weighted = order.get<Weighted>()) {
    std::uint64_t positive = 0;
    HEADRACE_TRY(check_weights(*weighted, rows, positive));
    const std::uint64_t most = weighted->replacement ? rows : positive;
    const std::uint64_t samples = weighted->num_samples ? weighted->num_samples : most;
    if (!weighted->replacement && samples > positive)
      return refuse(fmt::format("{} samples cannot be drawn without replacement from {} rows of positive weight",
                                samples, positive),
                    "Lower num_samples, or draw with replacement.");
    return Made(make_weighted(blocks, weighted->weights, weighted->replacement, samples, seed));
  }
  if (const auto* balanced = order.get<Balanced>()) {
    if (!label || label->classes.empty()) return without_classes(balanced->by, "balance");
    return Made(make_balanced(blocks, label->classes, label->num_classes,
                              balanced->num_samples ? balanced->num_samples : rows, seed));
  }
  return Made();
}

/// Steps of a budget are planned ahead: the order has to be known, and the same whenever it is asked for.
Status check_sampler_of_budget(const LoaderOptions& options) {
  const bool online = options.order.is<OnlineSampler>();
  if (!online && !options.order.is<Listed>()) return {};
  return Error(ErrorCode::kUnsupported, fmt::format("a token budget with a sampler that {} is not there yet",
                                                    online ? "gives rows during the epoch (lookahead=)" : "lists rows"))
      .with_hint("Use shuffle=, Weighted or Balanced, or batch_size= with this sampler.");
}

/// \param share  Of what may be mixed, that is left to these rows. \return  Nullopt: one permutation of all rows.
std::optional<BlockShuffleShape> resolve_shape(const ShuffleShape& asked, const BlockTable& blocks,
                                               std::uint64_t global_batch, std::uint64_t row_bytes, double share = 1) {
  if (asked == ShuffleShape{}) return default_shuffle(blocks, global_batch, row_bytes, share);
  if (asked.bytes == 0) return BlockShuffleShape{asked.streams, asked.pool_blocks};
  const auto bytes = static_cast<std::uint64_t>(share * static_cast<double>(asked.bytes));
  return shuffle_of_bytes(blocks, std::max<std::uint64_t>(bytes, 1), row_bytes, global_batch);
}

BlockShuffleShape resolve_visits(const ShuffleShape& asked, const BlockTable& blocks, std::uint64_t global_batch,
                                 std::uint64_t row_bytes) {
  if (asked == ShuffleShape{} || asked.bytes != 0)
    return visit_shuffle_shape(blocks, global_batch, row_bytes, asked.bytes);
  return BlockShuffleShape{asked.streams, asked.pool_blocks};
}

std::shared_ptr<const Sampler> make_shuffle(const std::shared_ptr<const BlockTable>& blocks,
                                            std::optional<BlockShuffleShape> shape, std::uint64_t seed) {
  return shape ? make_block_shuffle(blocks, *shape, seed) : make_global_shuffle(blocks, seed);
}

/// The parts of a mixture, each in the order of the options.
std::shared_ptr<const Sampler> make_mixed(const SourceMixture& mixture, const BlockTable& blocks,
                                          const LoaderOptions& options, std::uint64_t global_batch,
                                          std::uint64_t row_bytes) {
  std::vector<MixturePart> parts;
  for (std::size_t i = 0; i < mixture.parts.size(); ++i) {
    const SourceMixture::MixedFiles& part = mixture.parts[i];
    const auto table = std::make_shared<const BlockTable>(blocks.of_files(part.first_file, part.num_files));
    const std::uint64_t seed = RandomKey::of({options.seed, i}).low;
    MixturePart& made = parts.emplace_back();
    made = {part.name, nullptr, blocks.first_block_of(part.first_file), part.weight};
    if (const auto* const shuffle = options.order.get<BlockShuffle>()) {
      const auto batch = static_cast<std::uint64_t>(static_cast<double>(global_batch) * part.weight);
      made.sampler = make_shuffle(
          table, resolve_shape(shuffle->shape, *table, std::max<std::uint64_t>(batch, 1), row_bytes, part.weight),
          seed);
    } else {
      made.sampler = options.order.is<ExactShuffle>() ? make_global_shuffle(table, seed) : make_sequential(table);
    }
  }
  return make_mixture(std::move(parts), mixture.num_samples, options.seed);
}

}  // namespace

static Status check_derived_names(const std::vector<Field>& fields, const EnginePlan& plan) {
  for (const Field& field : fields)
    if ((plan.padding && (field.name == "mask" || field.name == "lengths")) ||
        (plan.delivers_row_ids && field.name == "_rows") || (plan.delivers_weights && field.name == "_weight") ||
        (plan.groups && (field.name == "_group" || field.name == "_group.offsets")))
      return refuse(fmt::format("the data has a field named {}, which is the name of a derived one", field.name),
                    "Give that field another name.")
          .with_field(field.name);
  return {};
}

std::shared_ptr<ListedRows> listed_rows_of(const Order& order) {
  const Listed& listed = *order.get<Listed>();
  return std::make_shared<ListedRows>(
      ListedRows::List{ListedRows::Rows(order.shared(), &listed.rows), batch_ends_of(listed.batch_rows)},
      listed.every_epoch);
}

Status check_listed(const ListedRows::List& list, std::uint64_t rows) {
  if (list.rows->empty())
    return refuse(fmt::format("the sampler gave no rows; at least one number from 0 to {} is expected", rows - 1),
                  "It must give row numbers of the data set every time it is iterated: a list, an array, a torch "
                  "sampler. An iterator gives them only once.");
  for (const std::uint64_t row : *list.rows)
    if (row >= rows)
      return refuse(fmt::format("the sampler asks for row {}; there are rows 0 to {}", row, rows - 1),
                    "Row numbers are those of the data set, from 0.");
  if (!list.batch_ends) return {};
  std::uint64_t before = 0;
  for (std::size_t b = 0; b < list.batch_ends->size(); ++b) {
    const std::uint64_t end = (*list.batch_ends)[b];
    if (end == before) return refuse(fmt::format("batch {} of the sampler is empty", b), "Leave empty batches out.");
    if (end < before || end > list.rows->size() || end - before > ~std::uint32_t{0})
      return refuse(fmt::format("batch {} of the sampler has {} rows; {} rows are left", b, end - before,
                                list.rows->size() - before),
                    "The sizes of the batches add up to the number of rows.");
    before = end;
  }
  if (before != list.rows->size())
    return refuse(
        fmt::format("the batches of the sampler have {} rows together; {} are listed", before, list.rows->size()),
        "The sizes of the batches add up to the number of rows.");
  return {};
}

std::shared_ptr<const StepPlan> make_steps(const EnginePlan& plan, std::shared_ptr<const Sampler> sampler,
                                           const std::shared_ptr<const ListedRows>& listed) {
  if (plan.groups) return std::make_shared<const CutSteps>(std::move(sampler), plan.groups, plan.share);
  if (listed && listed->num_batches() > 0)
    return std::make_shared<const CutSteps>(std::move(sampler), make_listed_cuts(plan.blocks, listed), plan.share);
  return std::make_shared<const FixedSteps>(std::move(sampler), plan.global_batch, plan.share, plan.tail);
}

Result<std::shared_ptr<const BudgetSteps>> make_budget_steps(const EnginePlan& plan, const LoaderOptions& options,
                                                             std::shared_ptr<const Sampler> sampler,
                                                             std::uint32_t lanes) {
  HEADRACE_ASSIGN(auto made,
                  BudgetSteps::make(std::move(sampler), *plan.blocks, plan.lengths->index,
                                    budget_options(options, lanes), plan.share, options.seed, plan.lengths->costs));
  return std::shared_ptr<const BudgetSteps>(std::move(made));
}

Status plan_order(const SampleSource& source, const LoaderOptions& options, const PlanContext& context,
                  EnginePlan& plan) {
  const std::shared_ptr<const BlockTable> blocks = plan.blocks;
  const std::uint64_t rows = blocks->num_rows(), row_bytes = source.sample_bytes();
  HEADRACE_TRY(check_samples(source, options));
  if (const MappedSource* const mapped = source.mapped()) {
    plan.map = mapped->map;
    plan.map_rows = mapped->groups[0].layout.table;
    plan.boxes = mapped->boxes;
    plan.delivers_valid = mapped->delivers_valid;
    if (options.layout == BatchLayout::kPadded) {
      HEADRACE_ASSIGN(plan.padding, make_padding(*mapped, options.fill));
    }
  } else if (options.layout == BatchLayout::kPadded) {
    return refuse("layout='padded' fills up ragged samples: no field is ragged",
                  "Leave layout= out: the samples are rows, of one shape.")
        .with_file(source.first_path());
  }
  if (const auto* const choice = std::get_if<Groups>(&options.batch)) {
    const auto groups = context.groups ? context.groups : std::make_shared<const GroupTable>(groups_by_file(*blocks));
    plan.groups = std::make_shared<const Grouped>(blocks, groups, GroupLimits{choice->max_items, choice->max_groups},
                                                  options.order.is<BlockShuffle>(), options.seed);
    plan.sampler = plan.groups;
    const Source* const rows_of_files = source.rows();
    if (choice->by == "file" && rows_of_files && rows_of_files->files[0].axes.size() > 1)
      plan.warnings.push_back(
          "group_by=\"file\" makes a group of each file, whose samples lie along several axes: whole recordings are "
          "group_by=0, the places along the first axis");
  }
  std::uint32_t lanes = 0;
  const auto* const by_tokens = std::get_if<ByTokens>(&options.batch);
  if (by_tokens) {
    plan.lengths = context.lengths;
    if (!plan.lengths) {
      HEADRACE_ASSIGN(plan.lengths, token_lengths_of(source.mapped(), *by_tokens));
    }
    HEADRACE_TRY(check_sampler_of_budget(options));
  }
  if (options.order.is_sampler()) {
    if (const auto* choice = options.order.get<OnlineSampler>()) {
      if (choice->num_samples == 0) return refuse("an epoch of 0 samples", "Say how many there will be.");
      plan.online = std::make_shared<OnlineRows>();
      plan.sampler = make_online(blocks, plan.online, choice->num_samples);
    } else if (options.order.is<Listed>()) {
      plan.listed = context.listed ? context.listed : listed_rows_of(options.order);
      HEADRACE_TRY(check_listed(plan.listed->newest(), rows));
      plan.sampler = make_listed(blocks, plan.listed);
    } else {
      HEADRACE_ASSIGN(plan.sampler, make_chosen(options.order, blocks, context.label, options.seed));
    }
  }
  const std::uint64_t samples = source.mixture() ? source.mixture()->num_samples
                                : plan.sampler   ? plan.sampler->num_samples()
                                                 : rows;
  if (plan.groups) {
    const std::uint32_t world = context.rank.share.world_size;
    const std::uint64_t batches = plan.groups->epoch(0)->batch_ends().size();
    if (world > batches)
      return refuse(fmt::format("{} batches of groups are too few for {} ranks: some would get none", batches, world),
                    "Lower max_items or max_groups, or use fewer ranks.");
    plan.global_batch = std::min(plan.groups->most_batch_rows() * world, samples);
  } else if (plan.listed && plan.listed->num_batches() > 0) {
    HEADRACE_ASSIGN(plan.global_batch, bound_global_batch(context.rank.share, *plan.listed));
  } else if (by_tokens) {
    HEADRACE_ASSIGN(plan.global_batch, mean_global_batch(options, context, *plan.lengths, samples, lanes));
  } else {
    HEADRACE_ASSIGN(plan.global_batch, resolve_global_batch(options, context.rank.share, samples));
  }
  plan.share = context.rank.share;
  plan.tail = tail_of(options.batch);
  const std::uint64_t global_batch = plan.global_batch;
  plan.rank_reason = context.rank.reason;
  plan.delivers_row_ids = options.provenance;
  plan.seed = options.seed;
  const auto* const shuffle = options.order.get<BlockShuffle>();
  const ShuffleShape asked = shuffle ? shuffle->shape : ShuffleShape{};
  const bool visits = plan.boxes && plan.boxes->visits();
  if (source.mixture()) {
    plan.sampler = make_mixed(*source.mixture(), *blocks, options, global_batch, row_bytes);
  } else if (!plan.sampler) {
    // Draws are as good in one order as in another; those of a visit come in different batches, shuffled or not.
    const bool draws = plan.draws_samples();
    if (draws ? visits : shuffle != nullptr)
      plan.shape = visits ? resolve_visits(asked, *blocks, global_batch, row_bytes)
                          : resolve_shape(asked, *blocks, global_batch, row_bytes);
    plan.is_shuffled = !options.order.is<InOrder>() && !draws;
    plan.sampler = plan.is_shuffled || (draws && visits) ? make_shuffle(blocks, plan.shape, options.seed)
                                                         : make_sequential(blocks);
  }
  if (by_tokens) {
    HEADRACE_ASSIGN(plan.budget, make_budget_steps(plan, options, plan.sampler, lanes));
    plan.steps = plan.budget;
  } else {
    plan.steps = make_steps(plan, plan.sampler, plan.listed);
  }
  plan.batch_rows = plan.steps->most_rows();
  plan.num_batches = plan.budget ? plan.budget->about_steps() : plan.steps->num_steps(0);
  plan.delivers_weights = context.delivers_weights || plan.steps->repeats_samples(0);
  HEADRACE_TRY(check_derived_names(*source.fields(), plan));
  if (plan.delivers_weights && plan.tail == Tail::kPartial &&
      (plan.budget || (!plan.groups && plan.steps->identity().empty())))
    plan.warnings.push_back(
        fmt::format("a last step {} fewer samples than there are ranks: a rank without a sample gets a repeated one, "
                    "and every batch has a field _weight, 0 for repeats. Multiply the loss by it, or use tail=\"drop\"",
                    plan.budget ? "can have" : "has"));
  if (plan.budget && lanes % plan.share.world_size != 0)
    plan.warnings.push_back(
        fmt::format("{} lanes cannot be divided by {} ranks: a rank's part of a step can be above the budget. Use a "
                    "number of ranks that divides them",
                    lanes, plan.share.world_size));

  if (plan.is_shuffled && plan.shape && asked == ShuffleShape{})
    if (std::string warning = mixing_warning(*plan.shape, *blocks, global_batch, row_bytes); !warning.empty())
      plan.warnings.push_back(std::move(warning));
  const std::uint64_t buffer_bytes = asked.bytes;
  if (buffer_bytes != 0 && buffer_bytes < global_batch * row_bytes)
    plan.warnings.push_back(fmt::format(
        "shuffle_buffer={0} is a size in bytes, less than one batch ({1}): samples are hardly mixed. A buffer of {0} "
        "samples would be shuffle_buffer={2}; without shuffle_buffer= it is as large as good mixing needs",
        buffer_bytes, format_bytes(global_batch * row_bytes), buffer_bytes * row_bytes));

  const std::uint64_t stream_rows = plan.shape ? samples / std::max<std::uint64_t>(plan.shape->streams, 1) : samples;
  if (plan.shape && !plan.draws_samples() && plan.shape->streams > 1 && blocks->max_block_rows() > stream_rows)
    plan.warnings.push_back(
        fmt::format("the largest block has {} rows and a stream only {}: such a block is spread over several streams "
                    "and read for each; use smaller chunks, or shuffle_buffer= with fewer than {} streams",
                    blocks->max_block_rows(), stream_rows, plan.shape->streams));
  return {};
}

}  // namespace headrace
