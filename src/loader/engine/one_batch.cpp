// Loader::batch(): any batch of any epoch once more. As the plan is a pure function, nothing of the epoch need be
// walked through, and a running epoch is left alone: rows are read as Dataset::take() reads them.
#include <fmt/format.h>

#include "dataset/dataset_contents.h"
#include "dataset/recipe/refuse.h"
#include "loader/engine/one_batch.h"
#include "loader/loader_impl.h"
#include "loader/plan/derived_columns.h"
#include "loader/plan/plan_order.h"

namespace headrace {
namespace {

/// The steps of an epoch: the plan's, or of rows that are given here, cut likewise.
Result<std::shared_ptr<const StepPlan>> find_steps(const EnginePlan& plan, std::uint64_t epoch,
                                                   std::span<const std::uint64_t> rows,
                                                   std::span<const std::uint64_t> batch_rows) {
  if (plan.online)
    return refuse("the sampler gives rows during the epoch (lookahead=): its batches cannot be made again",
                  "Deliver with provenance=True, and take the rows by number from the data set.");
  if (rows.empty() && plan.listed && !plan.listed->is_settled(epoch))
    return refuse(fmt::format("the rows of epoch {} are not known: the sampler gives other rows each time", epoch),
                  "Use a sampler with set_epoch() whose rows depend on the epoch alone.");
  if (rows.empty()) return plan.steps;
  if (!plan.listed) return refuse("this loader's order is not a list of rows");
  const std::shared_ptr<const BlockTable>& blocks = plan.blocks;
  const ListedRows::List list{std::make_shared<const std::vector<std::uint64_t>>(rows.begin(), rows.end()),
                              batch_ends_of(batch_rows)};
  HEADRACE_TRY(check_listed(list, blocks->num_rows()));
  const auto listed = std::make_shared<const ListedRows>(list, true);
  return make_steps(plan, make_listed(blocks, listed), listed);
}

}  // namespace

Result<PlannedBatch> plan_batch(const EnginePlan& plan, std::uint64_t epoch, std::uint64_t step,
                                std::span<const std::uint64_t> rows_of_epoch,
                                std::span<const std::uint64_t> batch_rows) {
  HEADRACE_ASSIGN(const std::shared_ptr<const StepPlan> steps, find_steps(plan, epoch, rows_of_epoch, batch_rows));
  const std::uint64_t num_steps = steps->num_steps(epoch);
  if (step >= num_steps)
    return refuse(
        num_steps == 0 ? fmt::format("epoch {} has no batch; batch {} was asked for", epoch, step)
                       : fmt::format("epoch {} has {} batch{}, numbered 0 to {}; batch {} was asked for", epoch,
                                     num_steps, num_steps == 1 ? "" : "es", num_steps - 1, step),
        "batch_size, drop_last and the number of ranks decide how many there are: give those of the training.");
  PlannedBatch made;
  std::vector<BlockRows> counted_elsewhere;
  bool counted = true;
  made.step = steps->cursor(epoch, steps->position_of(epoch, step))->next(made.stored, counted_elsewhere, counted);
  const BlockTable& blocks = *plan.blocks;
  made.rows.reserve(made.stored.size());
  for (SampleRef& s : made.stored) {
    made.rows.push_back(blocks.first_row(s.block) + s.row);
    if (blocks.is_chosen() && !plan.map) s.row = blocks.stored_row(s.block, s.row);
  }
  return made;
}

Batch Loader::batch(std::uint64_t epoch, std::uint64_t step, std::span<const std::uint64_t> rows_of_epoch,
                    std::span<const std::uint64_t> batch_rows) const {
  const Impl& m = *impl_;
  m.check_process();
  if (closed()) throw Error(ErrorCode::kClosed, "the loader was closed");
  {
    const EngineManager::Busy busy(*m.manager);
    m.manager->follow_rank().value();
  }
  const std::shared_ptr<const Engine> engine = m.engine();
  const PlannedBatch planned = plan_batch(engine->plan(), epoch, step, rows_of_epoch, batch_rows).value();
  const Finisher* const padding = engine->plan().padding.get();
  const Batch taken = impl_of(dataset())->take(planned.rows, {epoch, engine->plan().seed}, {}, padding);
  Batch::Parts parts;
  parts.fields = engine->batch_fields();
  for (std::size_t f = 0; f < taken.fields().size(); ++f) {
    parts.data.push_back(taken.array(f).data());
    parts.holders.push_back(taken.holder(f));
    parts.offsets.push_back(taken.offsets_holder(f));
    if (padding) parts.widths.push_back(taken.array(f).width());
  }
  std::vector<DerivedColumn> derived =
      derived_columns(engine->plan(), planned.stored, planned.stored.size(), planned.step, epoch);
  if (parts.array_rows = array_rows_of(taken.fields().size(), planned.rows.size(), derived); !parts.array_rows.empty())
    for (std::size_t f = 0; f < taken.fields().size(); ++f) parts.array_rows[f] = taken.array(f).rows();
  for (DerivedColumn& column : derived) {
    parts.data.push_back(static_cast<std::byte*>(column.memory.get()));
    parts.holders.push_back(std::move(column.memory));
    parts.offsets.emplace_back();
    if (padding) parts.widths.push_back(column.width);
  }
  parts.rows = planned.rows.size();
  parts.epoch = epoch;
  parts.index = step;
  return Batch(std::move(parts));
}

}  // namespace headrace
