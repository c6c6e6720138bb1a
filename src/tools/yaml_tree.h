// YAML of a run file as a small tree, read through events so that what is dangerous never becomes a graph: aliases,
// anchors and tags of one's own are refused, and depth, nodes and bytes are limited.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headrace {

struct YamlNode {
  enum class Kind : std::uint8_t { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  std::string text;  ///< Text of a scalar.
  bool quoted = false;
  int line = 0;  ///< From 1.
  struct Entry;
  std::vector<YamlNode> items;  ///< Items of a list.
  std::vector<Entry> entries;   ///< Entries of a map, in the order of the file; keys are scalars.
};
struct YamlNode::Entry {
  YamlNode key, value;
};

/// Parse one document. Errors: kInvalidArgument with the line in the message. An empty document is a kNull.
Result<YamlNode> parse_yaml(const std::string& text);

}  // namespace headrace
