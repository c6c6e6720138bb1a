// Where a loader is, and going there.
#include <algorithm>

#include "loader/loader_impl.h"
#include "loader/refuse.h"

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

void Loader::load_state(const std::string& json, const ResumeOptions& options) {
  Impl& m = *impl_;
  const LoaderState state = parse_state(json).value();
  m.check_process();
  const EngineManager::Busy busy(*m.manager);
  LoaderState here = m.state_at({});
  here.order = m.engine()->plan().sampler->identity_at(state.position.epoch, state.position.samples);
  // The block shuffle's shape follows from the global batch: another world size goes on with the shape of the state.
  const ShuffleShape asked = m.options().shuffle_buffer, taken = shape_of(state.order);
  const bool other_shape = asked == ShuffleShape{} && taken != ShuffleShape{} &&
                           shape_of(here.order) != ShuffleShape{} && state.order != here.order &&
                           state.global_batch != here.global_batch;
  if (other_shape) here.order = state.order;
  if (Status fits = check_state(state, here, options.accept_changed_data); !fits.ok()) {
    const std::vector<FileEntry>& files = m.dataset().files();
    throw files.size() == 1 ? fits.error().with_file(files[0].path) : fits.error();
  }
  const bool fed = m.engine()->plan().fed != nullptr;
  if (fed && state.position.samples > 0)
    throw Error(ErrorCode::kInvalidArgument, "an order that is made up as it goes cannot be gone back to")
        .with_hint("Save states at the end of an epoch, and the sampler's own beside them.");
  if (other_shape) m.manager->set_shape(taken).value();
  ConsumerState& c = *m.consumer;
  // A live epoch cannot go on where the rows are given from outside, or where its engine and its memory are gone.
  if (other_shape || (c.in_epoch && (fed || m.manager->state() == EngineManager::State::kPlanned))) c.end_epoch();
  if (!c.in_epoch) {
    c.next = state.position;
    return;
  }
  m.engine()->start_epoch(state.position.epoch, state.position.samples).value();
  c.rewind(state.position);
}

}  // namespace headrace
