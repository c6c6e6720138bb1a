// Attributes that the files of a data set agree in.
#pragma once

#include <headrace/attribute.h>

#include <string>

namespace headrace {

/// Attributes of one array in several files, or of the files themselves.
class CommonAttributes {
 public:
  /// Take the attributes that `path` has. What differs from the files before goes to `left_out`, with both values.
  void add(const Attributes& attributes, const std::string& path);
  [[nodiscard]] const Attributes& result() const { return common_; }
  /// Return the first attribute about units or packing in which files differ, as a sentence for people; empty if there
  /// is none. Values of such files mean different things.
  [[nodiscard]] const std::string& warning() const { return warning_; }

 private:
  void differ(const std::string& name, const std::string& here, const std::string& path);

  Attributes common_;
  std::string first_path_, warning_;
  bool any_ = false;
};

}  // namespace headrace
