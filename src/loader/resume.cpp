// Where a loader is, and going there.
#include <fmt/format.h>

#include <algorithm>

#include "dataset/recipe/refuse.h"
#include "loader/loader_impl.h"
#include "loader/plan/plan_order.h"

namespace headrace {

LoaderState Loader::Impl::state_at(Position position) const {
  const std::shared_ptr<const Engine> held = engine();
  const EnginePlan& plan = held->plan();
  const std::uint64_t rows = plan.sampler->num_samples();
  if (plan.steps->ends_at(position.epoch, position.samples)) position = {position.epoch + 1, 0};
  return {manager->identity(),
          rows,
          plan.sampler->identity_at(position.epoch, position.samples),
          plan.steps->identity(),
          options().seed,
          plan.global_batch,
          position};
}

std::string Loader::state() const {
  return impl_->state_at(impl_->consumer->position()).json();
}

std::string Loader::state_at(std::uint64_t epoch, std::uint64_t samples) const {
  return impl_->state_at({epoch, samples}).json();
}

namespace {

/// The order of a list, as states name it, where an epoch has these rows.
std::string order_of(const EnginePlan& plan, const ListedRows::List& list, Position position) {
  const auto listed = std::make_shared<ListedRows>(list, plan.listed->every_epoch());
  listed->set(position.epoch, list);
  return make_listed(plan.blocks, listed)->identity_at(position.epoch, position.samples);
}

/// Steps of a token budget go on with the lanes of the state, where the options do not say how many: so another number
/// of ranks gets the same steps. \return  Their number, and here.steps as they are with them; 0: as they are.
std::uint32_t find_other_lanes(const EnginePlan& plan, const LoaderOptions& options,
                               const Loader::Impl::Fitting& fitting, LoaderState& here) {
  const std::uint32_t lanes = lanes_of(fitting.state.steps);
  if (!plan.budget || std::get<ByTokens>(options.batch).lanes != 0 || lanes == 0 ||
      lanes == plan.budget->options().lanes)
    return 0;
  std::shared_ptr<const Sampler> order = plan.sampler;
  if (const std::optional<ShuffleOrder>& other = fitting.other_shuffle)
    order = other->exact
                ? make_global_shuffle(plan.blocks, options.seed)
                : make_block_shuffle(plan.blocks, {other->shape.streams, other->shape.pool_blocks}, options.seed);
  const auto steps = make_budget_steps(plan, options, std::move(order), lanes);
  if (!steps.ok()) return 0;
  here.steps = (*steps)->identity();
  return lanes;
}

}  // namespace

Loader::Impl::Fitting Loader::Impl::fit(const std::string& json, const ResumeOptions& options, bool rows_follow) const {
  Fitting made{parse_state(json).value(), std::nullopt, 0, {}};
  const LoaderState& state = made.state;
  const std::shared_ptr<const Engine> held = engine();
  const EnginePlan& plan = held->plan();
  LoaderState here = state_at({});
  here.order = plan.sampler->identity_at(state.position.epoch, state.position.samples);
  if (options.rows && !plan.listed) throw refuse("this loader's order is not a list of rows");
  if (options.rows) {
    made.list = {std::make_shared<const std::vector<std::uint64_t>>(*options.rows), batch_ends_of(options.batch_rows)};
    here.rows = made.list.rows->size();
    here.order = order_of(plan, made.list, state.position);
  } else if (plan.listed && rows_follow) {
    here.rows = state.rows;
    if (state.order.starts_with("listed")) here.order = state.order;
  }
  // What shuffle=True does follows from the global batch, which another number of ranks changes: a state brings its
  // own, and so do the states that are saved from then on.
  const auto* const shuffle = this->options().order.get<BlockShuffle>();
  const bool follows = shuffle && shuffle->shape.streams == 0 && shuffle_of(here.order).has_value();
  if (follows && state.order != here.order) {
    made.other_shuffle = shuffle_of(state.order);
    if (made.other_shuffle) here.order = state.order;
  }
  made.other_lanes = find_other_lanes(plan, this->options(), made, here);
  if (Status fits = headrace::check_state(state, here, options.accept_changed_data); !fits.ok()) {
    const std::vector<FileEntry>& files = dataset().files();
    throw files.size() == 1 ? fits.error().with_file(files[0].path) : fits.error();
  }
  if (plan.online && state.position.samples > 0)
    throw Error(ErrorCode::kInvalidArgument, "an epoch of a sampler with lookahead= cannot be resumed in its middle")
        .with_hint("Save the state at the end of an epoch, and the sampler's own state with it.");
  return made;
}

void Loader::check_state(const std::string& json, const ResumeOptions& options) const {
  impl_->check_process();
  (void)impl_->fit(json, options, true);
}

void Loader::load_state(const std::string& json, const ResumeOptions& options) {
  Impl& m = *impl_;
  m.check_process();
  const EngineManager::Busy busy(*m.manager);
  m.manager->follow_rank().value();  // orders and steps follow from the number of ranks
  const auto [state, other_shuffle, other_lanes, list] = m.fit(json, options, false);
  const std::string order_before = m.engine()->plan().sampler->identity();
  if (list.rows) m.manager->set_rows(state.position.epoch, list).value();
  const bool others = other_shuffle || other_lanes != 0;
  if (others) m.manager->go_on_as(other_shuffle, other_lanes).value();
  if (other_shuffle)
    m.manager->notices()->add(
        Notices::Of::kPlan,
        fmt::format(
            "the shuffle goes on as that of the state, '{}'; this loader's own, for batches of {} over all ranks, "
            "is '{}', and comes with a loader that begins at an epoch without a state (set_epoch())",
            state.order, m.engine()->plan().global_batch, order_before));
  const std::shared_ptr<const Engine> held = m.engine();
  const EnginePlan& plan = held->plan();
  if (plan.budget) m.manager->keep_lanes(plan.budget->options().lanes);
  const bool lacks_weights = !plan.delivers_weights && plan.steps->repeats_samples(state.position.samples);
  if (lacks_weights) m.manager->deliver_weights().value();
  const bool online = m.engine()->plan().online != nullptr;
  ConsumerState& c = *m.consumer;
  // A live epoch cannot go on where the rows are given from outside, or where it has others now.
  if (others || lacks_weights || (c.in_epoch && (online || m.manager->order() != c.order))) c.end_epoch();
  if (!c.in_epoch) {
    c.next = state.position;
    return;
  }
  if (m.manager->state() != EngineManager::State::kPlanned)  // else the next batch is what it is started for
    m.engine()->start_epoch(state.position.epoch, state.position.samples).value();
  c.rewind(state.position);
  m.manager->set_done(false);
}

}  // namespace headrace
