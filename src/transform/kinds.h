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
Result<CompiledTransform> compile_keep(const Transform&, std::span<const Field>, Settings&);
Result<CompiledTransform> compile_drop(const Transform&, std::span<const Field>, Settings&);

}  // namespace headrace
