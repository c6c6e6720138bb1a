// Text across the border. File names are bytes that need not be UTF-8, so both ways use Python's own convention for
// such names (surrogate escapes), which os.fsencode and os.fsdecode understand.
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::python {

inline nanobind::str to_python(std::string_view text) {
  PyObject* object = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
  if (object == nullptr) throw nanobind::python_error();
  return nanobind::steal<nanobind::str>(object);
}

/// Return text as to_python() gives it. Raises UnicodeEncodeError for surrogates that are no escapes.
inline std::string from_python(const nanobind::str& text) {
  PyObject* object = PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape");
  if (object == nullptr) throw nanobind::python_error();
  const auto bytes = nanobind::steal<nanobind::bytes>(object);
  return {bytes.c_str(), bytes.size()};
}

/// Return file names as os.fsencode gives them.
inline std::string from_python(const nanobind::bytes& name) {
  return {name.c_str(), name.size()};
}

inline std::vector<std::string> from_python(const std::vector<nanobind::bytes>& names) {
  std::vector<std::string> result;
  result.reserve(names.size());
  for (const nanobind::bytes& name : names) result.push_back(from_python(name));
  return result;
}

inline nanobind::list to_python(const std::vector<std::string>& texts) {
  nanobind::list result;
  for (const std::string& text : texts) result.append(to_python(text));
  return result;
}

/// As OpenOptions::companion_files: (FILES, paths).
inline nanobind::list to_python(const std::map<std::string, std::vector<std::string>>& beside) {
  nanobind::list result;
  for (const auto& [files, paths] : beside) {
    nanobind::list names;
    for (const std::string& path : paths) names.append(nanobind::bytes(path.data(), path.size()));
    result.append(nanobind::make_tuple(to_python(files), names));
  }
  return result;
}

}  // namespace headrace::python
