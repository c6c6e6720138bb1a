// order: how well an order mixes, what it needs in memory, and what another shape would change. From the plan alone;
// only a label column is read, when one is named.
#include <fmt/format.h>
#include <headrace/base/bytes.h>
#include <headrace/tools/tools.h>

#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "delivery/slot_pool.h"
#include "loader/access.h"
#include "loader/label.h"
#include "order/quality.h"
#include "tools/json.h"
#include "tools/order_picture.h"
#include "tools/text_table.h"

namespace headrace {
namespace {

constexpr std::uint64_t kBatchesLookedAt = 1024;
constexpr std::size_t kPictureRows = 16, kPictureColumns = 80, kPlotRows = 96, kPlotColumns = 96;
constexpr double kGoodEffect = 1.1;

/// Block of every row of the data set.
std::vector<std::uint32_t> blocks_of_rows(const BlockTable& blocks) {
  std::vector<std::uint32_t> out;
  out.reserve(blocks.num_rows());
  for (std::uint64_t b = 0; b < blocks.num_blocks(); ++b)
    out.insert(out.end(), blocks.block_rows(b), static_cast<std::uint32_t>(b));
  return out;
}

struct LabelFigures {
  double correlation = 0;  // within blocks
  double effect = 0;       // of the batches themselves
  double entropy_bits = 0, whole_entropy_bits = 0;
};

/// Deff of a label over the batches of an epoch: from classes by their shares, from a quantity by its means.
LabelFigures label_figures(const Label& label, const Sampler& sampler, const BlockTable& blocks,
                           std::uint64_t global_batch, std::uint64_t epoch) {
  LabelFigures out;
  const std::vector<std::uint32_t> groups = blocks_of_rows(blocks);
  const bool classes = !label.classes.empty();
  out.correlation = classes ? intra_group_correlation_of_classes(label.classes, label.num_classes, groups)
                            : intra_group_correlation(label.values, groups);
  std::vector<std::uint64_t> sizes(label.num_classes);
  for (const std::uint32_t c : label.classes) ++sizes[c];
  GroupSpread spread(sizes);
  double mean = 0, variance = 0, squares = 0;
  for (const double v : label.values) mean += v / static_cast<double>(label.values.size());
  for (const double v : label.values) variance += (v - mean) * (v - mean) / static_cast<double>(label.values.size());
  const std::uint64_t steps = std::min(sampler.num_samples() / global_batch, kBatchesLookedAt);
  const auto cursor = sampler.cursor({epoch, 0, global_batch, {}});
  std::vector<SampleRef> samples, passed;
  std::vector<std::uint32_t> drawn;
  for (std::uint64_t s = 0; s < steps; ++s) {
    samples.clear(), passed.clear(), drawn.clear();
    cursor->next_step(samples, passed);
    double sum = 0;
    for (const SampleRef r : samples) {
      const std::uint64_t row = blocks.first_row(r.block) + r.row;
      if (classes)
        drawn.push_back(label.classes[row]);
      else
        sum += label.values[row] - mean;
    }
    if (classes)
      spread.add(drawn);
    else if (!samples.empty())
      squares += sum * sum / static_cast<double>(samples.size());
  }
  out.effect = classes                     ? spread.design_effect()
               : variance > 0 && steps > 0 ? squares / static_cast<double>(steps) / variance
                                           : 1;
  out.entropy_bits = spread.entropy_bits();
  out.whole_entropy_bits = spread.whole_entropy_bits();
  return out;
}

/// A shape of the order, with its quality and its price.
struct Choice {
  std::string name;
  OrderQuality quality;
  std::optional<LabelFigures> label;
  std::uint64_t memory_bytes = 0;  // with which every block is decoded once

