// Options of a loader between Python and the engine's table of them: a dict of names and plain values.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "loader/options_table.h"

namespace headrace::python {

namespace nb = nanobind;

/// Take names and values (True, 7, 2.5, "text", b"path"); None is not given. Throws Error(kInvalidArgument).
/// \param sampler  What has no word of its own; may be null.
LoaderSettings to_settings(const nb::dict& words, std::shared_ptr<const SamplerChoice> sampler = nullptr);
/// Return what is given, as keyword arguments of headrace.Loader.
nb::dict to_words(const LoaderSettings& settings);
/// Return the table, an option a dict.
nb::list describe_options();

}  // namespace headrace::python
