// Settings: reads what a transform was told, and refuses what it does not know.
#pragma once

#include <headrace/dtype.h>
#include <headrace/transform.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "transform/exact_numbers.h"

namespace headrace {

/// Reads the settings of one transform by name. The first thing that is wrong is kept; look at it with finish().
class Settings {
 public:
  static constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

  explicit Settings(const Transform& transform) : transform_(transform) {}

  [[nodiscard]] bool has(const std::string& name) const { return transform_.settings.contains(name); }
  double number(const std::string& name, std::optional<double> otherwise = {});
  std::int64_t whole(const std::string& name, std::optional<std::int64_t> otherwise, std::int64_t least,
                     std::int64_t most = kNoLimit);
  /// Read a whole number, or a list of them.
  std::vector<std::int64_t> wholes(const std::string& name, std::optional<std::vector<std::int64_t>> otherwise,
                                   std::int64_t least, std::int64_t most = kNoLimit);
  /// Read a number that a field of this type holds: a value that it does not would become another one.
  double number_of(const DType& type, const std::string& name, std::optional<double> otherwise = {});
  bool flag(const std::string& name, bool otherwise);
  std::string text(const std::string& name, const std::optional<std::string>& otherwise = {});
  /// Read a number, or a list of them.
  std::vector<double> numbers(const std::string& name, std::optional<std::vector<double>> otherwise = {});
  /// Read the same, of which whole numbers are exact.
  std::vector<ExactNumber> exact_numbers(const std::string& name);
  /// Return one number, exactly; an integer beyond int64 is given as a list of one.
  ExactNumber exact_number(const std::string& name, double otherwise);
  /// Read the columns of a table.
  std::vector<NumberColumn> columns(const std::string& name);
  std::vector<std::string> texts(const std::string& name, std::optional<std::vector<std::string>> otherwise = {});
  /// Note that something is wrong.
  void refuse(const std::string& text, std::string_view hint = {});
  /// Return what was wrong first: a setting of a wrong kind, one that is missing, or one that is not known.
  [[nodiscard]] Status finish() const;

 private:
  const Setting* find(const std::string& name, bool must);
  void wrong(const std::string& name, std::string_view expected);
  const Transform& transform_;
  std::set<std::string> known_;
  std::optional<Error> error_;
};

/// Make an error that names the transform.
Error transform_error(const Transform& transform, const std::string& text, std::string_view hint = {});

}  // namespace headrace
