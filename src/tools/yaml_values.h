// Values of a run file by their types: each is what it says, or an error that names its line and key.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/result.h"
#include "tools/yaml_tree.h"

namespace headrace::yaml {

/// Return the error of a value: "line 3: data.files: …".
Error bad(const YamlNode& node, const std::string& key, const std::string& what);
/// Return what stands there, for an error: "a list", "'text'".
std::string found(const YamlNode& node);
/// Return a value of one type. Errors: kInvalidArgument.
Result<std::string> as_text(const YamlNode& node, const std::string& key);
Result<std::uint64_t> as_number(const YamlNode& node, const std::string& key);
Result<bool> as_bool(const YamlNode& node, const std::string& key);

/// Refuse a map of names in which one is given twice. Errors: kInvalidArgument.
Status check_names(const YamlNode& map, const std::string& key);

/// The keys of one section and what to do with each value.
using Keys = std::map<std::string, std::function<Status(const YamlNode&, const std::string&)>>;
/// Call each key's function with its value. Errors: kInvalidArgument: a key that is not there or given twice, a value
/// that is missing; those of the functions.
Status walk(const YamlNode& node, const std::string& section, const Keys& keys);

}  // namespace headrace::yaml
