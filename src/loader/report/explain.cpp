// explain(): every automatic setting with its value and the reason.
#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>

#include "base/text/number_text.h"
#include "catalog/samples/visit_starts.h"
#include "dataset/dataset_contents.h"
#include "delivery/slot_pool.h"
#include "loader/loader_impl.h"
#include "loader/plan/mixing.h"

namespace headrace {
namespace {

std::string array_roles(const Source& source, const BlockLayout& layout, bool kept) {
  std::string text;
  for (std::size_t a = 0; a < source.num_arrays(); ++a) {
    const ArrayInfo& info = source.files[0].arrays[a]->info();
    switch (layout.files[0].roles[a]) {
      case ArrayRole::kAligned:
        break;
      case ArrayRole::kResident:
        text += fmt::format("\n               {} has chunks of {} rows: decoded once and kept in memory", info.path,
                            info.chunk_rows());
        break;
      case ArrayRole::kStraddling:
        text += fmt::format("\n               {} has chunks of {} rows that cross the blocks: decoded {}", info.path,
                            info.chunk_rows(), kept ? "again unless recently used" : "again for each block");
        break;
    }
  }
  return text;
}

/// When blocks are kept that the user did not ask to keep at once.
constexpr std::string_view kKeptWhen =
    "added while your loop works on a batch, and a few while it waits for one, so that the cache is full after some "
    "epochs";

/// \param mapped  What the samples are, where they are not rows; else empty. \param known  Was re-encoding tried
/// already? \param engine  That runs, or will, as the plan says.
std::string describe_keeping(const EnginePlan& p, const CacheChoice& choice, std::string_view mapped, bool known,
                             const Engine& engine) {
  const std::string_view units = p.boxes ? "chunks" : "rows";
  const double share = p.data_bytes ? static_cast<double>(p.cache_bytes) / static_cast<double>(p.data_bytes) : 0;
  if (engine.lacks_its_stores())
    return fmt::format("nothing is kept between epochs: {} could not be used, see the warnings",
                       p.tier == CacheTier::kDirectory ? choice.directory : "shared memory");
  switch (p.tier) {
    case CacheTier::kNothing:
      if (!mapped.empty() && choice.mode != CacheChoice::kNone)
        return fmt::format("nothing is kept between epochs: {}", p.tier_reason);
      return choice.mode == CacheChoice::kNone        ? "nothing is kept between epochs (cache='none')"
             : choice.mode == CacheChoice::kDirectory ? "nothing is kept between epochs: see WARNING"
             : !known ? "not decided yet: the first epoch measures whether re-encoded blocks fit, and keeps them if "
                        "that is faster"
                      : "nothing is kept between epochs: the batches take all of the budget";
    case CacheTier::kSomeBlocks:
      if (p.fits_encoded)
        return fmt::format("all blocks, re-encoded ({}), about {} for {} of rows: {}; from then on nothing is read",
                           to_string(p.coding),
                           format_bytes(static_cast<std::uint64_t>(p.coded_share * static_cast<double>(p.data_bytes))),
                           format_bytes(p.data_bytes), kKeptWhen);
      if (p.preloads)
        return fmt::format("all {}, decoded, {} ({}): decoded before the first batch; from then on nothing is decoded",
                           units, format_bytes(p.data_bytes), p.tier_reason);
      if (!mapped.empty())
        return fmt::format("{}, decoded, in {}: {:.0f} % of them ({}), {}", units, format_bytes(p.cache_bytes),
                           100 * std::min(share, 1.0), format_bytes(p.data_bytes),
                           p.keeps_all_units   ? "each when it is first decoded"
                           : p.draws_samples() ? "the first ones decoded"
                                               : kKeptWhen);
      return fmt::format("blocks, in {}: {:.0f} % of the decoded data ({}), {}", format_bytes(p.cache_bytes),
                         100 * std::min(share / p.coded_share, 1.0), format_bytes(p.data_bytes),
                         p.coding == BlockCoding::kRaw ? "more if re-encoding pays, which the first epoch measures"
                                                       : fmt::format("re-encoded ({})", to_string(p.coding)));
    case CacheTier::kAllRows:
      return fmt::format(
          "all rows, decoded, {} ({}): {}", format_bytes(p.data_bytes), p.tier_reason,
          p.preloads ? "decoded before the first batch; from then on nothing is decoded, whatever the order"
                     : "read when a batch first needs them; later ones are copied from there, whatever the order");
    case CacheTier::kHostRows:
      return fmt::format("{}, decoded, up to {} of {}, shared by the processes of this host ({})", units,
                         format_bytes(p.cache_bytes), format_bytes(p.data_bytes), p.tier_reason);
    case CacheTier::kDirectory:
      if (p.gather_ready)
        return fmt::format(
            "all {}, decoded, in {} of .npy files in {}: complete, so they are mapped and nothing is decoded", units,
            format_bytes(p.data_bytes), choice.directory);
      return fmt::format("all {}, decoded, in {} of .npy files in {}: written as they are decoded, mapped from then on",
                         units, format_bytes(p.data_bytes), choice.directory);
  }
  return "";
}

/// Steps of a token budget, of an epoch: how many, and how full.
std::string describe_budget(const EnginePlan& p, std::uint64_t epoch) {
  const BudgetSteps& budget = *p.budget;
  const BudgetOptions& options = budget.options();
  const CostSummary& costs = budget.costs();
  const auto steps = static_cast<double>(budget.num_steps(epoch)), lanes = static_cast<double>(options.lanes);
  const auto samples = static_cast<double>(budget.handed_out());
  const double rows = samples * static_cast<double>(costs.sum) / static_cast<double>(costs.samples);
  std::string text = fmt::format("{:.0f} in epoch {}, of {:.1f} samples on average ({}): up to {} rows, {:.0f} % full",
                                 steps, epoch, samples / steps / static_cast<double>(p.share.world_size),
                                 format_bytes(p.slot_bytes), group_digits(tokens_of_rank(budget, p.share.world_size)),
                                 100 * rows / (steps * lanes * static_cast<double>(options.tokens)));
  if (options.padded) text += " without its padding, which counts";
  if (options.most_samples != BudgetOptions{}.most_samples)
    text += fmt::format("; up to {} samples in each lane", options.most_samples);
  if (p.share.world_size > 1 || options.lanes > 1)
    text += fmt::format("; planned for up to {} ranks, {:.1f} samples over all", options.lanes, samples / steps);
  if (costs.too_long > 0)
    text += fmt::format("; {} samples are longer, up to {}, and come in steps of their own",
                        group_digits(costs.too_long), group_digits(costs.most));
  return text;
}

/// What boxes are made of, on average over their places.
std::string describe_parts(const BoxMap& boxes) {
  std::string text;
  for (std::size_t g = 0; g < boxes.groups().size(); ++g)
    text += fmt::format("{}{:.1f}", g == 0 ? "" : ", ", boxes.mean_parts(g));
  text = fmt::format("each has parts in {} chunks on average{}", text,
                     boxes.groups().size() > 1 ? " of its arrays, in the order of the fields" : "");
  const VisitStarts* const visits = boxes.visits();
  if (visits == nullptr) return text;
  const VisitShape& visit = visits->visit();
  if (visits->num_classes() > 0)
    return text + fmt::format("; {} visits an epoch, each of {} patches that are centred in one cell of {} voxels",
                              group_digits(visits->num_visits()), visit.num_boxes(),
                              fmt::join(visit.cell.begin(), visit.cell.begin() + visit.rank, " x "));
  std::string decoded;
  for (std::size_t g = 0; g < boxes.groups().size(); ++g)
    decoded += fmt::format("{}{:.2f}", g == 0 ? "" : ", ", boxes.visit_amplification_of(g));
  const auto first = [&](const Axes& axes) { return fmt::join(axes.begin(), axes.begin() + visit.rank, " x "); };
  return text + fmt::format(
                    "; {} visits an epoch, each of {} patches out of a cell of {} starts: about {} decoded bytes for "
                    "each delivered one while a visit is in the slots, and each voxel in {:.1f} of its patches",
                    group_digits(visits->num_visits()), first(visit.boxes), first(visit.cell), decoded,
                    visit_overlap(visit, boxes.box()));
}

}  // namespace

std::string explain_plan(const Loader::Impl& loader) {
  const std::shared_ptr<const Engine> engine = loader.engine();
  const EnginePlan& p = engine->plan();
  const SampleSource& source = impl_of(loader.dataset())->source;
  const Source* const rows = source.rows();
  const BlockTable& blocks = *p.blocks;
  const std::uint64_t block_bytes = blocks.max_block_rows() * source.sample_bytes();
  const RankShare share = p.share;
  std::string text;
  const auto line = [&](std::string_view key, const std::string& value) {
    text += fmt::format("{:<14} {}\n", key, value);
  };
  if (p.budget)
    line("batches", describe_budget(p, loader.consumer->position().epoch));
  else
    line("batches",
         fmt::format("{} an epoch, of {} samples ({}){}", p.num_batches, p.batch_rows, format_bytes(p.slot_bytes),
                     share.world_size > 1 ? fmt::format("; {} over all ranks", p.global_batch) : ""));
  if (share.world_size > 1) line("rank", fmt::format("{} of {} ({})", share.rank, share.world_size, p.rank_reason));
  line("order", fmt::format("{}, seed {}", p.order_text(), loader.options().seed));
  if (const auto mixing = loader.mixing(engine))
    line("  mixing", mixing_summary(*mixing) + (share.world_size > 1 ? "; of the batches of all ranks together" : ""));
  if (p.boxes) line("patches", describe_parts(*p.boxes));
  if (rows)
    line("blocks", fmt::format("{} of up to {} rows ({} decoded){}", blocks.num_blocks(), blocks.max_block_rows(),
                               format_bytes(block_bytes), array_roles(*rows, p.layout, p.side_chunks_bytes > 0)));
  else if (!p.draws_samples())
    line("blocks", fmt::format("{} of up to {} consecutive {} ({} in batches)", blocks.num_blocks(),
                               blocks.max_block_rows(), source.what(), format_bytes(block_bytes)));
  if (blocks.is_chosen() && !rows) {
    line("selection", fmt::format("{} of {} {}", blocks.num_rows(), blocks.num_stored_rows(), source.what()));
  } else if (blocks.is_chosen()) {
    std::uint64_t stored = 0;
    for (std::uint64_t b = 0; b < blocks.num_blocks(); ++b) stored += blocks.place(b).rows.count;
    line("selection",
         fmt::format("{} of {} rows; their blocks hold {}, all of which are decoded: {:.0f} % of the work is "
                     "for rows that are delivered",
                     blocks.num_rows(), blocks.num_stored_rows(), stored,
                     100.0 * static_cast<double>(blocks.num_rows()) / static_cast<double>(stored)));
  }
  if (const double decodes = p.decodes_over_ranks(); share.world_size > 1 && decodes > 0)
    line("over ranks",
         fmt::format("a block is decoded by {:.3f} of the {} ranks on average", decodes, share.world_size));
  if (const std::string_view why = to_string(loader.manager->reason()); !why.empty())
    line("replanned", std::string(why));
  for (const std::string& warning : p.warnings) line("WARNING", warning);
  line("cache",
       describe_keeping(p, loader.options().cache,
                        impl_of(loader.dataset())->source.mapped() ? impl_of(loader.dataset())->source.what() : "",
                        loader.manager->probed(), *engine));
  line("threads", fmt::format("{} ({})", p.threads, p.threads_reason));
  if (const std::uint32_t all = Engine::threads_of_process(); all > engine->num_threads() && engine->num_threads() > 0)
    line("  in all", fmt::format("{} threads of all loaders; those whose batches are ready sleep", all));
  line("memory", fmt::format("{} of a budget of {} ({})", format_bytes(p.planned_bytes()), format_bytes(p.budget_bytes),
                             p.budget_reason));
  const std::string more = p.draws_samples() ? "patches in the slots share decoded chunks"
                           : p.gathers       ? "batches are copied from the cache one by one"
                                             : fmt::format("{} would decode each block once an epoch", p.wanted_slots);
  line("  slots", fmt::format("{} x {} = {}; {}", p.slots, format_bytes(p.slot_bytes),
                              format_bytes(p.slots * p.slot_bytes), more));
  if (const std::uint64_t lent = engine->lent_bytes(); lent > 0)
    line("  lent", fmt::format("{} of the slots to other loaders, until they need it no more", format_bytes(lent)));
  if (const std::uint64_t pauses = loader.manager->pauses(); pauses > 0)
    line("  pauses", fmt::format("{}: all memory went to another loader in the middle of an epoch", pauses));
  if (const std::string others = loader.manager->other_holders(); !others.empty()) line("  others", others);
  if (p.cache_bytes) line("  cache", format_bytes(p.cache_bytes));
  line("  scratch", format_bytes(p.scratch_bytes + p.keeping_bytes));
  line("  read buffers", format_bytes(p.read_buffer_bytes));
  if (p.side_bytes()) line("  side fields", format_bytes(p.side_bytes()));
  line("  bookkeeping", format_bytes(p.index_bytes));
  if (p.staging_bytes)
    line("  staging", fmt::format("{} on the way to the device, for {} batches", format_bytes(p.staging_bytes),
                                  loader.options().staged_batches));
  if (p.draws_samples()) {
    line("decodes", p.keeps_all_units ? "each chunk once for all patches in the slots, and none once all are kept"
                                      : fmt::format("each chunk once for all patches in the slots, and again for "
                                                    "later ones{}: report() has the amplification",
                                                    p.tier == CacheTier::kSomeBlocks ? " unless it is kept" : ""));
    return text;
  }
  std::string straddling;
  for (std::size_t a = 0; rows && a < rows->num_arrays(); ++a)
    if (p.layout.files[0].roles[a] == ArrayRole::kStraddling)
      straddling += (straddling.empty() ? "" : ", ") + rows->files[0].arrays[a]->info().path;
  if (!straddling.empty())
    straddling =
        fmt::format("; chunks of {} more often, as they cross the blocks (more memory keeps more of them)", straddling);
  const std::optional<SmallBudget> small = loader.small_budget(engine);
  if (!small) {
    const bool short_window = p.keeps_all() && !p.gather_ready && p.slots < p.wanted_slots;
    line("decodes",
         std::string(source.mixture() ? "every block once per pass over its part of the mixture"
                     : short_window ? "every block once an epoch, and none once all are kept; until then some of them "
                                      "again, as their rows go into more batches than the slots hold"
                     : p.gathers    ? "every block once, and none in later epochs"
                     : p.keeps_all_units ? "every block once an epoch, and none once all are kept"
                                         : "every block once an epoch") +
             straddling);
    return text;
  }
  line("decodes",
       fmt::format("a block about {:.1f} times an epoch: its rows go into more batches than the slots hold{}",
                   small->decodes, straddling));
  if (small->fitting)
    line("  once", fmt::format("{}, in this budget: up to {:.1f} times as fast. {}", small->fitting->setting,
                               small->decodes, mixing_text(*small)));
  else if (small->is_shuffle)
    line("  once", no_shuffle_text(*small));
  if (small->memory_bytes)
    line(small->is_shuffle ? "  or" : "  once",
         fmt::format("memory=\"{}\": the same batches", size_setting(small->memory_bytes)));
  return text;
}

}  // namespace headrace
