// Values between Python and the specs of the core (src/spec): what verbs and options take as keyword arguments.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "dataset/recipe/data_tree.h"
#include "spec/value.h"

namespace headrace::python {

namespace nb = nanobind;

/// Return an object as a value: None, a truth, a number, text (also bytes and paths), a list or a dict of such; NumPy's
/// numbers and arrays too. What is none of these becomes Foreign, which specs refuse by its text. Throws
/// Error(kInvalidArgument) for lists that are too deep.
Value value_of(nb::handle object);
/// Return keyword arguments as a map, without those that are None.
Value value_of_words(const nb::dict& words);
/// Return a value as an object of Python.
nb::object object_of(const Value& value);

/// Return the value of an enum that a word means. Throws Error(kInvalidArgument), which names the argument and the
/// words.
template <Worded E>
E enum_of(const char* argument, const std::string& word) {
  E value{};
  ValueCodec<E>::read({word}, At{nullptr, argument}, {}, value).value();
  return value;
}

/// Apply a verb with keyword arguments to what was opened. Throws Error(kInvalidArgument), which names the argument;
/// what the verb throws. The GIL is released meanwhile.
Opened apply_verb(const std::string& name, const Opened& below, const nb::dict& words);

}  // namespace headrace::python
