#include "tools/patches_section.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <utility>
#include <vector>

#include "base/number_text.h"
#include "tools/yaml_values.h"

namespace headrace {
namespace {

using yaml::as_number;
using yaml::as_text;
using yaml::bad;
using yaml::found;
using yaml::Keys;
using yaml::walk;

Status read_extents(const YamlNode& node, const std::string& key, std::vector<std::uint64_t>& extents) {
  if (node.kind != YamlNode::Kind::kList) {
    HEADRACE_ASSIGN(const std::uint64_t one, as_number(node, key));
    extents.assign(1, one);
    return {};
  }
  for (const YamlNode& item : node.items) {
    HEADRACE_ASSIGN(const std::uint64_t one, as_number(item, key));
    extents.push_back(one);
  }
  if (extents.empty()) return bad(node, key, "the list is empty");
  return {};
}

template <class Value>
Status read_word(const YamlNode& node, const std::string& key,
                 const std::vector<std::pair<std::string_view, Value>>& words, Value& value) {
  HEADRACE_ASSIGN(const std::string text, as_text(node, key));
  std::vector<std::string_view> known;
  for (const auto& [word, meant] : words) {
    if (word == text) return value = meant, Status();
    known.push_back(word);
  }
  return bad(node, key, fmt::format("one of {} is expected, '{}' was found", fmt::join(known, ", "), text));
}

/// A list of arrays, or a map of an array and its values that are classes: [mito, er], {labels: [1, 2, 5]}.
Status read_balance(const YamlNode& node, const std::string& key, std::vector<PatchClass>& classes) {
  if (node.kind == YamlNode::Kind::kMap) {
    HEADRACE_TRY(yaml::check_names(node, key));
    for (const auto& [name, values] : node.entries) {
      std::vector<std::uint64_t> numbers;
      HEADRACE_TRY(read_extents(values, key + "." + name.text, numbers));
      for (const std::uint64_t n : numbers) classes.push_back({name.text, n});
    }
    return {};
  }
  if (node.kind != YamlNode::Kind::kList)
    return bad(node, key,
               fmt::format("a list of arrays, or a map of arrays and values, is expected; {} was found", found(node)));
  for (const YamlNode& item : node.items) {
    HEADRACE_ASSIGN(std::string name, as_text(item, key));
    classes.push_back({std::move(name), {}});
  }
  return {};
}

/// A list of arrays, whose boxes have the patch's shape, or a map of an array and its shape: {raw_32nm: [64, 64, 64]}.
Status read_context(const YamlNode& node, const std::string& key, std::vector<PatchContext>& context) {
  if (node.kind == YamlNode::Kind::kMap) {
    HEADRACE_TRY(yaml::check_names(node, key));
    for (const auto& [name, shape] : node.entries) {
      PatchContext& one = context.emplace_back(PatchContext{name.text, {}});
      HEADRACE_TRY(read_extents(shape, key + "." + name.text, one.shape));
    }
    return {};
  }
  if (node.kind != YamlNode::Kind::kList)
    return bad(node, key,
               fmt::format("a list of arrays, or a map of arrays and shapes, is expected; {} was found", found(node)));
  for (const YamlNode& item : node.items) {
    HEADRACE_ASSIGN(std::string name, as_text(item, key));
    context.push_back({std::move(name), {}});
  }
  return {};
}

}  // namespace

Status read_patches(const YamlNode& node, const std::string& key, PatchOptions& patches) {
  Keys keys;
  keys["shape"] = [&](const YamlNode& n, const std::string& k) { return read_extents(n, k, patches.shape); };
  keys["stride"] = [&](const YamlNode& n, const std::string& k) { return read_extents(n, k, patches.stride); };
  keys["samples_per_epoch"] = [&](const YamlNode& n, const std::string& k) -> Status {
    HEADRACE_ASSIGN(patches.samples_per_epoch, as_number(n, k));
    return {};
  };
  keys["edge"] = [&](const YamlNode& n, const std::string& k) {
    return read_word<PatchEdge>(
        n, k, {{"shift", PatchEdge::kShift}, {"drop", PatchEdge::kDrop}, {"fill", PatchEdge::kFill}}, patches.edge);
  };
  keys["fill"] = [&](const YamlNode& n, const std::string& k) -> Status {
    HEADRACE_ASSIGN(const std::string text, as_text(n, k));
    const std::optional<double> number = number_of(text.starts_with('+') ? text.substr(1) : text);
    if (!number) return bad(n, k, fmt::format("a number is expected, '{}' was found", text));
    patches.fill = *number;
    return {};
  };
  keys["small"] = [&](const YamlNode& n, const std::string& k) {
    return read_word<bool>(n, k, {{"error", false}, {"skip", true}}, patches.skip_small);
  };
  keys["balance"] = [&](const YamlNode& n, const std::string& k) { return read_balance(n, k, patches.balance); };
  keys["context"] = [&](const YamlNode& n, const std::string& k) { return read_context(n, k, patches.context); };
  keys["draws"] = [&](const YamlNode& n, const std::string& k) -> Status {
    return read_word<PatchDraws>(n, k, {{"visits", PatchDraws::kVisits}, {"independent", PatchDraws::kIndependent}},
                                 patches.draws);
  };
  HEADRACE_TRY(walk(node, key, keys));
  if (patches.shape.empty()) return bad(node, key, "shape is missing: the voxels of a patch along each axis");
  return {};
}

}  // namespace headrace
