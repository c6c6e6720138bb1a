#include "dataset/recipe/transform_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include "transform/registry.h"

namespace headrace {
namespace {

using FieldNames = ValueCodec<std::vector<std::string>, OneOrMany<>>;
constexpr std::string_view kField = "field", kFields = "fields", kDtype = "dtype", kValues = "values", kBits = "bits";

bool all_are(const ValueList& list, auto is) {
  return std::ranges::all_of(list, is);
}

/// True if a list of numbers would lose some as floats.
bool is_beyond_floats(const ValueList& list) {
  return std::ranges::any_of(list, [](const Value& one) {
    const auto* const whole = std::get_if<WholeNumber>(&one.is);
    return whole && !whole->as<double>();
  });
}

/// Types whose numbers are written as their bits: no value of a file is one of them.
bool is_written_as_bits(const DType& dtype) {
  return dtype.kind == DType::Kind::kBool || (dtype.kind == DType::Kind::kFloat && dtype.itemsize < 4);
}

/// Return the type of that name; null: no column has it.
const DType* type_of_column(std::string_view name) {
  using Kind = DType::Kind;
  static const std::vector<DType> types{{Kind::kBool, 1}, {Kind::kInt, 1},   {Kind::kInt, 2},   {Kind::kInt, 4},
                                        {Kind::kInt, 8},  {Kind::kUInt, 1},  {Kind::kUInt, 2},  {Kind::kUInt, 4},
                                        {Kind::kUInt, 8}, {Kind::kFloat, 2}, {Kind::kFloat, 4}, {Kind::kFloat, 8}};
  const auto found = std::ranges::find_if(types, [&](const DType& one) { return one.name() == name; });
  return found == types.end() ? nullptr : &*found;
}

/// {dtype: float32, values: [1, 2]}: a column of a table; {dtype: float16, bits: [15360]} of float16 and bool.
Status read_column(const Value& value, const At& at, NumberColumn& to) {
  if (const auto* const column = std::get_if<NumberColumn>(&value.is)) return to = *column, Status();
  const ValueMap* const map = value.map();
  const std::string expected = "a column of numbers, {dtype: float32, values: […]}";
  if (!map) return unexpected(value, at, expected);
  HEADRACE_TRY(check_keys(*map, at, {std::string(kDtype), std::string(kValues), std::string(kBits)}));
  std::string name;
  const ValueList* values = nullptr;
  bool are_bits = false;
  for (const ValueEntry& entry : *map) {
    if (entry.key == kDtype) {
      HEADRACE_TRY(ValueCodec<std::string>::read(entry.value, At{&at, entry.key}, {}, name));
      continue;
    }
    if (values) return unexpected(value, at, expected);
    are_bits = entry.key == kBits;
    values = entry.value.list();
  }
  const DType* const dtype = type_of_column(name);
  if (!dtype)
    return refused(value, at, fmt::format("'{}' is no type of a column", name), "Such as float32, float64 or int64.");
  if (!values || are_bits != is_written_as_bits(*dtype)) return unexpected(value, at, expected);
  std::string bytes;
  for (std::size_t i = 0; i < values->size(); ++i) {
    const At here{&at, fmt::format("[{}]", i)};
    std::uint64_t bits = 0;
    if (dtype->kind == DType::Kind::kFloat && !are_bits) {
      double number = 0;
      HEADRACE_TRY(ValueCodec<double>::read((*values)[i], here, {}, number));
      bits = dtype->itemsize == 8 ? std::bit_cast<std::uint64_t>(number)
                                  : std::bit_cast<std::uint32_t>(static_cast<float>(number));
    } else {
      WholeNumber number;
      HEADRACE_TRY(ValueCodec<WholeNumber>::read((*values)[i], here, {}, number));
      bits = number.bits();
    }
    for (std::uint32_t byte = 0; byte < dtype->itemsize; ++byte) bytes.push_back(static_cast<char>(bits >> 8 * byte));
  }
  to = NumberColumn(*dtype, std::as_bytes(std::span(bytes)));
  return {};
}

Value column_value(const NumberColumn& column) {
  const DType& dtype = column.dtype();
  const bool as_bits = is_written_as_bits(dtype);
  ValueList values;
  for (std::size_t i = 0; i < column.size(); ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, column.bytes().data() + i * dtype.itemsize, dtype.itemsize);
    if (as_bits || dtype.kind == DType::Kind::kUInt) {
      values.push_back({WholeNumber(bits)});
    } else if (dtype.kind == DType::Kind::kFloat) {
      values.push_back({dtype.itemsize == 8 ? std::bit_cast<double>(bits)
                                            : double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))}});
    } else {
      const unsigned unused = 64 - 8 * static_cast<unsigned>(dtype.itemsize);
      values.push_back({WholeNumber(static_cast<std::int64_t>(bits << unused) >> unused)});
    }
  }
  ValueMap map;
  map.push_back({std::string(kDtype), {dtype.name()}, 0});
  map.push_back({std::string(as_bits ? kBits : kValues), {std::move(values)}, 0});
  return {std::move(map)};
}

