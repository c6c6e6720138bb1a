// Relabel, Threshold, OneHot: what a model is taught, made of what is stored.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "transform/element_kernel.h"
#include "transform/kinds.h"
#include "transform/numbers.h"

namespace headrace {
namespace {

constexpr DType kInt64{DType::Kind::kInt, 8};

/// Works on double, whatever the field's type: 2^53 is more than any class.
template <class Work>
class LabelKernel final : public Kernel {
 public:
  LabelKernel(const Field& in, Work work) : in_(in), work_(std::move(work)) {}
  Status run(const KernelCall& call) const override {
    for (std::size_t i = 0; i < in_.row_elements() * call.rows; ++i) {
      double value = 0;
      load_numbers(in_.dtype, call.in[0] + i * in_.dtype.itemsize, 1, &value);
      HEADRACE_TRY(work_(value, i, call.out[0]));
    }
    return {};
  }
  [[nodiscard]] bool takes_rows() const override { return true; }

 private:
  const Field in_;
  const Work work_;
};

template <class Work>
CompiledTransform label_transform(const Field& in, const std::string& to, const DType& type, Dims dims, Work work) {
  CompiledTransform made;
  made.outputs.push_back({to, to == in.name ? in.path : "", type, std::move(dims), {}});
  made.kernel = std::make_shared<LabelKernel<Work>>(in, std::move(work));
  return made;
}

void put(std::byte* out, std::size_t i, std::int64_t value) {
  std::memcpy(out + i * sizeof(value), &value, sizeof(value));
}

}  // namespace

Result<CompiledTransform> compile_relabel(const Transform& transform, std::span<const Field> inputs,
                                          Settings& settings) {
  HEADRACE_TRY(need_one_number_field(transform, inputs));
  const std::vector<double> from = settings.numbers("stored"), made = settings.numbers("labels");
  const bool has_default = settings.has("otherwise");
  const std::int64_t otherwise = settings.whole("otherwise", 0, std::numeric_limits<std::int64_t>::min());
  const std::string to = settings.text("to", inputs[0].name);
  if (from.size() != made.size())
    settings.refuse(fmt::format("{} stored values, and {} labels", from.size(), made.size()));
  HEADRACE_TRY(settings.finish());
  std::map<double, std::int64_t> labels;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (std::isnan(from[i]) || made[i] != std::floor(made[i]) || std::abs(made[i]) > 0x1p53)
      return transform_error(transform, fmt::format("{} → {} is no label", from[i], made[i]));
    if (!labels.emplace(from[i], static_cast<std::int64_t>(made[i])).second)
      return transform_error(transform, fmt::format("the stored value {} is named twice", from[i]));
  }
  const bool is_wide = inputs[0].dtype.itemsize == 8 && is_whole(inputs[0].dtype);
  return label_transform(
      inputs[0], to, kInt64, inputs[0].dims, [=](double value, std::size_t i, std::byte* out) -> Status {
        if (is_wide && std::abs(value) >= 0x1p53)  // several integers are this double
          return Error(ErrorCode::kCorruptData, fmt::format("the stored label {:.0f} is beyond 2^53", value));
        if (std::isnan(value))  // which no map finds, and equals every key to it
          return Error(ErrorCode::kCorruptData, "the stored label is NaN, which is no label")
              .with_hint("Correct it in the file, or leave the sample out: data.select(...).");
        const auto it = labels.find(value);
        if (it == labels.end() && !has_default)
          return Error(ErrorCode::kCorruptData, fmt::format("the stored label {} has no new one", value))
              .with_hint("Name it, or give otherwise= for all that are not named.");
        put(out, i, it == labels.end() ? otherwise : it->second);
        return {};
      });
}

Result<CompiledTransform> compile_threshold(const Transform& transform, std::span<const Field> inputs,
                                            Settings& settings) {
  HEADRACE_TRY(need_one_number_field(transform, inputs));
  const std::vector<double> at = settings.numbers("at");
  const std::string to = settings.text("to", inputs[0].name);
  if (!std::ranges::is_sorted(at)) settings.refuse("the thresholds do not ascend");
  HEADRACE_TRY(settings.finish());
  return label_transform(inputs[0], to, kInt64, inputs[0].dims,
                         [=](double value, std::size_t i, std::byte* out) -> Status {
                           if (std::isnan(value)) return Error(ErrorCode::kCorruptData, "NaN is in no class");
                           put(out, i, std::ranges::upper_bound(at, value) - at.begin());
                           return {};
                         });
}

Result<CompiledTransform> compile_one_hot(const Transform& transform, std::span<const Field> inputs,
                                          Settings& settings) {
  HEADRACE_TRY(need_one_number_field(transform, inputs));
  const std::int64_t classes = settings.whole("classes", std::nullopt, 1, 1 << 24);
  const Result<DType> type = type_of_name(settings.text("dtype", "float32"));
  const std::string to = settings.text("to", inputs[0].name);
  if (!type.ok()) settings.refuse(type.error().message(), type.error().hint());
  HEADRACE_TRY(settings.finish());
  std::vector<std::uint64_t> shape = inputs[0].dims.row_shape();
  shape.push_back(static_cast<std::uint64_t>(classes));
  std::vector<std::byte> one(type->itemsize);
  const double value_of_one = 1;
  store_numbers(*type, &value_of_one, 1, one.data());
  return label_transform(
      inputs[0], to, *type, Dims(std::move(shape)),
      [classes, one](double value, std::size_t i, std::byte* out) -> Status {
        const auto row_bytes = static_cast<std::size_t>(classes) * one.size();
        std::memset(out + i * row_bytes, 0, row_bytes);
        if (!(value >= 0) || value >= static_cast<double>(classes) || value != std::floor(value))
          return Error(ErrorCode::kCorruptData, fmt::format("the label {} is none of {} classes", value, classes))
              .with_hint("Classes are numbered from 0; T.Relabel gives them other numbers.");
        std::memcpy(out + i * row_bytes + static_cast<std::size_t>(value) * one.size(), one.data(), one.size());
        return {};
      });
}

}  // namespace headrace
