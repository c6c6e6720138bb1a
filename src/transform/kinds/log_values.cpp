#include "transform/kinds/log_values.h"

#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transform/kinds/log_values.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Highway's logarithms are those of positive finite numbers.
template <class D, class V>
V LogOf(D d, LogBase base, V x) {
  const V log = base == LogBase::kTen ? hn::Log10(d, x) : base == LogBase::kTwo ? hn::Log2(d, x) : hn::Log(d, x);
  const V zero = hn::Zero(d), infinity = hn::Inf(d);
  const V positive = hn::IfThenElse(hn::Eq(x, infinity), infinity, log);
  const V ordered = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), positive);
  return hn::IfThenElse(hn::Ge(x, zero), ordered, hn::NaN(d));
}

template <class T>
void LogAll(LogBase base, T* values, std::size_t count) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(LogOf(d, base, hn::LoadU(d, values + i)), d, values + i);
  if (i == count) return;
  HWY_ALIGN T rest[hn::MaxLanes(d)] = {};
  for (std::size_t k = i; k < count; ++k) rest[k - i] = values[k];
  hn::Store(LogOf(d, base, hn::Load(d, rest)), d, rest);
  for (std::size_t k = i; k < count; ++k) values[k] = rest[k - i];
}

void LogFloats(LogBase base, float* values, std::size_t count) {
  LogAll(base, values, count);
}
void LogDoubles(LogBase base, double* values, std::size_t count) {
  LogAll(base, values, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace headrace
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {

HWY_EXPORT(LogFloats);
HWY_EXPORT(LogDoubles);

void log_values(LogBase base, std::span<float> values) {
  HWY_DYNAMIC_DISPATCH(LogFloats)(base, values.data(), values.size());
}
void log_values(LogBase base, std::span<double> values) {
  HWY_DYNAMIC_DISPATCH(LogDoubles)(base, values.data(), values.size());
}

}  // namespace headrace
#endif
