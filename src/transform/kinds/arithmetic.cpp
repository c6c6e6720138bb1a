// Standardize, Affine, Log, Clip, Cast.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "transform/element_kernel.h"
#include "transform/exact_numbers.h"
#include "transform/kinds.h"
#include "transform/kinds/log_values.h"
#include "transform/numbers.h"

namespace headrace {
namespace {

template <class Work>
std::shared_ptr<const ElementOp> op(Work work) {
  return std::make_shared<ElementOpOf<Work>>(std::move(work));
}

/// Integers to integers of another type: those of 8 bytes are more than double has.
class IntegerCast final : public Kernel {
 public:
  IntegerCast(Field in, Field out) : in_(std::move(in)), out_(std::move(out)) {}
  Status run(const KernelCall& call) const override {
    const std::string wrong =
        cast_integers(in_.dtype, call.in[0], in_.row_elements() * call.rows, out_.dtype, call.out[0]);
    return wrong.empty() ? Status() : no_value_of(out_.dtype, wrong);
  }
  [[nodiscard]] bool takes_rows() const override { return true; }

 private:
  const Field in_, out_;
};

/// Integers of 8 bytes cut to a range, which double has not all of.
template <class Number>
class IntegerClip final : public Kernel {
 public:
  IntegerClip(const Field& in, Number least, Number most) : elements_(in.row_elements()), least_(least), most_(most) {}
  Status run(const KernelCall& call) const override {
    for (std::size_t i = 0; i < elements_ * call.rows; ++i) {
      Number v;
      std::memcpy(&v, call.in[0] + i * sizeof(v), sizeof(v));
      v = std::clamp(v, least_, most_);
      std::memcpy(call.out[0] + i * sizeof(v), &v, sizeof(v));
    }
    return {};
  }
  [[nodiscard]] bool takes_rows() const override { return true; }