  /// What a training feels: of the label if there is one, else of what is constant in a block, which is the worst.
  [[nodiscard]] double effect() const { return label ? label->effect : quality.block_effect; }
};

std::uint64_t memory_of(const EnginePlan& plan, const Sampler& sampler) {
  const std::uint64_t span = sampler.span_steps(plan.global_batch, plan.share);
  const std::uint64_t slots = span + SlotPool::kHeldSlots + 8;
  const std::uint64_t slot = plan.slot_bytes + plan.index_bytes / std::max<std::uint64_t>(plan.slots, 1);
  return slots * slot + plan.scratch_bytes + plan.read_buffer_bytes + plan.side_bytes();
}

/// The order as it is, and others. At the global batch.
std::vector<Choice> choices_of(const Loader& loader, const std::optional<Label>& label, std::uint64_t epoch) {
  const std::shared_ptr<const Engine> engine = engine_of(loader);
  const EnginePlan& plan = engine->plan();
  const std::shared_ptr<const BlockTable> blocks = plan.layout.table;
  const std::uint64_t whole = plan.global_batch;
  const std::uint64_t row_bytes = loader.dataset().sample_bytes();
  std::vector<Choice> out;
  const auto add = [&](std::string name, const Sampler& sampler) {
    std::optional<LabelFigures> figures;
    if (label) figures = label_figures(*label, sampler, *blocks, whole, epoch);
    out.push_back({std::move(name), measure_order(sampler, *blocks, whole, {}, epoch, kBatchesLookedAt), figures,
                   memory_of(plan, sampler)});
  };
  add("as it is", *plan.sampler);
  if (loader.options().shuffle.mode() != Shuffle::kBlock || source_of(loader.dataset()).mixture) return out;
  std::uint64_t bytes =
      plan.shape.mixed_blocks() * (blocks->num_rows() / std::max<std::uint64_t>(blocks->num_blocks(), 1)) * row_bytes;
  for (int i = 0; i < 2; ++i) {
    bytes *= 2;
    const BlockShuffleShape shape = shuffle_shape_of_bytes(*blocks, bytes, row_bytes);
    if (shape == plan.shape || shape.mixed_blocks() >= blocks->num_blocks()) break;
    const std::uint64_t mebibytes = std::max<std::uint64_t>(bytes >> 20, 1);
    add(fmt::format("shuffle_buffer=\"{}MiB\"", mebibytes),
        *make_block_shuffle(blocks, shuffle_shape_of_bytes(*blocks, mebibytes << 20, row_bytes),
                            loader.options().seed));
  }
  add("shuffle=\"exact\"", *make_global_shuffle(blocks, loader.options().seed));
  return out;
}

std::string effect_text(double effect) {
  return effect < 10 ? fmt::format("{:.2f}", effect) : fmt::format("{:.0f}", effect);
}

Json quality_json(const OrderQuality& q) {
  return {{"batch_rows", q.batch_rows},
          {"batches", q.batches},
          {"block_effect", q.block_effect},
          {"file_effect", q.file_effect},
          {"blocks_a_batch", q.blocks_a_batch},
          {"blocks_by_chance", q.blocks_by_chance},
          {"files_a_batch", q.files_a_batch},
          {"files_by_chance", q.files_by_chance},
          {"same_block_neighbours", q.same_block_neighbours},
          {"lag_correlation", q.lag_correlation}};
}

/// What else could be done; nothing where rows are drawn by weight or by somebody else.
std::string advice(const std::vector<Choice>& choices, const Loader& loader) {
  const Choice& own = choices.front();
  if (loader.options().sampler || source_of(loader.dataset()).mixture)
    return "Deff is that against the shares in the files: rows that are drawn more often, as wanted, count as well";
  if (loader.options().shuffle.mode() == Shuffle::kExact)
    return "nothing mixes better; shuffle=True decodes blocks once";
  if (loader.options().shuffle.mode() == Shuffle::kNone)
    return "the order is not a block shuffle: shuffle=True mixes blocks and decodes each once an epoch";
  if (own.effect() <= kGoodEffect)
    return fmt::format(
        "batches are as good as independent draws{}; more mixing would change nothing that a training sees",
        own.label ? " for this label" : "");
  for (const Choice& c : choices)
    if (&c != &own && c.effect() < 0.75 * own.effect())
      return fmt::format("{} lowers Deff from {} to {}, and decodes each block once with memory={}{}", c.name,
                         effect_text(own.effect()), effect_text(c.effect()), format_bytes(c.memory_bytes),
                         own.label ? "" : "; name a label (by) to see what the rows of a block really have in common");
  return "the blocks are few: write the files with smaller chunks to mix better";
}

}  // namespace

ToolResult order(const Loader& loader, const OrderOptions& options) {
  const std::shared_ptr<const Engine> engine = engine_of(loader);
  const EnginePlan& plan = engine->plan();
  if (plan.fed)
    throw Error(ErrorCode::kInvalidArgument,
                "the order is made up while the epoch goes on: nothing is known beforehand")
        .with_hint("Leave lookahead out, or look at the rows that were delivered (provenance).");
  if (plan.sampler->num_samples() < plan.global_batch)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("an epoch of {} samples has no full batch of {}: there is nothing to measure",
                            plan.sampler->num_samples(), plan.global_batch))
        .with_hint("Ask with a smaller batch_size.");
  const BlockTable& blocks = *plan.layout.table;
  const Sampler& sampler = *plan.sampler;
  const std::uint64_t whole = plan.global_batch;
  std::optional<Label> label;
  if (!options.by.empty()) label = read_label(loader.dataset(), options.by);
  const std::vector<Choice> choices = choices_of(loader, label, options.epoch);
  const OrderQuality& global = choices.front().quality;
  const std::optional<LabelFigures>& figures = choices.front().label;
  const std::uint32_t world = plan.share.world_size;
  const OrderQuality rank =
      world > 1 ? measure_order(sampler, blocks, whole, {0, world}, options.epoch, kBatchesLookedAt) : global;
  std::string text;
  const auto line = [&](std::string_view key, const std::string& value) { text += paragraph(key, 12, value); };
  line("ORDER", fmt::format("{}; seed {}, epoch {}", sampler.describe(), loader.options().seed, options.epoch));
  line("BATCHES",
       fmt::format("{} samples{}, {} an epoch; a batch draws from {:.0f} of {} blocks (by chance {:.0f}) and "
                   "{:.1f} of {} files (by chance {:.1f})",
                   whole, world > 1 ? fmt::format(" over {} ranks", world) : "", plan.num_batches,
                   global.blocks_a_batch, blocks.num_blocks(), global.blocks_by_chance, global.files_a_batch,
                   blocks.num_files(), global.files_by_chance));
  line("DEFF", fmt::format("{} for what is constant in a block, {} for what is constant in a file (1: as independent "
                           "draws; {}: each batch is one block; below 1: more even than chance)",
                           effect_text(global.block_effect), effect_text(global.file_effect), whole));
  if (world > 1)
    line("", fmt::format("{} and {} for a rank's {} samples", effect_text(rank.block_effect),
                         effect_text(rank.file_effect), rank.batch_rows));
  if (figures) {
    line("LABEL", fmt::format("{}: Deff {} over this epoch's batches; correlation within blocks {:.3f}, with which it "
                              "would be {} if other blocks had nothing in common",
                              label->name, effect_text(figures->effect), figures->correlation,
                              effect_text(1 + figures->correlation * (global.block_effect - 1))));
    if (!label->classes.empty())
      line("", fmt::format("{} classes; entropy of a batch {:.2f} bits, of all data {:.2f}", label->num_classes,
                           figures->entropy_bits, figures->whole_entropy_bits));
  }
  line("NEIGHBOURS", fmt::format("{:.1f} % of neighbours in a batch are of one block; correlation of a batch with the "
                                 "next {:+.2f}",
                                 100 * global.same_block_neighbours, global.lag_correlation));
  const double decodes = plan.expected_decodes();
  line("MEMORY", fmt::format("each block is decoded once with memory={}; this loader has {} and decodes each {}",
                             format_bytes(memory_of(plan, sampler)), format_bytes(plan.budget_bytes),
                             decodes <= 1 ? "once" : fmt::format("about {:.0f} times", decodes)));
  if (choices.size() > 1) {
    TextTable table({{"order"},
                     {label ? "Deff, label" : "", TextTable::Align::kRight},
                     {"Deff, blocks", TextTable::Align::kRight},
                     {"files", TextTable::Align::kRight},
                     {"blocks a batch", TextTable::Align::kRight},
                     {"memory, decoding once", TextTable::Align::kRight}});
    for (const Choice& c : choices)
      table.add({c.name, label ? effect_text(c.label->effect) : "", effect_text(c.quality.block_effect),
                 effect_text(c.quality.file_effect), fmt::format("{:.0f}", c.quality.blocks_a_batch),
                 format_bytes(c.memory_bytes)});
    text += '\n';
    for (const std::string& row : table.lines()) text += "  " + row + "\n";
    text += '\n';
  }
  const OrderPicture picture = draw_order(sampler, blocks, whole, options.epoch, kPictureRows, kPictureColumns);
  text += "where batches come from, the data in file order from left to right\n";
  const std::vector<std::string> drawn = picture.lines();
  for (std::size_t i = 0; i < drawn.size(); ++i)
    text += fmt::format("  batch {:>8} |{}|\n", group_digits(picture.batches[i]), drawn[i]);
  const std::string recommendation = advice(choices, loader);
  line("DO", recommendation);

