// The transforms there are, by name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transform/kernel.h"
#include "transform/settings.h"

namespace headrace {

/// Compiles a transform for inputs of these types; settings that are wrong may be left to `settings`.
using CompileTransform = Result<CompiledTransform> (*)(const Transform& transform, std::span<const Field> inputs,
                                                       Settings& settings);

/// Return the names, in the order of the manual.
std::vector<std::string> transform_names();
/// Return true if each element stays at its place in its sample, and is of no other sample: what is said of places
/// still holds.
bool keeps_places(std::string_view name);
/// Compile a transform for fields of these types. Errors: kInvalidArgument: no such transform, types or settings that
/// it cannot take.
Result<CompiledTransform> compile_transform(const Transform& transform, std::span<const Field> inputs);

}  // namespace headrace
