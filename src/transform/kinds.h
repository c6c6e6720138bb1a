// One function for each transform; registry.cpp lists them by name.
#pragma once

#include "transform/registry.h"

namespace headrace {

Result<CompiledTransform> compile_symmetric_pairs(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_mask(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_standardize(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_affine(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_log(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_clip(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_cast(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_relabel(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_threshold(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_one_hot(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_join(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_select(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_concat(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_reshape(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_transpose(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_pair_features(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_spec_augment(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_contrast(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_gamma(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_noise(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_crop(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_flip(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_mirror(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_rotate90(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_shuffle_axes(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_mix_up(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_keep(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_drop(const Transform&, std::span<const Field>, Settings&);

}  // namespace headrace
