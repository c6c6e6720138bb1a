// YAML as values, and back. Read through events, so that what is dangerous never becomes a graph: aliases, anchors and
// tags of one's own are refused, and depth, values and bytes are limited.
#pragma once

#include <string>

#include "base/result.h"
#include "spec/value.h"

namespace headrace {

/// A run file of more is neither read nor written.
inline constexpr std::size_t kMaxYamlBytes = 16 << 20;

/// Parse one document. Text without quotes is `plain`: its type is what the reader asks for. An empty document is
/// none. Errors: kInvalidArgument with the line in the message.
Result<Value> parse_yaml(const std::string& text);

/// Return an entry of a map as lines of YAML that parse_yaml() reads: what is short on one line, what is long item by
/// item. \param indent  Spaces before it. Errors: kInvalidArgument: a text that is not UTF-8, which YAML cannot hold.
Result<std::string> yaml_text(const std::string& key, const Value& value, std::size_t indent);

}  // namespace headrace
