#include "dataset/label.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <unordered_map>

#include "dataset/column_runs.h"
#include "dataset/refuse.h"

namespace headrace {
namespace {

constexpr std::size_t kMostClasses = 1000;  // beyond, whole numbers are a quantity

template <class T>
std::vector<double> as_doubles(const std::byte* data, std::size_t n) {
  std::vector<double> out(n);
  for (std::size_t i = 0; i < n; ++i) {
    T value;
    std::memcpy(&value, data + i * sizeof(T), sizeof(T));
    out[i] = static_cast<double>(value);
  }
  return out;
}

std::vector<double> column_values(const Tensor& column) {
  const std::size_t n = column.rows();
  const DType& t = column.dtype();
  const std::byte* const data = column.data();
  if (t.kind == DType::Kind::kFloat && t.itemsize == 4) return as_doubles<float>(data, n);
  if (t.kind == DType::Kind::kFloat && t.itemsize == 8) return as_doubles<double>(data, n);
  const bool is_signed = t.kind == DType::Kind::kInt;
  if (is_signed || t.kind == DType::Kind::kUInt || t.kind == DType::Kind::kBool) switch (t.itemsize) {
      case 1:
        return is_signed ? as_doubles<std::int8_t>(data, n) : as_doubles<std::uint8_t>(data, n);
      case 2:
        return is_signed ? as_doubles<std::int16_t>(data, n) : as_doubles<std::uint16_t>(data, n);
      case 4:
        return is_signed ? as_doubles<std::int32_t>(data, n) : as_doubles<std::uint32_t>(data, n);
      case 8:
        return is_signed ? as_doubles<std::int64_t>(data, n) : as_doubles<std::uint64_t>(data, n);
      default:
        break;
    }
  throw Error(ErrorCode::kInvalidArgument, fmt::format("a label must be a number, this is {}", t.name()));
}

/// Put numbers of classes in the place of the values, if they are whole and few.
void number_classes(Label& label) {
  std::unordered_map<double, std::uint32_t> numbers;
  for (const double v : label.values) {
    if (std::isnan(v)) continue;
    if (v != std::floor(v)) return;
    if (numbers.contains(v)) continue;
    if (numbers.size() == kMostClasses) return;
    numbers.emplace(v, 0);
  }
  std::vector<double> kinds;
  for (const auto& [value, number] : numbers) kinds.push_back(value);
  std::ranges::sort(kinds);
  for (const double value : kinds) numbers[value] = label.num_classes++;
  label.classes.reserve(label.values.size());
  for (const double v : label.values)
    label.classes.push_back(std::isnan(v) ? Label::kNoClass : numbers.find(v)->second);
  label.values = {};
}

Error no_label(const std::string& field, std::uint64_t row, const std::string& what) {
  return std::move(Error(ErrorCode::kCorruptData, fmt::format("the label of sample {} is {}", row, what))
                       .with_field(field)
                       .with_hint("Correct it in the file, or leave such samples out: data.select(...)."));
}

/// Return the class of a one-hot row. Throws kCorruptData if it has none.
std::uint32_t class_of(const std::string& field, std::uint64_t row, std::span<const double> cells) {
  if (std::ranges::any_of(cells, [](double v) { return std::isnan(v); })) throw no_label(field, row, "NaN");
  const auto largest = std::ranges::max_element(cells);
  if (!(*largest > 0)) throw no_label(field, row, "one-hot, and no entry of it is above 0");
  return static_cast<std::uint32_t>(largest - cells.begin());
}

}  // namespace

Label read_label(const Dataset& data, const std::string& name, const std::function<bool()>& go_on, NanLabels nan) {
  const Dataset column = stored_column(data, name);  // a label is what the files say
  const Field& field = column.fields()[0];
  const std::vector<std::uint64_t> shape = field.dims.row_shape();
  if (!shape.empty() && !(shape.size() == 1 && shape[0] > 0))
    throw Error(ErrorCode::kInvalidArgument, "a label is a number a sample, or one-hot").with_field(name);
  Label label;
  label.name = name;
  if (!shape.empty()) {  // one-hot: the largest entry is the class
    const Field flat{field.name, field.path, field.dtype, {}, {}};
    const std::uint64_t width = shape[0];
    label.classes.reserve(column.size());
    read_runs(column, go_on, [&](const Tensor& run) {
      const std::vector<double> cells = column_values(Tensor(run.data(), &flat, run.rows() * width));
      for (std::size_t at = 0; at < cells.size(); at += width)
        label.classes.push_back(class_of(name, label.classes.size(), std::span(cells).subspan(at, width)));
    });
    label.num_classes = static_cast<std::uint32_t>(width);
    return label;
  }
  label.values.reserve(column.size());
  read_runs(column, go_on, [&](const Tensor& run) {
    const std::vector<double> values = column_values(run);
    label.values.insert(label.values.end(), values.begin(), values.end());
  });
  for (std::size_t row = 0; row < label.values.size(); ++row) {
    if (!std::isnan(label.values[row])) continue;
    if (nan == NanLabels::kRefused) throw no_label(name, row, "NaN");
    ++label.num_nan;
  }
  if (label.num_nan < label.values.size()) number_classes(label);
  return label;
}

Error without_classes(const std::string& field, std::string_view to) {
  return std::move(
      refuse(fmt::format("the field to {} by has no classes: more than 1000 kinds, or numbers that are not whole", to),
             "Name a field with a class number a sample, or one-hot.")
          .with_field(field));
}

}  // namespace headrace
