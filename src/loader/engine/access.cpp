#include "loader/engine/access.h"

#include "dataset/dataset_contents.h"
#include "loader/loader_impl.h"

namespace headrace {

const SampleSource& source_of(const Dataset& dataset) {
  return dataset.impl()->source;
}

const Source& rows_of(const Dataset& dataset, std::string_view what) {
  return dataset.impl()->rows_for(what);
}

std::shared_ptr<Engine> engine_of(const Loader& loader) {
  return loader.impl().engine();
}

const Label* label_of(const Loader& loader) {
  return loader.impl().manager->label();
}

std::optional<SmallBudget> small_budget_of(const Loader& loader) {
  return loader.impl().small_budget(loader.impl().engine());
}

}  // namespace headrace