  Json json = {{"order", sampler.identity()},
               {"seed", loader.options().seed},
               {"epoch", options.epoch},
               {"world_size", world},
               {"global_batch", whole},
               {"num_batches", plan.num_batches},
               {"blocks", blocks.num_blocks()},
               {"files", blocks.num_files()},
               {"global", quality_json(global)},
               {"rank", quality_json(rank)},
               {"memory_bytes", memory_of(plan, sampler)},
               {"budget_bytes", plan.budget_bytes},
               {"advice", recommendation}};
  if (figures)
    json["label"] = {{"name", label->name},
                     {"classes", label->num_classes},
                     {"correlation", figures->correlation},
                     {"planned_effect", 1 + figures->correlation * (global.block_effect - 1)},
                     {"effect", figures->effect},
                     {"entropy_bits", figures->entropy_bits},
                     {"whole_entropy_bits", figures->whole_entropy_bits}};
  json["choices"] = Json::array();
  for (const Choice& c : choices)
    json["choices"].push_back({{"name", c.name},
                               {"memory_bytes", c.memory_bytes},
                               {"effect", c.effect()},
                               {"quality", quality_json(c.quality)}});
  ToolResult result;
  result.text = std::move(text);
  result.json = dump(json);
  result.plot = draw_order(sampler, blocks, whole, options.epoch, kPlotRows, kPlotColumns).svg();
  return result;
}

}  // namespace headrace
