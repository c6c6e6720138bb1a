#include "tools/yaml_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <optional>
#include <vector>

#include "base/nearest_name.h"

namespace headrace::yaml {
namespace {

std::string known_keys(const std::string& key, const std::vector<std::string>& names) {
  const std::optional<std::string> meant = did_you_mean(key, names);
  return fmt::format("{}There are: {}.", meant ? fmt::format("Did you mean {}? ", *meant) : "",
                     fmt::join(nearest_names(key, names), ", "));
}

}  // namespace

Error bad(const YamlNode& node, const std::string& key, const std::string& what) {
  return Error(ErrorCode::kInvalidArgument, fmt::format("line {}: {}: {}", node.line, key, what));
}

std::string found(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
    case YamlNode::Kind::kScalar:
      return "'" + node.text + "'";
  }
  return "nothing";
}

Result<std::string> as_text(const YamlNode& node, const std::string& key) {
  if (node.kind != YamlNode::Kind::kScalar || node.text.empty())
    return bad(node, key, fmt::format("text is expected, {} was found", found(node)));
  return node.text;
}

Result<std::uint64_t> as_number(const YamlNode& node, const std::string& key) {
  std::uint64_t value = 0;
  const char* end = node.text.data() + node.text.size();
  const bool plain = node.kind == YamlNode::Kind::kScalar && !node.text.empty();
  const auto [stop, ec] = std::from_chars(node.text.data(), end, value);
  if (!plain || ec != std::errc() || stop != end)
    return bad(node, key, fmt::format("a whole number is expected, {} was found", found(node)));
  if (node.text.size() > 1 && node.text[0] == '0')  // 010 is eight to some readers of YAML
    return bad(node, key, fmt::format("a number does not begin with 0, '{}' was found", node.text));
  return value;
}

Result<bool> as_bool(const YamlNode& node, const std::string& key) {
  if (node.kind == YamlNode::Kind::kScalar && !node.quoted) {
    if (node.text == "true" || node.text == "True") return true;
    if (node.text == "false" || node.text == "False") return false;
  }
  return bad(node, key, fmt::format("true or false is expected, {} was found", found(node)));
}

Status check_names(const YamlNode& map, const std::string& key) {
  std::map<std::string, int> seen;
  for (const auto& [name, value] : map.entries)
    if (const auto [first, fresh] = seen.emplace(name.text, name.line); !fresh)
      return bad(name, key + "." + name.text, fmt::format("given twice, first on line {}", first->second));
  return {};
}

Status walk(const YamlNode& node, const std::string& section, const Keys& keys) {
  const std::string prefix = section.empty() ? "" : section + ".";
  if (node.kind != YamlNode::Kind::kMap)
    return bad(node, section.empty() ? "run file" : section,
               fmt::format("a map of keys and values is expected, {} was found", found(node)));
  std::vector<std::string> names;
  for (const auto& [name, ignored] : keys) names.push_back(name);
  std::map<std::string, int> seen;
  for (const auto& [key, value] : node.entries) {
    const auto known = keys.find(key.text);
    if (known == keys.end()) {
      Error error = bad(key, prefix + key.text, "there is no such key");
      return error.with_hint(known_keys(key.text, names));
    }
    const auto [first, fresh] = seen.emplace(key.text, key.line);
    if (!fresh) return bad(key, prefix + key.text, fmt::format("given twice, first on line {}", first->second));
    if (value.kind == YamlNode::Kind::kNull) return bad(key, prefix + key.text, "a value is missing");
    HEADRACE_TRY(known->second(value, prefix + key.text));
  }
  return {};
}

}  // namespace headrace::yaml
