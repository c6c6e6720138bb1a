#include "bind/loader_words.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <string>
#include <utility>

#include "bind/text.h"
#include "bind/values.h"

namespace headrace::python {
namespace {

/// The value of an option as an argument of Python; None: it has none.
nb::object argument_of(const Member& option, const LoaderSettings& settings) {
  const Value value = spec<LoaderSettings>().value_of(option, &settings);
  const auto* const number = std::get_if<WholeNumber>(&value.is);
  if (number && *number < WholeNumber(option.bounds.least)) return nb::none();
  return value.map() ? nb::object(to_python(option_text(option, settings))) : object_of(value);
}

/// Python's annotation of an option: "int | None".
std::string annotation_of(const Member& option) {
  static const LoaderSettings usual;
  const bool may_be_none = option.type->python != "Any" && argument_of(option, usual).is_none();
  return fmt::format("{}{}", option.type->python, may_be_none ? " | None" : "");
}

}  // namespace

LoaderSettings words_to_settings(const nb::dict& words) {
  LoaderSettings settings;
  const Value given = value_of_words(words);
  check_keys(*given.map(), {}, spec<LoaderSettings>().names()).value();
  spec<LoaderSettings>().read_known(given, {}, &settings).value();
  return settings;
}

LoaderSettings to_settings(const nb::dict& words, const Order* sampler) {
  LoaderSettings settings = words_to_settings(words);
  if (sampler) settings.sampler_order = *sampler;
  settle(settings).value();
  return settings;
}

nb::dict settled_words(const nb::dict& words, const Order* sampler) {
  const LoaderSettings given = to_settings(words, sampler);
  LoaderSettings settled = settings_of(given.options);
  settled.framework = given.framework, settled.device = given.device, settled.batch_format = given.batch_format;
  return to_words(settled, true);
}

nb::dict to_words(const LoaderSettings& settings, bool all) {
  nb::dict words;
  for (const Member& option : spec<LoaderSettings>().members())
    if (!option.is_code_only && (all || is_given(option, settings)))
      words[option.name.data()] = argument_of(option, settings);
  return words;
}

nb::list describe_options() {
  static const LoaderSettings usual;
  nb::list all;
  for (const Member& option : spec<LoaderSettings>().members()) {
    nb::dict one;
    one["name"] = to_python(option.name);
    one["annotation"] = to_python(annotation_of(option));
    one["default"] = argument_of(option, usual);
    one["expected"] = to_python(option.words());
    one["doc"] = to_python(option.doc);
    one["more"] = to_python(option.more);
    one["run_file"] = !option.is_code_only;
    one["command_line"] = option.is_on_command_line;
    all.append(one);
  }
  return all;
}

std::string options_json() {
  const nb::object dumps = nb::module_::import_("json").attr("dumps");
  std::string text;
  for (const nb::handle option : describe_options())
    text += (text.empty() ? "[" : ",\n") + nb::cast<std::string>(dumps(option));
  return text + "]";
}

}  // namespace headrace::python
