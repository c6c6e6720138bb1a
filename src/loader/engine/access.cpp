#include "loader/engine/access.h"

#include "dataset/dataset_contents.h"
#include "loader/loader_impl.h"

namespace headrace {

const SampleSource& source_of(const Dataset& dataset) {
  return impl_of(dataset)->source;
}

std::shared_ptr<Engine> engine_of(const Loader& loader) {
  return impl_of(loader).engine();
}

const Label* label_of(const Loader& loader) {
  return impl_of(loader).manager->label();
}

std::optional<SmallBudget> small_budget_of(const Loader& loader) {
  return impl_of(loader).small_budget(impl_of(loader).engine());
}

}  // namespace headrace