Status read_list(const ValueList& given, const At& at, Setting& to) {
  if (!given.empty() && (given[0].map() || std::holds_alternative<NumberColumn>(given[0].is))) {
    auto& columns = to.emplace<std::vector<NumberColumn>>();
    for (std::size_t i = 0; i < given.size(); ++i)
      HEADRACE_TRY(read_column(given[i], At{&at, fmt::format("[{}]", i)}, columns.emplace_back()));
    return {};
  }
  ValueList list;
  for (const Value& one : given) list.push_back(resolved(one));
  if (!list.empty() && all_are(list, [](const Value& one) { return one.text() != nullptr; })) {
    auto& texts = to.emplace<std::vector<std::string>>();
    for (const Value& one : list) texts.push_back(*one.text());
    return {};
  }
  const bool all_whole = all_are(list, [](const Value& one) { return std::holds_alternative<WholeNumber>(one.is); });
  if (all_whole && is_beyond_floats(list)) {
    auto& wholes = to.emplace<std::vector<WholeNumber>>();
    for (const Value& one : list) wholes.push_back(std::get<WholeNumber>(one.is));
    return {};
  }
  auto& numbers = to.emplace<std::vector<double>>();
  for (std::size_t i = 0; i < list.size(); ++i)
    HEADRACE_TRY(ValueCodec<double>::read(list[i], At{&at, fmt::format("[{}]", i)}, {}, numbers.emplace_back()));
  return {};
}

/// What kinds of settings are written as. The order is part of recipes.
struct SettingPacker {
  PackedWriter& out;
  template <class T>
  void operator()(const T& value) const {
    ValueCodec<T>::pack(out, value);
  }
  void operator()(std::int64_t value) const { out.signed_number(value); }
  void operator()(const std::vector<NumberColumn>& columns) const {
    out.number(columns.size());
    for (const NumberColumn& column : columns) {
      out.number(static_cast<std::uint64_t>(column.dtype().kind));
      out.number(column.dtype().itemsize);
      out.text({reinterpret_cast<const char*>(column.bytes().data()), column.bytes().size()});
    }
  }
};

std::vector<NumberColumn> unpack_columns(PackedReader& in) {
  std::vector<NumberColumn> columns;
  for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
    DType dtype;
    dtype.kind = static_cast<DType::Kind>(in.number_up_to(static_cast<std::uint64_t>(DType::Kind::kFloat)));
    dtype.itemsize = static_cast<std::uint32_t>(in.number_up_to(8));
    const std::string_view bytes = in.text();
    if (!type_of_column(dtype.name()) || bytes.size() % dtype.itemsize != 0) in.fail();
    if (in.ok()) columns.emplace_back(dtype, std::as_bytes(std::span(bytes)));
  }
  return columns;
}

template <class T>
T unpacked(PackedReader& in) {
  T value{};
  ValueCodec<T>::unpack(in, {}, value);
  return value;
}

}  // namespace

Status ValueCodec<Setting>::read(const Value& value, const At& at, const Bounds& bounds, Setting& to) {
  if (const ValueList* const list = value.list()) return read_list(*list, at, to);
  const Value meant = resolved(value);
  if (const auto* const on = std::get_if<bool>(&meant.is)) return to = *on, Status();
  if (const auto* const real = std::get_if<double>(&meant.is)) return to = *real, Status();
  if (const std::string* const text = meant.text()) return to = *text, Status();
  const auto* const whole = std::get_if<WholeNumber>(&meant.is);
  if (!whole) return unexpected(value, at, words(bounds));
  const std::optional<std::int64_t> number = whole->as<std::int64_t>();
  if (!number) return unexpected(value, at, "a number from -2**63 to 2**63 - 1");
  to = *number;
  return {};
}

