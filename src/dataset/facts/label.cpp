#include "dataset/facts/label.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>

#include "dataset/recipe/refuse.h"
#include "dataset/samples/column_runs.h"
#include "transform/numbers.h"

namespace headrace {
namespace {

constexpr std::size_t kMostClasses = 1000;  // beyond, whole numbers are a quantity

/// The numbers of a column in one type that holds each of them exactly: integers do not pass through double.
using Numbers = std::variant<std::vector<std::int64_t>, std::vector<std::uint64_t>, std::vector<double>>;

Numbers no_numbers(const DType& type) {
  if (type.kind == DType::Kind::kInt) return std::vector<std::int64_t>{};
  if (is_whole(type)) return std::vector<std::uint64_t>{};
  return std::vector<double>{};
}

/// Append the numbers of a run to those before.
struct AppendRun {
  const Tensor& run;

  void operator()(std::vector<double>& to) const {
    const std::size_t before = to.size();
    to.resize(before + run.rows());
    load_numbers(run.dtype(), run.data(), run.rows(), to.data() + before);
  }
  template <class Whole>
  void operator()(std::vector<Whole>& to) const {
    const std::size_t before = to.size();
    to.resize(before + run.rows());
    const DType wide{std::is_signed_v<Whole> ? DType::Kind::kInt : DType::Kind::kUInt, sizeof(Whole)};
    cast_integers(run.dtype(), run.data(), run.rows(), wide, reinterpret_cast<std::byte*>(to.data() + before));
  }
};

template <class Number>
bool is_nan(Number value) {
  if constexpr (std::is_floating_point_v<Number>) return std::isnan(value);
  return false;
}

template <class Number>
bool is_whole_number(Number value) {
  if constexpr (std::is_floating_point_v<Number>) return value == std::floor(value) && std::isfinite(value);
  return true;
}

/// Set the classes of the numbers, if they are whole and few.
template <class Number>
bool number_classes(const std::vector<Number>& values, Label& label) {
  std::unordered_map<Number, std::uint32_t> numbers;
  for (const Number v : values) {
    if (is_nan(v)) continue;
    if (!is_whole_number(v)) return false;
    if (numbers.contains(v)) continue;
    if (numbers.size() == kMostClasses) return false;
    numbers.emplace(v, 0);
  }
  std::vector<Number> kinds;
  for (const auto& [value, number] : numbers) kinds.push_back(value);
  std::ranges::sort(kinds);
  for (const Number value : kinds) numbers[value] = label.num_classes++;
  label.classes.reserve(values.size());
  for (const Number v : values) label.classes.push_back(is_nan(v) ? Label::kNoClass : numbers.find(v)->second);
  return true;
}

Error no_label(const std::string& field, std::uint64_t row, const std::string& what) {
  return Error(ErrorCode::kCorruptData, fmt::format("the label of sample {} is {}", row, what))
      .with_field(field)
      .with_hint("Correct it in the file, or leave such samples out: data.select(...).");
}

/// Return the class of a one-hot row. Throws kCorruptData if it is none.
std::uint32_t class_of(const std::string& field, std::uint64_t row, std::span<const double> cells) {
  if (std::ranges::any_of(cells, [](double v) { return std::isnan(v); })) throw no_label(field, row, "NaN");
  const auto is_set = [](double v) { return v != 0; };
  const auto one = std::ranges::find_if(cells, is_set);
  if (std::ranges::count_if(cells, is_set) == 1 && *one == 1) return static_cast<std::uint32_t>(one - cells.begin());
  const std::string what = one == cells.end() ? "no entry of it is 1"
                                              : fmt::format("{} of its {} entries are not 0, the first is {}",
                                                            std::ranges::count_if(cells, is_set), cells.size(), *one);
  throw no_label(field, row, fmt::format("not one-hot: {}", what))
      .with_hint(
          "A label of several entries has one 1 and otherwise 0. Else name a field with one number a sample, or "
          "leave such samples out: data.select(...).");
}

Label read_one_hot(const Dataset& column, const Field& field, std::uint64_t width, const std::function<bool()>& go_on) {
  Label label;
  label.name = field.name;
  label.num_classes = static_cast<std::uint32_t>(width);
  label.classes.reserve(column.size());
  const Field flat{field.name, field.path, field.dtype, {}, {}};
  std::vector<double> cells;
  read_runs(column, go_on, [&](const Tensor& run) {
    cells.clear();
    AppendRun{Tensor(run.data(), &flat, run.rows() * width)}(cells);
    for (std::size_t at = 0; at < cells.size(); at += width)
      label.classes.push_back(class_of(field.name, label.classes.size(), std::span(cells).subspan(at, width)));
  });
  return label;
}

}  // namespace

Label read_label(const Dataset& data, const std::string& name, const std::function<bool()>& go_on, NanLabels nan) {
  const Dataset column = stored_column(data, name);  // a label is what the files say
  const Field& field = column.fields()[0];
  if (!is_number(field.dtype))
    throw Error(ErrorCode::kInvalidArgument, fmt::format("a label must be a number, this is {}", field.dtype.name()))
        .with_field(name)
        .with_hint("Name a field with a class number a sample, or one-hot.");
  const std::vector<std::uint64_t> shape = field.dims.row_shape();
  const bool is_one = std::ranges::all_of(shape, [](std::uint64_t extent) { return extent == 1; });
  if (!is_one && !(shape.size() == 1 && shape[0] > 0))
    throw Error(ErrorCode::kInvalidArgument, "a label is a number a sample, or one-hot").with_field(name);
  if (!is_one) return read_one_hot(column, field, shape[0], go_on);
  const Field flat{field.name, field.path, field.dtype, {}, {}};
  Numbers numbers = no_numbers(field.dtype);
  std::visit([&](auto& values) { values.reserve(column.size()); }, numbers);
  read_runs(column, go_on,
            [&](const Tensor& run) { std::visit(AppendRun{Tensor(run.data(), &flat, run.rows())}, numbers); });
  Label label;
  label.name = name;
  std::visit(
      [&](auto& values) {
        for (std::size_t row = 0; row < values.size(); ++row) {
          if (!is_nan(values[row])) continue;
          if (nan == NanLabels::kRefused) throw no_label(name, row, "NaN");
          ++label.num_nan;
        }
        if (label.num_nan < values.size() && number_classes(values, label)) return;
        label.values.assign(values.begin(), values.end());
      },
      numbers);
  return label;
}

Error without_classes(const std::string& field, std::string_view to) {
  return refuse(
             fmt::format("the field to {} by has no classes: more than 1000 kinds, or numbers that are not whole", to),
             "Name a field with a class number a sample, or one-hot.")
      .with_field(field);
}

}  // namespace headrace
