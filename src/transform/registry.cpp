#include "transform/registry.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/nearest_name.h"
#include "transform/kinds.h"

namespace headrace {
namespace {

struct Entry {
  const char* name;
  CompileTransform compile;
  bool keeps_places;
};

constexpr Entry kKinds[] = {
    {"SymmetricPairs", compile_symmetric_pairs, false},
    {"Mask", compile_mask, true},
    {"Standardize", compile_standardize, true},
    {"Affine", compile_affine, true},
    {"Log", compile_log, true},
    {"Clip", compile_clip, true},
    {"Cast", compile_cast, true},
    {"Relabel", compile_relabel, true},
    {"Threshold", compile_threshold, true},
    {"OneHot", compile_one_hot, true},
    {"Join", compile_join, true},
    {"Select", compile_select, false},
    {"Concat", compile_concat, false},
    {"Reshape", compile_reshape, false},
    {"Transpose", compile_transpose, false},
    {"PairFeatures", compile_pair_features, false},
    {"SpecAugment", compile_spec_augment, true},
    {"Noise", compile_noise, true},
    {"Crop", compile_crop, false},
    {"Flip", compile_flip, false},
    {"Mirror", compile_mirror, false},
    {"Rotate90", compile_rotate90, false},
    {"ShuffleAxes", compile_shuffle_axes, false},
    {"Contrast", compile_contrast, true},
    {"Gamma", compile_gamma, true},
    {"MixUp", compile_mix_up, false},
    {"Keep", compile_keep, true},
    {"Drop", compile_drop, true},
};

}  // namespace

std::vector<std::string> transform_names() {
  std::vector<std::string> names;
  for (const Entry& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

bool keeps_places(std::string_view name) {
  return std::ranges::any_of(kKinds, [&](const Entry& entry) { return entry.name == name && entry.keeps_places; });
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
