// Noise: normal random numbers that are added.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "transform/draws.h"
#include "transform/element_kernel.h"
#include "transform/kinds.h"
#include "transform/numbers.h"

namespace headrace {
namespace {

class NoiseKernel final : public Kernel {
 public:
  NoiseKernel(const Field& in, const Field& out, std::vector<double> deviation, std::uint64_t seed)
      : in_(in), out_(out), deviation_(std::move(deviation)), draws_("Noise(" + in.name, seed) {}

  Status run(const KernelCall& call) const override {
    KeyedRandom random(draws_.of(call.key));
    const std::size_t n = in_.row_elements();
    double spare = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double value = 0;
      load_numbers(in_.dtype, call.in[0] + i * in_.dtype.itemsize, 1, &value);
      double normal = spare;
      if (i % 2 == 0) {  // Box and Muller: two at a time
        const double size = std::sqrt(-2 * std::log(1 - random.unit())), angle = 2 * std::numbers::pi * random.unit();
        normal = size * std::cos(angle);
        spare = size * std::sin(angle);
      }
      value += normal * deviation_[i % deviation_.size()];
      store_numbers(out_.dtype, &value, 1, call.out[0] + i * out_.dtype.itemsize);
    }
    return {};
  }

 private:
  const Field in_, out_;
  const std::vector<double> deviation_;
  const Draws draws_;
};

}  // namespace

Result<CompiledTransform> compile_noise(const Transform& transform, std::span<const Field> inputs, Settings& settings) {
  HEADRACE_TRY(need_one_number_field(transform, inputs));
  const Field& in = inputs[0];
  std::vector<double> deviation = settings.numbers("std");
  const auto seed = static_cast<std::uint64_t>(settings.whole("seed", 0, 0));
  Field out = in;
  out.name = settings.text("to", in.name);
  out.dtype = result_type(in.dtype);
  HEADRACE_TRY(settings.finish());
  check_per_feature(settings, "std", deviation, in);
  for (const double d : deviation)
    if (!(d >= 0) || std::isinf(d)) settings.refuse(fmt::format("std is {}", d));
  HEADRACE_TRY(settings.finish());
  CompiledTransform made;
  made.kernel = std::make_shared<NoiseKernel>(in, out, std::move(deviation), seed);
  made.outputs.push_back(std::move(out));
  return made;
}

}  // namespace headrace
