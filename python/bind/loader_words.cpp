#include "bind/loader_words.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <string>
#include <utility>

#include "bind/text.h"

namespace headrace::python {
namespace {

std::string option_text(const nb::handle& value) {
  if (nb::isinstance<nb::bool_>(value)) return nb::cast<bool>(value) ? "true" : "false";
  if (nb::isinstance<nb::bytes>(value)) return from_python(nb::cast<nb::bytes>(value));
  return nb::cast<std::string>(nb::str(value));
}

}  // namespace

LoaderSettings to_settings(const nb::dict& words, std::shared_ptr<const SamplerChoice> sampler) {
  LoaderSettings settings;
  settings.options.sampler = std::move(sampler);
  for (const auto& [key, value] : words) {
    if (value.is_none()) continue;
    const auto name = nb::cast<std::string>(key);
    const LoaderOption* const option = find_loader_option(name);
    if (!option || !option->set) throw Error(ErrorCode::kInternal, fmt::format("Loader has no option {}", name));
    if (const Status set = option->set(settings, option_text(value)); !set.ok())
      throw Error(ErrorCode::kInvalidArgument, fmt::format("{}: {}", name, set.error().message()))
          .with_hint(set.error().hint());
  }
  settle(settings).value();
  return settings;
}

nb::dict to_words(const LoaderSettings& settings) {
  nb::dict words;
  for (const LoaderOption& option : loader_options()) {
    if (!is_given(option, settings)) continue;
    const std::string text = option.get(settings);
    const nb::object value = to_python(text);
    switch (option.kind) {
      case LoaderOption::Kind::kSwitch:
        words[option.name.data()] = text == "true";
        break;
      case LoaderOption::Kind::kCount:
        words[option.name.data()] = nb::int_(value);
        break;
      case LoaderOption::Kind::kSeconds:
      case LoaderOption::Kind::kNumber:
        words[option.name.data()] = nb::float_(value);
        break;
      case LoaderOption::Kind::kText:
        words[option.name.data()] = value;
        break;
    }
  }
  return words;
}

nb::list describe_options() {
  nb::list all;
  for (const LoaderOption& option : loader_options()) {
    nb::dict one;
    one["name"] = to_python(option.name);
    one["expected"] = to_python(option.expected);
    one["default"] = to_python(option.fallback);
    one["doc"] = to_python(option.doc);
    one["run_file"] = (option.where & LoaderOption::kRunFile) != 0;
    one["command_line"] = (option.where & LoaderOption::kCommandLine) != 0;
    all.append(one);
  }
  return all;
}

}  // namespace headrace::python
