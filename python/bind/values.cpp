#include "bind/values.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <utility>

#include "bind/text.h"
#include "bind/without_gil.h"

namespace headrace::python {
namespace {

constexpr int kMostDepth = 64;  // lists within lists: one may hold itself

Value of_whole(const nb::object& number) {
  std::uint64_t above = 0;
  std::int64_t below = 0;
  if (nb::try_cast(number, above)) return {WholeNumber(above)};
  if (nb::try_cast(number, below)) return {WholeNumber(below)};
  return {Foreign{nb::cast<std::string>(nb::str(number))}};  // beyond 64 bits
}

Value of_object(nb::handle object, int depth) {
  if (depth > kMostDepth)
    throw Error(ErrorCode::kInvalidArgument, fmt::format("lists within lists, more than {} deep", kMostDepth));
  if (object.is_none()) return {};
  if (PyLong_CheckExact(object.ptr()) != 0) return of_whole(nb::borrow(object));
  if (nb::isinstance<nb::bool_>(object)) return {nb::cast<bool>(object)};
  if (nb::isinstance<nb::str>(object)) return {from_python(nb::borrow<nb::str>(object))};
  if (nb::isinstance<nb::bytes>(object)) return {from_python(nb::borrow<nb::bytes>(object))};
  if (PyType_Check(object.ptr()) == 0 && nb::hasattr(object, "_as_value"))
    return of_object(object.attr("_as_value")(), depth + 1);  // of our own classes
  if (nb::hasattr(object, "__fspath__"))
    return of_object(nb::module_::import_("os").attr("fsencode")(object), depth + 1);
  if (nb::isinstance<nb::dict>(object)) {
    ValueMap map;
    for (const auto& [key, value] : nb::borrow<nb::dict>(object))
      map.push_back({from_python(nb::str(key)), of_object(value, depth + 1), 0});
    return {std::move(map)};
  }
  if (nb::hasattr(object, "dtype") && nb::hasattr(object, "tolist"))  // NumPy's numbers and arrays
    return of_object(object.attr("tolist")(), depth + 1);
  if (nb::isinstance<nb::float_>(object)) return {nb::cast<double>(object)};
  if (nb::object whole = nb::steal(PyNumber_Index(object.ptr())); whole.is_valid()) return of_whole(whole);
  PyErr_Clear();
  if (PySequence_Check(object.ptr()) != 0) {
    ValueList list;
    for (nb::handle item : nb::borrow<nb::sequence>(object)) list.push_back(of_object(item, depth + 1));
    return {std::move(list)};
  }
  if (nb::hasattr(object, "__float__"))
    if (nb::object number = nb::steal(PyNumber_Float(object.ptr())); number.is_valid())
      return {nb::cast<double>(number)};
  PyErr_Clear();
  return {Foreign{nb::cast<std::string>(nb::module_::import_("headrace._support.checks").attr("brief")(object))}};
}

}  // namespace

Value value_of(nb::handle object) {
  return of_object(object, 0);
}

Value value_of_words(const nb::dict& words) {
  ValueMap map;
  for (const auto& [key, value] : words)
    if (!value.is_none()) map.push_back({nb::cast<std::string>(key), value_of(value), 0});
  return {std::move(map)};
}

nb::object object_of(const Value& value) {
  if (value.plain) return object_of(resolved(value));
  return std::visit(
      []<class T>(const T& one) -> nb::object {
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nb::none();
        } else if constexpr (std::is_same_v<T, WholeNumber>) {
          const auto below = one.template as<std::int64_t>();
          return below ? nb::cast(*below) : nb::cast(one.bits());
        } else if constexpr (std::is_same_v<T, std::string>) {
          return to_python(one);
        } else if constexpr (std::is_same_v<T, ValueList>) {
          nb::list list;
          for (const Value& item : one) list.append(object_of(item));
          return list;
        } else if constexpr (std::is_same_v<T, ValueMap>) {
          nb::dict map;
          for (const ValueEntry& entry : one) map[to_python(entry.key)] = object_of(entry.value);
          return map;
        } else if constexpr (std::is_same_v<T, NumberColumn> || std::is_same_v<T, Foreign>) {
          return to_python(flow_text({one}));
        } else {
          return nb::cast(one);
        }
      },
      value.is);
}

Opened apply_verb(const std::string& name, const Opened& below, const nb::dict& words) {
  const Verb* const verb = find_verb(name);
  if (!verb || verb->is_source()) throw Error(ErrorCode::kInternal, fmt::format("there is no verb {}", name));
  const Value given = value_of_words(words);
  check_keys(*given.map(), {}, verb->spec->names()).value();
  const std::shared_ptr<void> options = verb->spec->make();
  verb->spec->read_known(given, {}, options.get()).value();
  return without_gil([&] { return verb->make(options.get(), below, {}); });
}

}  // namespace headrace::python
