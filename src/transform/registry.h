// The transforms there are, by name.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "transform/kernel.h"
#include "transform/settings.h"

namespace headrace {

/// Compiles a transform for inputs of these types; settings that are wrong may be left to `settings`.
using CompileTransform = Result<CompiledTransform> (*)(const Transform& transform, std::span<const Field> inputs,
                                                       Settings& settings);

/// Return the names, in the order of the manual.
std::vector<std::string> transform_names();
/// Compile a transform for fields of these types. Errors: kInvalidArgument: no such transform, types or settings that
/// it cannot take.
Result<CompiledTransform> compile_transform(const Transform& transform, std::span<const Field> inputs);

}  // namespace headrace