Value ValueCodec<Setting>::write(const Setting& from) {
  return std::visit(
      []<class T>(const T& value) -> Value {
        if constexpr (std::is_same_v<T, std::int64_t>) {
          return {WholeNumber(value)};
        } else if constexpr (std::is_same_v<T, std::vector<NumberColumn>>) {
          ValueList list;
          for (const NumberColumn& column : value) list.push_back(column_value(column));
          return {std::move(list)};
        } else if constexpr (requires { value.size(); } && !std::is_same_v<T, std::string>) {
          ValueList list;
          for (const auto& one : value) list.push_back({one});
          return {std::move(list)};
        } else {
          return {value};
        }
      },
      from);
}

void ValueCodec<Setting>::pack(PackedWriter& out, const Setting& from) {
  out.number(from.index());
  std::visit(SettingPacker{out}, from);
}

void ValueCodec<Setting>::unpack(PackedReader& in, const Bounds&, Setting& to) {
  switch (in.number_up_to(std::variant_size_v<Setting> - 1)) {
    case 0:
      to = in.flag();
      return;
    case 1:
      to = in.signed_number();
      return;
    case 2:
      to = unpacked<double>(in);
      return;
    case 3:
      to = unpacked<std::string>(in);
      return;
    case 4:
      to = unpacked<std::vector<double>>(in);
      return;
    case 5:
      to = unpacked<std::vector<std::string>>(in);
      return;
    case 6:
      to = unpacked<std::vector<WholeNumber>>(in);
      return;
    default:
      to = unpack_columns(in);
  }
}

Status ValueCodec<Transform>::read(const Value& value, const At& at, const Bounds& bounds, Transform& to) {
  to = {};
  const ValueMap* const map = value.map();
  if (!map || map->size() != 1) return unexpected(value, at, words(bounds));
  const ValueEntry& entry = map->front();
  std::vector<std::string> names = transform_names();
  names.emplace_back(kTruncate);
  HEADRACE_TRY(check_keys(*map, at, names));
  to.name = entry.key;
  const At here{&at, entry.key};
  const ValueMap* const settings = entry.value.map();
  if (!settings) return unexpected(entry.value, here, "a map of settings");
  HEADRACE_TRY(check_twice(*settings, here));
  for (const ValueEntry& one : *settings) {
    const At there{&here, one.key};
    if ((one.key == kField || one.key == kFields) && !to.fields.empty())
      return refused(one.value, there, "field and fields are both given", "Give one of them.");
    const bool is_field = one.key == kField || one.key == kFields;
    HEADRACE_TRY(is_field ? FieldNames::read(one.value, there, {}, to.fields)
                          : ValueCodec<Setting>::read(one.value, there, {}, to.settings[one.key]));
  }
  return {};
}

Value ValueCodec<Transform>::write(const Transform& from) {
  ValueMap settings;
  if (from.fields.size() == 1)
    settings.push_back({std::string(kField), {from.fields[0]}, 0});
  else if (!from.fields.empty())
    settings.push_back({std::string(kFields), ValueCodec<std::vector<std::string>>::write(from.fields), 0});
  for (const auto& [name, value] : from.settings) settings.push_back({name, ValueCodec<Setting>::write(value), 0});
  return {ValueMap{{from.name, {std::move(settings)}, 0}}};
}

void ValueCodec<Transform>::pack(PackedWriter& out, const Transform& from) {
  out.text(from.name);
  ValueCodec<std::vector<std::string>>::pack(out, from.fields);
  out.number(from.settings.size());
  for (const auto& [name, value] : from.settings) out.text(name), ValueCodec<Setting>::pack(out, value);
}

void ValueCodec<Transform>::unpack(PackedReader& in, const Bounds&, Transform& to) {
  to = {};
  to.name = in.text();
  ValueCodec<std::vector<std::string>>::unpack(in, {}, to.fields);
  for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
    const std::string name(in.text());
    ValueCodec<Setting>::unpack(in, {}, to.settings[name]);
  }
}

}  // namespace headrace