 private:
  const std::size_t elements_;
  const Number least_, most_;
};

double rounded(const ExactNumber& number) {
  const auto* whole = std::get_if<WholeNumber>(&number);
  return whole != nullptr ? whole->rounded<double>() : std::get<double>(number);
}

/// A bound as a number of the type, towards zero, as a value that is cut to it is stored; nullopt: it lies beyond.
template <class Number>
std::optional<Number> bound_of(const ExactNumber& bound) {
  const auto* value = std::get_if<double>(&bound);
  return same_number<Number>(value != nullptr ? ExactNumber(std::trunc(*value)) : bound);
}

std::string target(Settings& settings, const Field& in) {
  return settings.text("to", in.name);
}

/// Which runs along the last axis are padding: left as they are.
struct Padding {
  bool skips = false;
  std::size_t width = 1, feature = 0;
  double value = 0;
  template <class C>
  [[nodiscard]] bool at(const C* run) const {
    return skips && run[feature] == static_cast<C>(value);
  }
};

Padding read_padding(Settings& settings, const Field& in) {
  Padding padding;
  const std::vector<std::uint64_t> shape = in.dims.row_shape();
  if (!shape.empty()) padding.width = shape.back();
  padding.skips = settings.has("pad_feature");
  padding.feature = static_cast<std::size_t>(settings.whole("pad_feature", 0, 0));
  padding.value = settings.number("fill", 0.0);
  if (!padding.skips && settings.has("fill"))
    settings.refuse("fill= does nothing without pad_feature=", "Name the feature that tells padding.");
  if (padding.skips && padding.feature >= padding.width)
    settings.refuse(fmt::format("pad_feature is {}, and the field's last axis has {}", padding.feature, padding.width));
  return padding;
}

}  // namespace

Result<CompiledTransform> compile_standardize(const Transform& transform, std::span<const Field> inputs,
                                              Settings& settings) {
  HEADRACE_TRY(need_one_number_field(transform, inputs));
  const Field& in = inputs[0];
  const std::vector<double> mean = settings.numbers("mean"), deviation = settings.numbers("std");
  const double clip = settings.number("clip", std::numeric_limits<double>::infinity());
  const Padding padding = read_padding(settings, in);
  const std::string to = target(settings, in);
  HEADRACE_TRY(settings.finish());
  check_per_feature(settings, "mean", mean, in);
  check_per_feature(settings, "std", deviation, in);
  for (std::size_t i = 0; i < deviation.size(); ++i)
    if (!(deviation[i] > 0) || std::isinf(deviation[i]))
      settings.refuse(fmt::format("std[{}] is {}", i, deviation[i]),
                      "A feature that is always the same has no spread: leave it out, or give it std 1.");
  if (!(clip > 0)) settings.refuse(fmt::format("clip is {}", clip), "It is the largest size of a value: above 0.");
  HEADRACE_TRY(settings.finish());
  const std::size_t tile = tile_of(in);
  return element_transform(in, to, result_type(in.dtype),
                           op([m = TiledSetting(mean, tile), s = TiledSetting(deviation, tile), clip,
                               padding]<class C>(std::span<C> values) -> Status {
                             const C *means = m.of<C>(), *deviations = s.of<C>();
                             const auto most = static_cast<C>(clip);
                             const auto standardize = [&](std::size_t begin, std::size_t end) {
                               for (std::size_t i = begin; i < end; ++i)
                                 values[i] = (values[i] - means[i]) / deviations[i];
                               if (std::isinf(most)) return;
                               for (std::size_t i = begin; i < end; ++i) {  // NaN stays NaN
                                 values[i] = values[i] > most ? most : values[i];
                                 values[i] = values[i] < -most ? -most : values[i];
                               }
                             };
                             if (!padding.skips) return standardize(0, values.size()), Status();
                             for (std::size_t run = 0; run < values.size(); run += padding.width)
                               if (!padding.at(&values[run])) standardize(run, run + padding.width);
                             return {};
                           }));
}

Result<CompiledTransform> compile_affine(const Transform& transform, std::span<const Field> inputs,
                                         Settings& settings) {
  HEADRACE_TRY(need_one_number_field(transform, inputs));
  const Field& in = inputs[0];
  const std::vector<double> scale = settings.numbers("scale", std::vector<double>{1});
  const std::vector<double> shift = settings.numbers("shift", std::vector<double>{0});
  const std::vector<double> missing = settings.numbers("missing", std::vector<double>{});
  const std::string to = target(settings, in);
  HEADRACE_TRY(settings.finish());
  check_per_feature(settings, "scale", scale, in);
  check_per_feature(settings, "shift", shift, in);
  HEADRACE_TRY(settings.finish());
  const std::size_t tile = tile_of(in);
  return element_transform(in, to, result_type(in.dtype),
                           op([a = TiledSetting(scale, tile), b = TiledSetting(shift, tile),
                               missing]<class C>(std::span<C> values) -> Status {
                             const C *scales = a.of<C>(), *shifts = b.of<C>();
                             for (const double one : missing)
                               for (C& v : values)
                                 if (v == static_cast<C>(one)) v = std::numeric_limits<C>::quiet_NaN();
                             for (std::size_t i = 0; i < values.size(); ++i)
                               values[i] = values[i] * scales[i] + shifts[i];
                             return {};
                           }));
}

Result<CompiledTransform> compile_log(const Transform& transform, std::span<const Field> inputs, Settings& settings) {
  HEADRACE_TRY(need_one_number_field(transform, inputs));
  const double base = settings.number("base", 0.0), offset = settings.number("offset", 0.0);
  const std::string to = target(settings, inputs[0]);
  if (settings.has("base") && !(base > 0 && base != 1)) settings.refuse(fmt::format("base is {}", base));
  HEADRACE_TRY(settings.finish());
  return element_transform(inputs[0], to, result_type(inputs[0].dtype),
                           op([base, offset]<class C>(std::span<C> values) -> Status {
                             const auto by = static_cast<C>(offset), divisor = static_cast<C>(std::log(base));
                             if (offset != 0)
                               for (C& v : values) v += by;
                             log_values(base == 10 ? LogBase::kTen : base == 2 ? LogBase::kTwo : LogBase::kE, values);
                             if (base != 0 && base != 2 && base != 10)
                               for (C& v : values) v /= divisor;
                             return {};
                           }));
}

Result<CompiledTransform> compile_clip(const Transform& transform, std::span<const Field> inputs, Settings& settings) {
  HEADRACE_TRY(need_one_number_field(transform, inputs));
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const ExactNumber exact_least = settings.exact_number("least", -kNone);
  const ExactNumber exact_most = settings.exact_number("most", kNone);
  const double least = rounded(exact_least), most = rounded(exact_most);
  const std::string to = target(settings, inputs[0]);
  if (!(least <= most)) settings.refuse(fmt::format("the least is {}, and the most {}", least, most));
  HEADRACE_TRY(settings.finish());
  CompiledTransform made =
      element_transform(inputs[0], to, inputs[0].dtype, op([least, most]<class C>(std::span<C> values) -> Status {
                          const auto low = static_cast<C>(least), high = static_cast<C>(most);
                          for (C& v : values) {  // NaN stays NaN
                            v = v < low ? low : v;
                            v = v > high ? high : v;
                          }
                          return {};
                        }));
  if (!is_whole(inputs[0].dtype) || inputs[0].dtype.itemsize < 8) return made;
  return with_exact(inputs[0].dtype, [&]<class Number>(Number) -> Result<CompiledTransform> {
    const auto low = bound_of<Number>(exact_least), high = bound_of<Number>(exact_most);
    if ((!low && least > 0) || (!high && most < 0) || (low && high && *low > *high))
      return transform_error(transform, fmt::format("no {} lies from {} to {}", inputs[0].dtype.name(), least, most));
    using Range = std::numeric_limits<Number>;
    made.kernel =
        std::make_shared<IntegerClip<Number>>(inputs[0], low.value_or(Range::lowest()), high.value_or(Range::max()));
    return std::move(made);
  });
}

Result<CompiledTransform> compile_cast(const Transform& transform, std::span<const Field> inputs, Settings& settings) {
  HEADRACE_TRY(need_one_number_field(transform, inputs));
  const std::string name = settings.text("dtype");
  const bool exact = settings.flag("exact", false);
  const std::string to = target(settings, inputs[0]);
  HEADRACE_TRY(settings.finish());
  const Result<DType> type = type_of_name(name);
  if (!type.ok()) return transform_error(transform, type.error().message(), type.error().hint());
  if (exact && !is_whole(*type))
    return transform_error(transform,
                           fmt::format("exact=True is for integers, and {} rounds what it does not have", name),
                           "Leave exact out, or cast to int64.");
  CompiledTransform made = element_transform(inputs[0], to, *type, nullptr, exact);
  if (is_whole(inputs[0].dtype) && is_whole(*type) && (inputs[0].dtype != *type || type->itemsize == 8))
    made.kernel = std::make_shared<IntegerCast>(inputs[0], made.outputs[0]);
  return made;
}

}  // namespace headrace
