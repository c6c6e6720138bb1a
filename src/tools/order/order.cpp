// order: how well an order mixes, what it needs in memory, and what another shape would change. From the plan alone;
// only a label column is read, when one is named.
#include <fmt/format.h>
#include <headrace/bytes.h>
#include <headrace/tools.h>

#include <algorithm>
#include <cmath>

#include "base/text/number_text.h"
#include "dataset/facts/label.h"
#include "loader/engine/access.h"
#include "loader/engine/small_budget.h"
#include "loader/plan/window_decodes.h"
#include "order/quality.h"
#include "tools/json.h"
#include "tools/order/order_picture.h"
#include "tools/text_table.h"

namespace headrace {
namespace {

constexpr std::uint64_t kBatchesLookedAt = 1024;
constexpr std::uint64_t kInARow = 16;  // batches that a running mean, momentum or Adam's, sees as one
constexpr std::size_t kPictureRows = 16, kPictureColumns = 80, kPlotRows = 96, kPlotColumns = 96;

/// What holds of a label whatever the order.
struct LabelFacts {
  LabelFacts(Label read, const BlockTable& blocks) : label(std::move(read)), class_rows(label.num_classes) {
    std::vector<std::uint64_t> rows(blocks.num_blocks());  // of which the label is known
    std::vector<std::uint32_t> classes;
    std::vector<double> values;
    for (std::uint64_t b = 0; b < rows.size(); ++b)
      for (std::uint64_t row = blocks.first_row(b), end = row + blocks.block_rows(b); row < end; ++row) {
        if (!is_known(row)) continue;
        ++rows[b];
        if (has_classes())
          classes.push_back(label.classes[row]);
        else
          values.push_back(label.values[row]);
      }
    correlation = has_classes() ? intra_group_correlation_of_classes(classes, label.num_classes, rows)
                                : intra_group_correlation(values, rows);
    for (const std::uint32_t c : classes) ++class_rows[c];
    const auto n = static_cast<double>(values.size());
    for (const double v : values) mean += v / n;
    for (const double v : values) variance += (v - mean) * (v - mean) / n;
  }
  [[nodiscard]] bool is_known(std::uint64_t row) const {
    return has_classes() ? label.classes[row] != Label::kNoClass : std::isfinite(label.values[row]);
  }
  /// Return how many rows have a label that is NaN or infinite.
  [[nodiscard]] std::uint64_t num_unknown() const {
    std::uint64_t unknown = 0;
    for (std::uint64_t row = 0; row < std::max(label.classes.size(), label.values.size()); ++row)
      unknown += !is_known(row);
    return unknown;
  }
  [[nodiscard]] bool has_classes() const { return !label.classes.empty(); }

