// Options of a loader between Python and the engine's table of them: a dict of names and plain values.
#pragma once

#include <nanobind/nanobind.h>

#include "loader/options/loader_settings.h"

namespace headrace::python {

namespace nb = nanobind;

/// Take names and values; None is not given. Nothing is checked against each other. Throws Error(kInvalidArgument).
LoaderSettings words_to_settings(const nb::dict& words);
/// Read the same, settled. \param sampler  What has no word of its own; may be null.
LoaderSettings to_settings(const nb::dict& words, const Order* sampler = nullptr);
/// Return all of them as they were understood and settled, None where one has no value.
nb::dict settled_words(const nb::dict& words, const Order* sampler);
/// Return what is given, as keyword arguments of headrace.Loader. \param all  The others too; None where they have no
/// value.
nb::dict to_words(const LoaderSettings& settings, bool all = false);
/// Return the list, an option a dict.
nb::list describe_options();
/// Return the same as JSON, an option a line.
std::string options_json();

}  // namespace headrace::python
