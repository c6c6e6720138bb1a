// The section `patches` of a run file.
#pragma once

#include <headrace/dataset/volumes.h>

#include <string>

#include "base/result.h"
#include "tools/yaml_tree.h"

namespace headrace {

/// Read the section. Errors: kInvalidArgument with the line.
Status read_patches(const YamlNode& node, const std::string& key, PatchOptions& patches);

}  // namespace headrace
