// Forms of paths: relative ones begin beside the run file that names them, and are written as absolute ones.
#pragma once

#include <string>
#include <vector>

#include "spec/value_codecs.h"

namespace headrace {

/// Form of one path or glob.
struct AsPath {};
/// Form of several: one, or a list of them.
using AsPaths = OneOrMany<AsPath>;

/// Return a path that a file names, which begins where the file is; empty: where the program is. The file's own folder
/// is no pattern.
std::string beside(const std::string& file, const std::string& path);
/// Return a path that means the same in any folder.
std::string absolute_path(const std::string& path);

template <>
struct ValueCodec<std::string, AsPath> : ValueCodec<std::string> {
  static std::string words(const Bounds&) { return "a path or a glob"; }
  static Status read(const Value& value, const At& at, const Bounds& bounds, std::string& to);
  static Value write(const std::string& from) { return from.empty() ? Value{} : Value{absolute_path(from)}; }
};

}  // namespace headrace
