// Keep and Drop: which fields a batch has.
#include "transform/kinds.h"

namespace headrace {

Result<CompiledTransform> compile_keep(const Transform&, std::span<const Field>, Settings&) {
  CompiledTransform made;
  made.keeps_inputs = true;
  return made;
}

Result<CompiledTransform> compile_drop(const Transform& transform, std::span<const Field>, Settings&) {
  CompiledTransform made;
  made.dropped = transform.fields;
  return made;
}

}  // namespace headrace