  Label label;
  std::vector<std::uint64_t> class_rows;
  double correlation = 0;  // within blocks
  double mean = 0, variance = 0;
};

struct LabelFigures {
  double effect = 0;  // of the batches themselves
  double entropy_bits = 0, whole_entropy_bits = 0;
};

/// Deff of a label over the batches of an epoch: from classes by their shares, from a quantity by its means.
LabelFigures label_figures(const LabelFacts& facts, const Sampler& sampler, const BlockTable& blocks,
                           std::uint64_t global_batch, std::uint64_t epoch, std::uint64_t most_batches) {
  LabelFigures out;
  const Label& label = facts.label;
  const bool classes = facts.has_classes();
  GroupSpread spread(facts.class_rows);
  const double mean = facts.mean, variance = facts.variance;
  double squares = 0;
  const std::uint64_t steps = std::min(sampler.num_samples() / global_batch, most_batches);
  const auto cursor = sampler.cursor({epoch, 0, global_batch, {}});
  std::vector<SampleRef> samples;
  std::vector<BlockRows> passed;
  std::vector<std::uint32_t> drawn;
  for (std::uint64_t s = 0; s < steps; ++s) {
    samples.clear(), passed.clear(), drawn.clear();
    cursor->next_step(samples, passed);
    double sum = 0;
    std::uint64_t known = 0;
    for (const SampleRef r : samples) {
      const std::uint64_t row = blocks.first_row(r.block) + r.row;
      if (!facts.is_known(row)) continue;
      ++known;
      if (classes)
        drawn.push_back(label.classes[row]);
      else
        sum += label.values[row] - mean;
    }
    if (classes)
      spread.add(drawn);
    else if (known > 0)
      squares += sum * sum / static_cast<double>(known);
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
  bool fits = false;               // it was chosen because this loader's memory is enough for that

  /// What a training feels: of the label if there is one, else of what is constant in a block, which is the worst.
  [[nodiscard]] double effect() const { return label ? label->effect : quality.block_effect; }
};

/// What the window alone needs, so that orders can be compared: kept rows would decode any order once.
std::uint64_t memory_of(const Loader& loader, const EnginePlan& plan, LoaderOptions options) {
  options.cache = {CacheChoice::kNone, {}};
  options.share = Share::kNothing;
  return memory_to_decode_once(source_of(loader.dataset()), options, plan, label_of(loader));
}

/// The order as it is, and others. At the global batch.
std::vector<Choice> choices_of(const Loader& loader, const std::optional<LabelFacts>& label, std::uint64_t epoch) {
  const std::shared_ptr<const Engine> engine = engine_of(loader);
  const EnginePlan& plan = engine->plan();
  const std::shared_ptr<const BlockTable> blocks = plan.blocks;
  const std::uint64_t whole = plan.global_batch;
  const std::uint64_t row_bytes = loader.dataset().sample_bytes();
  std::vector<Choice> out;
  const SampleSource& source = source_of(loader.dataset());
  const auto add = [&](std::string name, const Sampler& sampler, const LoaderOptions& options) {
    std::optional<LabelFigures> figures;
    if (label) figures = label_figures(*label, sampler, *blocks, whole, epoch, kBatchesLookedAt);
    out.push_back({std::move(name), measure_order(sampler, *blocks, whole, {}, epoch, kBatchesLookedAt), figures,
                   memory_of(loader, plan, options)});
  };
  const auto add_buffer = [&](std::string name, std::uint64_t bytes) {
    LoaderOptions options = loader.options();
    options.order = BlockShuffle{{0, 0, bytes}};
    const auto shape = shuffle_of_bytes(*blocks, bytes, row_bytes, whole);
    add(std::move(name),
        shape ? *make_block_shuffle(blocks, *shape, options.seed) : *make_global_shuffle(blocks, options.seed),
        options);
  };
  add("as it is", *plan.sampler, with_planned_shape(loader.options(), source, plan));
  if (const auto small = small_budget_of(loader); small && small->fitting && !source.mixture()) {
    add_buffer(small->fitting->setting, small->fitting->shape.bytes);
    out.back().fits = true;
  }
  if (!plan.shape) return out;
  std::uint64_t bytes =
      plan.shape->mixed_blocks() * (blocks->num_rows() / std::max<std::uint64_t>(blocks->num_blocks(), 1)) * row_bytes;
  for (int i = 0; i < 2; ++i) {
    bytes *= 2;
    const auto shape = shuffle_of_bytes(*blocks, bytes, row_bytes, whole);
    if (!shape || shape == plan.shape || shape->mixed_blocks() >= blocks->num_blocks()) break;
    const std::uint64_t mebibytes = std::max<std::uint64_t>(bytes >> 20, 1);
    add_buffer(fmt::format("shuffle_buffer=\"{}MiB\"", mebibytes), mebibytes << 20);
  }
  LoaderOptions exact = loader.options();
  exact.order = ExactShuffle{};
  add("shuffle=\"exact\"", *make_global_shuffle(blocks, exact.seed), exact);
  return out;
}

/// kInARow batches that follow each other, taken as one.
struct InARow {
  OrderQuality quality;
  std::optional<double> label;
  [[nodiscard]] double effect() const { return label.value_or(quality.block_effect); }
};

/// Return nullopt where an epoch has hardly that many batches.
std::optional<InARow> measure_in_a_row(const EnginePlan& plan, const std::optional<LabelFacts>& label,
                                       std::uint64_t epoch) {
  const std::uint64_t batch = kInARow * plan.global_batch, most = kBatchesLookedAt / kInARow;
  if (plan.sampler->num_samples() < 2 * batch) return std::nullopt;
  InARow out{measure_order(*plan.sampler, *plan.blocks, batch, {}, epoch, most), std::nullopt};
  if (label) out.label = label_figures(*label, *plan.sampler, *plan.blocks, batch, epoch, most).effect;
  return out;
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

/// Return what else could be done; nothing where weights or the user's own sampler decide. \param in_a_row  Deff of
/// kInARow batches taken together.
std::string advice(const std::vector<Choice>& choices, const Loader& loader, double in_a_row) {
  const Choice& own = choices.front();
  if (loader.options().order.is_sampler() || source_of(loader.dataset()).mixture())
    return "Deff compares batches with the files as they are: weights that draw some rows more often raise it too";
  if (loader.options().order.is<BlockShuffle>() && !engine_of(loader)->plan().shape)
    return "no order mixes better: shuffle=True permutes all samples of a data set of this size";
  if (loader.options().order.is<ExactShuffle>()) return "no order mixes better; shuffle=True decodes each block once";
  if (loader.options().order.is<InOrder>())
    return "the order is not a block shuffle: shuffle=True mixes blocks and decodes each once an epoch";
  if (own.effect() <= kGoodEffect) {
    const std::string good =
        fmt::format("batches are as good as independent draws{}", own.label ? " for this label" : "");
    if (in_a_row <= 2 * kGoodEffect) return good + "; more mixing would make no difference to a training";
    return good + fmt::format(
                      ", one by one; {} in a row are of the same blocks, and vary as with Deff {} together. A "
                      "larger shuffle_buffer= lowers that, if a running mean over steps is noisy",
                      kInARow, effect_text(in_a_row));
  }
  for (const Choice& c : choices)
    if (&c != &own && c.effect() < 0.75 * own.effect())
      return fmt::format(
          "{} lowers Deff from {} to {}, and decodes each block once with memory={}{}", c.name,
          effect_text(own.effect()), effect_text(c.effect()), format_bytes(c.memory_bytes),
          own.label ? "" : "; name a label with by= to see what the rows of a block really have in common");
  return "there are few blocks: write the files with smaller chunks to mix better";
}

}  // namespace

ToolResult order(const Loader& loader, const OrderOptions& options) {
  const std::shared_ptr<const Engine> engine = engine_of(loader);
  const EnginePlan& plan = engine->plan();
  if (plan.online)
    throw Error(ErrorCode::kInvalidArgument,
                "the sampler gives rows during the epoch (lookahead=): the order is not known beforehand")
        .with_hint("Leave lookahead= out, or look at the rows that were delivered (provenance=True).");
  if (plan.draws_samples())
    throw Error(ErrorCode::kInvalidArgument,
                "patches are drawn one by one: their order is that of independent draws, and need not be measured")
        .with_hint("headrace bench measures how fast they come, and how often chunks are decoded.");
  if (plan.sampler->num_samples() < plan.global_batch)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("an epoch of {} samples has no full batch of {}: there is nothing to measure",
                            plan.sampler->num_samples(), plan.global_batch))
        .with_hint("Give a smaller batch_size.");
  const BlockTable& blocks = *plan.blocks;
  const Sampler& sampler = *plan.sampler;
  const std::uint64_t whole = plan.global_batch;
  std::optional<LabelFacts> facts;
  if (!options.by.empty()) facts.emplace(read_label(loader.dataset(), options.by, {}, NanLabels::kCounted), blocks);
  const std::vector<Choice> choices = choices_of(loader, facts, options.epoch);
  const OrderQuality& global = choices.front().quality;
  const std::optional<LabelFigures>& figures = choices.front().label;
  const std::uint32_t world = plan.share.world_size;
  const OrderQuality rank =
      world > 1 ? measure_order(sampler, blocks, whole, plan.share, options.epoch, kBatchesLookedAt) : global;
  std::string text;
  const auto line = [&](std::string_view key, const std::string& value) { text += paragraph(key, 12, value); };
  line("ORDER", fmt::format("{}; seed {}, epoch {}", sampler.describe(), loader.options().seed, options.epoch));
  line("BATCHES",
       fmt::format("{} samples{}, {} an epoch; a batch draws from {:.0f} of {} blocks (independent draws: {:.0f}) and "
                   "{:.1f} of {} files (independent draws: {:.1f})",
                   whole, world > 1 ? fmt::format(" over {} ranks", world) : "", plan.steps->num_steps(options.epoch),
                   global.blocks_a_batch, blocks.num_blocks(), global.blocks_by_chance, global.files_a_batch,
                   blocks.num_files(), global.files_by_chance));
  if (plan.budget && plan.budget->options().arrangement == StepArrangement::kBucket)
    line(
        "NOTE",
        "padded batches of a token budget hold samples of like lengths, taken out of this order: where lengths go with "
        "files or labels, they are mixed less than these figures say");
  line("DEFF",
       fmt::format("{} for a label that is constant in each block, {} for one that is constant in each file (1: "
                   "batches vary as independent draws do; {}: each batch is one block; below 1: they vary "
                   "less)",
                   effect_text(global.block_effect), effect_text(global.file_effect), whole));
  if (world > 1)
    line("", fmt::format("{} and {} for the {} samples of rank {}", effect_text(rank.block_effect),
                         effect_text(rank.file_effect), rank.batch_rows, plan.share.rank));
  const std::optional<InARow> in_a_row = measure_in_a_row(plan, facts, options.epoch);
  if (in_a_row)
    line("",
         fmt::format("{} and {} for {} batches in a row, taken together{}", effect_text(in_a_row->quality.block_effect),
                     effect_text(in_a_row->quality.file_effect), kInARow,
                     in_a_row->label ? fmt::format(", and {} for the label", effect_text(*in_a_row->label)) : ""));
  if (figures) {
    line("LABEL", fmt::format("{}: Deff {} over this epoch's batches; correlation within blocks {:.3f}; Deff would "
                              "be {} if different blocks had nothing in common",
                              facts->label.name, effect_text(figures->effect), facts->correlation,
                              effect_text(1 + facts->correlation * (global.block_effect - 1))));
    if (facts->num_unknown() > 0)
      line("", fmt::format("of {} of {} samples the label is NaN or infinite: they are left out of these figures",
                           group_digits(facts->num_unknown()),
                           group_digits(std::max(facts->label.classes.size(), facts->label.values.size()))));
    if (!facts->label.classes.empty())
      line("", fmt::format("{} classes; entropy of a batch {:.2f} bits, of all data {:.2f}", facts->label.num_classes,
                           figures->entropy_bits, figures->whole_entropy_bits));
  }
  line("NEIGHBOURS",
       fmt::format("{:.1f} % of neighbouring rows in a batch come from the same block; correlation between "
                   "successive batches {:+.2f}",
                   100 * global.same_block_neighbours, global.lag_correlation));
  const double decodes = window_decodes(plan);
  std::string memory_text =
      fmt::format("each block is decoded once with memory={}; this loader has {} and decodes each {}",
                  format_bytes(choices.front().memory_bytes), format_bytes(plan.budget_bytes),
                  decodes <= 1 ? "once" : fmt::format("about {:.1f} times", decodes));
  for (const Choice& c : choices)
    if (c.fits)
      memory_text += fmt::format("; with {} it would decode each once, at Deff {} instead of {}", c.name,
                                 effect_text(c.effect()), effect_text(choices.front().effect()));
  line("MEMORY", memory_text);
  if (choices.size() > 1) {
    TextTable table({{"order"},
                     {facts ? "Deff, label" : "", TextTable::Align::kRight},
                     {"Deff, blocks", TextTable::Align::kRight},
                     {"files", TextTable::Align::kRight},
                     {"blocks per batch", TextTable::Align::kRight},
                     {"memory to decode once", TextTable::Align::kRight}});
    for (const Choice& c : choices)
      table.add({c.name, facts ? effect_text(c.label->effect) : "", effect_text(c.quality.block_effect),
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
  const std::string recommendation = advice(choices, loader, in_a_row ? in_a_row->effect() : 1);
  line("DO", recommendation);

  Json json = {{"order", sampler.identity()},
               {"seed", loader.options().seed},
               {"epoch", options.epoch},
               {"world_size", world},
               {"global_batch", whole},
               {"num_batches", plan.steps->num_steps(options.epoch)},
               {"blocks", blocks.num_blocks()},
               {"files", blocks.num_files()},
               {"global", quality_json(global)},
               {"rank", quality_json(rank)},
               {"in_a_row", in_a_row ? quality_json(in_a_row->quality) : Json()},
               {"memory_bytes", choices.front().memory_bytes},
               {"budget_bytes", plan.budget_bytes},
               {"advice", recommendation}};
  if (figures)
    json["label"] = {{"name", facts->label.name},
                     {"classes", facts->label.num_classes},
                     {"not_finite", facts->num_unknown()},
                     {"correlation", facts->correlation},
                     {"planned_effect", 1 + facts->correlation * (global.block_effect - 1)},
                     {"effect", figures->effect},
                     {"entropy_bits", figures->entropy_bits},
                     {"whole_entropy_bits", figures->whole_entropy_bits}};
  json["choices"] = Json::array();
  for (const Choice& c : choices)
    json["choices"].push_back({{"name", c.name},
                               {"memory_bytes", c.memory_bytes},
                               {"fits", c.fits},
                               {"effect", c.effect()},
                               {"quality", quality_json(c.quality)}});
  ToolResult result;
  result.text = std::move(text);
  result.json = dump(json);
  result.plot = draw_order(sampler, blocks, whole, options.epoch, kPlotRows, kPlotColumns).svg();
  return result;
}

}  // namespace headrace
