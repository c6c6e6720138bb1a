#include "dataset/verbs/truncate.h"

#include <fmt/format.h>

#include <limits>

#include "dataset/dataset_contents.h"
#include "dataset/recipe/refuse.h"
#include "dataset/recipe/transform_codec.h"
#include "dataset/recipe/verb_options.h"
#include "dataset/samples/mapped_samples.h"
#include "transform/settings.h"

namespace headrace {

Dataset truncate(const Dataset& data, const Transform& transform) {
  Settings settings(transform);
  const std::int64_t rows = settings.whole("rows", std::nullopt, 1, std::numeric_limits<std::uint32_t>::max());
  const std::string method = settings.text("method", "first");
  settings.finish().value();
  if (method != "first" && method != "random")
    throw transform_error(transform, fmt::format("method is '{}': 'first' or 'random' is expected", method));
  if (!transform.fields.empty())
    throw transform_error(transform, "no field can be named", "All fields of a sample are shortened alike.");
  const MappedSource* const mapped = remade(*impl_of(data), "Truncate");
  if (!mapped || mapped->map->groups()[0].rows != UnitGroup::Rows::kRagged)
    throw transform_error(transform, fmt::format("{} have one length", mapped ? mapped->what : "rows"),
                          "Truncate shortens samples that differ in length: open the data with sample_by=.");
  const std::shared_ptr<const SampleMaker> maker =
      mapped->maker->shortened(static_cast<std::uint64_t>(rows), method == "random");
  if (!maker)
    throw Error(ErrorCode::kUnsupported, fmt::format("{}: these {} are shortened already", kTruncate, mapped->what))
        .with_hint("Truncate once.");
  // Transforms work on each row by itself: on those that are left as on all.
  return Dataset(make_samples(maker, mapped->made_of(), mapped->map->shuffle_blocks()->chosen(),
                              impl_of(data)->node_with(MapNode{{transform}}), mapped->mixture, mapped->program));
}

}  // namespace headrace
