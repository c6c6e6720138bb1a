// MixUp: pairs of samples of a batch, each a weighted mean of both (Zhang et al., "mixup", ICLR 2018).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "transform/draws.h"
#include "transform/kinds.h"
#include "transform/numbers.h"

namespace headrace {
namespace {

/// A gamma variate of shape `a` (Marsaglia, Tsang, "A simple method for generating gamma variables", 2000).
double gamma_variate(KeyedRandom& random, double a) {
  if (a < 1) return gamma_variate(random, a + 1) * std::pow(1 - random.unit(), 1 / a);
  const double d = a - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double u1 = 1 - random.unit(), u2 = random.unit();
    const double x = std::sqrt(-2 * std::log(u1)) * std::cos(2 * 3.14159265358979323846 * u2),
                 v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(1 - random.unit()) < x * x / 2 + d - d * v + d * std::log(v)) return d * v;
  }
}

/// x and y become the weighted means of both.
template <class C>
void mix(const Field& field, std::byte* x, std::byte* y, double weight) {
  constexpr std::size_t kTile = 512;
  C a[kTile], b[kTile];
  const auto w = static_cast<C>(weight), rest = static_cast<C>(1 - weight);
  for (std::size_t begin = 0; begin < field.row_elements(); begin += kTile) {
    const std::size_t n = std::min(kTile, field.row_elements() - begin), at = begin * field.dtype.itemsize;
    load_numbers(field.dtype, x + at, n, a);
    load_numbers(field.dtype, y + at, n, b);
    for (std::size_t i = 0; i < n; ++i) {
      const C one = a[i], other = b[i];
      a[i] = w * one + rest * other;
      b[i] = w * other + rest * one;
    }
    store_numbers(field.dtype, a, n, x + at);
    store_numbers(field.dtype, b, n, y + at);
  }
}

class MixUpKernel final : public BatchKernel {
 public:
  MixUpKernel(std::vector<Field> fields, double alpha, std::uint64_t seed)
      : fields_(std::move(fields)), alpha_(alpha), draws_("MixUp", seed) {}

  Status run(const BatchKernelCall& call) const override {
    // What a batch holds decides which samples are mixed, not where it comes in an epoch.
    RandomKey key = draws_.of_epoch(call.seed, call.epoch);
    for (const std::uint64_t sample : call.samples) key = key.with(sample);
    std::vector<std::uint32_t> order(call.samples.size());
    std::iota(order.begin(), order.end(), 0u);
    keyed_shuffle(std::span(order), key);
    KeyedRandom random(key.with(1));
    for (std::size_t i = 0; i + 1 < order.size(); i += 2) {
      const double one = gamma_variate(random, alpha_), other = gamma_variate(random, alpha_);
      const double weight = one + other > 0 ? one / (one + other) : 1;
      for (std::size_t f = 0; f < fields_.size(); ++f) {
        const std::uint64_t bytes = fields_[f].row_bytes();
        std::byte *const x = call.fields[f] + order[i] * bytes, *const y = call.fields[f] + order[i + 1] * bytes;
        if (fields_[f].dtype.itemsize == 8)
          mix<double>(fields_[f], x, y, weight);
        else
          mix<float>(fields_[f], x, y, weight);
      }
    }
    return {};
  }

 private:
  const std::vector<Field> fields_;
  const double alpha_;
  const Draws draws_;
};

}  // namespace

Result<CompiledTransform> compile_mix_up(const Transform& transform, std::span<const Field> inputs,
                                         Settings& settings) {
  const double alpha = settings.number("alpha", 0.2);
  const auto seed = static_cast<std::uint64_t>(settings.whole("seed", 0, 0));
  if (!(alpha > 0 && alpha <= 1e3)) settings.refuse(fmt::format("alpha is {}", alpha), "It is above 0; often 0.2.");
  HEADRACE_TRY(settings.finish());
  for (const Field& field : inputs)
    if (field.dtype.kind != DType::Kind::kFloat && field.dtype.kind != DType::Kind::kBFloat)
      return transform_error(transform,
                             fmt::format("'{}' is of {}, whose values have no means", field.name, field.dtype.name()),
                             "T.Cast makes numbers of it, T.OneHot of labels.");
  CompiledTransform made;
  made.batch = std::make_shared<MixUpKernel>(std::vector<Field>(inputs.begin(), inputs.end()), alpha, seed);
  return made;
}

}  // namespace headrace
