// Value: what a run file, a command line, Python or a pickle says, before it is known what it means. A Spec (spec.h)
// reads structs out of values and writes them back.
#pragma once

#include <headrace/number_column.h>
#include <headrace/whole_number.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace headrace {

struct Value;
struct ValueEntry;
using ValueList = std::vector<Value>;
/// Keys and values in the order in which they were given; a key may be there twice, until it is checked.
using ValueMap = std::vector<ValueEntry>;

/// An object of a program that is no value, such as a function; told by its text.
struct Foreign {
  std::string text;
};

struct Value {
  using Any =
      std::variant<std::monostate, bool, WholeNumber, double, std::string, ValueList, ValueMap, NumberColumn, Foreign>;

  Any is;
  bool plain = false;  ///< True: text without quotes of a file or a command line, whose type is what is asked for.
  int line = 0;        ///< In its file, from 1; 0: it is of no file.

  Value();
  Value(Any any, bool is_plain = false, int in_line = 0);  // NOLINT: what it holds becomes one
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();

  [[nodiscard]] bool is_none() const { return std::holds_alternative<std::monostate>(is); }
  [[nodiscard]] const ValueList* list() const { return std::get_if<ValueList>(&is); }
  [[nodiscard]] const ValueMap* map() const { return std::get_if<ValueMap>(&is); }
  [[nodiscard]] const std::string* text() const { return std::get_if<std::string>(&is); }
};

struct ValueEntry {
  std::string key;
  Value value;
  int line = 0;  ///< Line of the key.
};

/// What values are read for, besides themselves.
struct ReadContext {
  std::string run_file;  ///< Where relative paths begin: beside this file; empty: where the program is.
};

/// Where a value stands. A chain on the stack, made text for an error only.
struct At {
  const At* above = nullptr;
  std::string key = {};  ///< "length", "[2]"; empty: it is no part of the text.
  const ReadContext* context = nullptr;

  /// Return "data.windows.length".
  [[nodiscard]] std::string text() const;
  /// Return the context of the chain; one that says nothing where none has any.
  [[nodiscard]] const ReadContext& read_context() const;
};

/// Return plain text as YAML's core schema has it: a truth, a number, or text; other values as they are, with all that
/// is in them.
Value resolved(const Value& value);
/// Return a value on one line, as YAML and JSON have it: "[1, 2]", "{a: \"b\"}". Text is quoted.
std::string flow_text(const Value& value);
/// Return what an error says that it found: "'text'", "3", "a list of 900", "nothing".
std::string found(const Value& value);

/// Return the error of a value: "line 3: data.windows.length: WHAT".
Error refused(const Value& value, const At& at, std::string_view what, std::string_view hint = {});
/// Return the error of a value that is not what is expected: "line 3: data.windows.length must be EXPECTED, not FOUND".
Error unexpected(const Value& value, const At& at, std::string_view expected);
/// Refuse a map with a key that is not among the known ones (the nearest is named), that is given twice, or, in a file,
/// without a value. Errors: kInvalidArgument.
Status check_keys(const ValueMap& map, const At& at, const std::vector<std::string>& known);
/// Refuse a map in which a key is given twice. Errors: kInvalidArgument.
Status check_twice(const ValueMap& map, const At& at);

}  // namespace headrace
