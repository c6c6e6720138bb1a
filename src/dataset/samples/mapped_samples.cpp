#include "dataset/samples/mapped_samples.h"

#include <fmt/format.h>

#include "dataset/recipe/refuse.h"

namespace headrace {

std::shared_ptr<Dataset::Impl> make_samples(std::shared_ptr<const SampleMaker> maker,
                                            std::shared_ptr<const Source> rows, std::shared_ptr<const RowSet> chosen,
                                            DataTree node, std::shared_ptr<const SourceMixture> mixture,
                                            std::shared_ptr<const Program> program) {
  const std::shared_ptr<MappedSource> made = maker->make(std::move(rows), std::move(chosen));
  made->maker = std::move(maker);
  made->mixture = std::move(mixture);
  if (program) set_program(*made, std::move(program));
  return Dataset::Impl::make(std::shared_ptr<const MappedSource>(made), std::move(node));
}

const MappedSource* remade(const Dataset::Impl& impl, std::string_view what) {
  const MappedSource* const mapped = impl.source.mapped();
  if (mapped && !mapped->maker) (void)impl.rows_for(what);  // throws
  return mapped;
}

void refuse_drawn(const Dataset::Impl& impl, std::string_view what) {
  const MappedSource* const mapped = impl.source.mapped();
  if (!mapped || !mapped->map->draws_samples()) return;
  throw refuse(fmt::format("{} needs numbered samples, and {} are drawn anew in each epoch", what, mapped->what),
               "A Loader delivers them, and loader.batch(epoch, step) makes any batch again. A grid has numbers: give "
               "stride instead of samples_per_epoch; to hold volumes out, open their files apart.");
}

}  // namespace headrace
