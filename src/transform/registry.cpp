#include "transform/registry.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest_name.h"
#include "transform/kinds.h"

namespace headrace {
namespace {

struct Entry {
  const char* name;
  CompileTransform compile;
};
constexpr Entry kKinds[] = {
    {"SymmetricPairs", compile_symmetric_pairs},
    {"Mask", compile_mask},
    {"Standardize", compile_standardize},
    {"Affine", compile_affine},
    {"Log", compile_log},
    {"Clip", compile_clip},
    {"Cast", compile_cast},
    {"Relabel", compile_relabel},
    {"Threshold", compile_threshold},
    {"OneHot", compile_one_hot},
    {"Join", compile_join},
    {"Select", compile_select},
    {"Concat", compile_concat},
    {"Reshape", compile_reshape},
    {"Transpose", compile_transpose},
    {"PairFeatures", compile_pair_features},
    {"SpecAugment", compile_spec_augment},
    {"Noise", compile_noise},
    {"Crop", compile_crop},
    {"Flip", compile_flip},
    {"Mirror", compile_mirror},
    {"Rotate90", compile_rotate90},
    {"ShuffleAxes", compile_shuffle_axes},
    {"Contrast", compile_contrast},
    {"Gamma", compile_gamma},
    {"MixUp", compile_mix_up},
    {"Keep", compile_keep},
    {"Drop", compile_drop},
};

}  // namespace

std::vector<std::string> transform_names() {
  std::vector<std::string> names;
  for (const Entry& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

Result<CompiledTransform> compile_transform(const Transform& transform, std::span<const Field> inputs) {
  const auto* const kind =
      std::ranges::find_if(kKinds, [&](const Entry& entry) { return entry.name == transform.name; });
  if (kind == std::end(kKinds)) {
    const std::vector<std::string> names = transform_names();
    Error error(ErrorCode::kInvalidArgument, fmt::format("no transform is called '{}'", transform.name));
    return error.with_hint(fmt::format("There are: {}.", list_names(nearest_names(transform.name, names), 30)));
  }
  Settings settings(transform);
  Result<CompiledTransform> made = kind->compile(transform, inputs, settings);
  if (made.ok()) HEADRACE_TRY(settings.finish());
  return made;
}

}  // namespace headrace
