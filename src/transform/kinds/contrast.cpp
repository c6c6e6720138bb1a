// Contrast and Gamma: a sample's values changed by one random number a sample.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "transform/draws.h"
#include "transform/element_kernel.h"
#include "transform/kinds.h"
#include "transform/numbers.h"

namespace headrace {
namespace {

constexpr std::size_t kTileValues = 1024;

/// The numbers that one is drawn from.
struct DrawnFrom {
  double least, most;
};

/// Reads values a tile at a time, as float where the type fits it, and writes what becomes of them.
template <class C, class Change>
void change_values(const Field& in, const Field& out, const KernelCall& call, Change change) {
  std::array<C, kTileValues> tile;
  const std::size_t elements = in.row_elements();
  for (std::size_t begin = 0; begin < elements; begin += kTileValues) {
    const std::size_t n = std::min(kTileValues, elements - begin);
    load_numbers(in.dtype, call.in[0] + begin * in.dtype.itemsize, n, tile.data());
    for (std::size_t i = 0; i < n; ++i) tile[i] = change(tile[i]);
    store_numbers(out.dtype, tile.data(), n, call.out[0] + begin * out.dtype.itemsize);
  }
}

/// Return the mean of the values that are no NaN; 0 where there are none.
template <class C>
double mean_of(const Field& in, const std::byte* values) {
  constexpr std::size_t kSums = 8;  // which do not wait for each other
  std::array<C, kTileValues> tile;
  std::array<double, kSums> sums{}, counts{};
  const std::size_t elements = in.row_elements();
  for (std::size_t begin = 0; begin < elements; begin += kTileValues) {
    const std::size_t n = std::min(kTileValues, elements - begin);
    load_numbers(in.dtype, values + begin * in.dtype.itemsize, n, tile.data());
    std::fill(tile.begin() + static_cast<std::ptrdiff_t>(n), tile.end(), std::numeric_limits<C>::quiet_NaN());
    for (std::size_t i = 0; i < kTileValues; i += kSums)
      for (std::size_t k = 0; k < kSums; ++k) {
        const C value = tile[i + k];
        sums[k] += static_cast<double>(std::isnan(value) ? C{0} : value);
        counts[k] += std::isnan(value) ? 0.0 : 1.0;
      }
  }
  double sum = 0, count = 0;
  for (std::size_t k = 0; k < kSums; ++k) sum += sums[k], count += counts[k];
  return count == 0 ? 0 : sum / count;
}

class ContrastKernel final : public Kernel {
 public:
  ContrastKernel(const Field& in, const Field& out, DrawnFrom factors, std::uint64_t seed)
      : in_(in), out_(out), factors_(factors), draws_("Contrast(" + in.name, seed) {}

  Status run(const KernelCall& call) const override {
    const double u = KeyedRandom(draws_.of(call.key)).unit();
    const double factor = factors_.least + (factors_.most - factors_.least) * u;
    fits_float(in_.dtype) ? run_as<float>(call, factor) : run_as<double>(call, factor);
    return {};
  }

 private:
  template <class C>
  void run_as(const KernelCall& call, double drawn) const {
    const auto mean = static_cast<C>(mean_of<C>(in_, call.in[0])), factor = static_cast<C>(drawn);
    change_values<C>(in_, out_, call, [=](C value) { return (value - mean) * factor + mean; });
  }
  const Field in_, out_;
  const DrawnFrom factors_;
  const Draws draws_;
};

class GammaKernel final : public Kernel {
 public:
  GammaKernel(const Field& in, const Field& out, DrawnFrom exponents, std::uint64_t seed)
      : in_(in),
        out_(out),
        log_least_(std::log(exponents.least)),
        log_width_(std::log(exponents.most) - log_least_),
        draws_("Gamma(" + in.name, seed) {}

  Status run(const KernelCall& call) const override {
    const double exponent = std::exp(log_least_ + log_width_ * KeyedRandom(draws_.of(call.key)).unit());
    fits_float(in_.dtype) ? run_as<float>(call, exponent) : run_as<double>(call, exponent);
    return {};
  }

 private:
  template <class C>
  void run_as(const KernelCall& call, double drawn) const {
    const auto exponent = static_cast<C>(drawn);
    change_values<C>(in_, out_, call,
                     [=](C value) { return value < 0 ? C{0} : std::pow(value, exponent); });  // NaN stays NaN
  }
  const Field in_, out_;
  const double log_least_, log_width_;
  const Draws draws_;
};

/// What both transforms take.
struct Change {
  Field out;
  DrawnFrom from;
  std::uint64_t seed;
};
Result<Change> read_change(const Transform& transform, std::span<const Field> inputs, Settings& settings,
                           double least_of_all) {
  HEADRACE_TRY(need_one_number_field(transform, inputs));
  const DrawnFrom from{settings.number("least"), settings.number("most")};
  const auto seed = static_cast<std::uint64_t>(settings.whole("seed", 0, 0));
  Field out = inputs[0];
  out.name = settings.text("to", out.name);
  if (out.name != inputs[0].name) out.path.clear();
  out.dtype = result_type(out.dtype);
  HEADRACE_TRY(settings.finish());
  if (!(from.least >= least_of_all) || !(from.most >= from.least) || std::isinf(from.most))
    settings.refuse(fmt::format("least is {} and most {}", from.least, from.most),
                    least_of_all > 0 ? "Both are above 0, and most is not below least."
                                     : "Neither is below 0, and most is not below least.");
  HEADRACE_TRY(settings.finish());
  return Change{std::move(out), from, seed};
}

}  // namespace

Result<CompiledTransform> compile_contrast(const Transform& transform, std::span<const Field> inputs,
                                           Settings& settings) {
  HEADRACE_ASSIGN(const Change change, read_change(transform, inputs, settings, 0));
  CompiledTransform made;
  made.kernel = std::make_shared<ContrastKernel>(inputs[0], change.out, change.from, change.seed);
  made.outputs.push_back(change.out);
  return made;
}

Result<CompiledTransform> compile_gamma(const Transform& transform, std::span<const Field> inputs, Settings& settings) {
  HEADRACE_ASSIGN(const Change change, read_change(transform, inputs, settings, std::numeric_limits<double>::min()));
  if (is_whole(inputs[0].dtype))
    return transform_error(transform,
                           fmt::format("takes values from 0 to 1, and the field is of {}", inputs[0].dtype.name()),
                           "Bring them there first: T.Affine(field, 1 / 255) for uint8.");
  CompiledTransform made;
  made.kernel = std::make_shared<GammaKernel>(inputs[0], change.out, change.from, change.seed);
  made.outputs.push_back(change.out);
  return made;
}

}  // namespace headrace
