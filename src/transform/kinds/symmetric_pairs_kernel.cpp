// SymmetricPairs: a flat upper triangle of pairs, as the symmetric matrix that a model takes.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#include "transform/element_kernel.h"
#include "transform/kinds.h"
#include "transform/kinds/symmetric_pairs.h"
#include "transform/numbers.h"

namespace headrace {
namespace {

struct PairsSettings {
  std::size_t n = 0, features = 1, k = 1;
  std::optional<double> sentinel;
  double fill = 0, diagonal = 0;
  bool triu_n = false, strict = true, masks = false;
};

/// The n whose triangle has so many pairs; none: no triangle has.
std::optional<std::uint64_t> triangle_side(std::uint64_t pairs, std::uint64_t k) {
  auto n = static_cast<std::uint64_t>(std::sqrt(2.0 * static_cast<double>(pairs)));
  for (n -= std::min<std::uint64_t>(n, 2); pairs_of(n, k) < pairs;) ++n;
  if (pairs_of(n, k) != pairs) return std::nullopt;
  return n;
}

template <class T>
class PairsKernel final : public Kernel {
 public:
  PairsKernel(const PairsSettings& settings, const DType& type) : set_(settings) {
    fill_ = as(type, set_.fill);
    diagonal_ = as(type, set_.diagonal);
    if (set_.sentinel) sentinel_ = as(type, *set_.sentinel);
  }

  Status run(const KernelCall& call) const override {
    const T* pairs = reinterpret_cast<const T*>(call.in[0]);
    PairsJob<T> job{pairs, set_.n, set_.k, set_.n, set_.n, set_.features, sentinel_, fill_, diagonal_};
    job.streams = call.is_last;
    if (set_.sentinel) HEADRACE_TRY(find_real(job));
    expand_pairs(job, reinterpret_cast<T*>(call.out[0]));
    if (set_.masks) {
      std::byte* mask = call.out[1];
      for (std::size_t i = 0; i < set_.n; ++i, mask += set_.n) {
        const std::size_t real = i < job.real ? job.real : 0;
        std::memset(mask, 1, real);
        std::memset(mask + real, 0, set_.n - real);
      }
    }
    return {};
  }

 private:
  static T as(const DType& type, double value) {
    T out{};
    store_numbers(type, &value, 1, reinterpret_cast<std::byte*>(&out));
    return out;
  }
  /// Count the present particles: the pairs of absent ones hold the sentinel, and no other pair does.
  Status find_real(PairsJob<T>& job) const {
    const std::size_t all = pairs_of(set_.n, set_.k) * set_.features;
    if (set_.triu_n) return find_triu_n(job, count_real(job.pairs, all));
    std::size_t in_first_row = 0;  // values of the pairs of particle 0 with every other
    const std::size_t row = (set_.n - std::min(set_.k, set_.n)) * set_.features;
    while (in_first_row < row && job.pairs[in_first_row] != sentinel_) ++in_first_row;
    const std::size_t n = in_first_row / set_.features + (in_first_row > 0 ? set_.k : 0);
    bool whole = in_first_row % set_.features == 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i + set_.k < n; ++i) {
      const std::size_t values = (set_.n - i - set_.k) * set_.features, there = (n - i - set_.k) * set_.features;
      whole = whole && count_real(job.pairs + at, there) == there &&
              count_real(job.pairs + at + there, values - there) == 0;
      at += values;
    }
    whole = whole && count_real(job.pairs + at, all - at) == 0;  // rows of absent particles
    if (whole) {
      if (n < set_.n) job.real = n;
      return {};
    }
    if (set_.strict)
      return Error(ErrorCode::kCorruptData,
                   fmt::format(
                       "the sentinel {} stands between real pairs: row 0 has {} pairs before its first sentinel, and "
                       "the sample has {} values other than the sentinel, not {}",
                       *set_.sentinel, in_first_row / set_.features, count_real(job.pairs, all),
                       pairs_of(n, set_.k) * set_.features))
          .with_hint(
              "Does the triangle of the present particles come first? Give layout='triu_n'. If single pairs may be "
              "missing, "
              "give strict=False.");
    job.replaces = true;
    job.real = last_real(job);
    return {};
  }
  [[nodiscard]] std::size_t count_real(const T* values, std::size_t n) const {
    using Count = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;  // as wide: several at a time
    Count real = 0;
    for (std::size_t i = 0; i < n; ++i) real += static_cast<Count>(values[i] != sentinel_);
    return real;
  }
  /// One more than the last particle that has a real pair.
  std::size_t last_real(const PairsJob<T>& job) const {
    std::size_t last = 0;
    const T* at = job.pairs;
    for (std::size_t i = 0; i + set_.k < set_.n; ++i)
      for (std::size_t j = i + set_.k; j < set_.n; ++j)
        for (std::size_t f = 0; f < set_.features; ++f)
          if (*at++ != sentinel_) last = std::max(last, j + 1);
    return last;
  }
  /// The triangle of the present particles comes first, then the sentinel.
  Status find_triu_n(PairsJob<T>& job, std::size_t real_values) const {
    std::size_t prefix = 0;
    while (prefix < real_values && job.pairs[prefix] != sentinel_) ++prefix;
    const std::optional<std::uint64_t> n =
        real_values % set_.features == 0 ? triangle_side(real_values / set_.features, set_.k) : std::nullopt;
    if (prefix != real_values || !n)
      return Error(
                 ErrorCode::kCorruptData,
                 fmt::format("{} values differ from the sentinel {}, {} of them before the first sentinel: they do not "
                             "make a triangle",
                             real_values, *set_.sentinel, prefix))
          .with_hint("Does each pair have its place in the triangle of all particles? Give layout='triu_max'.");
    job.real = job.stored = real_values == 0 ? 0 : *n;
    return {};
  }

  const PairsSettings set_;
  T fill_{}, diagonal_{}, sentinel_{};
};

template <class T>
std::shared_ptr<const Kernel> make_kernel(const PairsSettings& settings, const DType& type) {
  return std::make_shared<PairsKernel<T>>(settings, type);
}

std::shared_ptr<const Kernel> kernel_for(const PairsSettings& settings, const DType& type) {
  const bool is_float = type.kind == DType::Kind::kFloat;
  switch (type.itemsize) {
    case 1:
      return make_kernel<std::uint8_t>(settings, type);
    case 2:
      return make_kernel<std::uint16_t>(settings, type);
    case 4:
      return is_float ? make_kernel<float>(settings, type) : make_kernel<std::uint32_t>(settings, type);
    default:
      return is_float ? make_kernel<double>(settings, type) : make_kernel<std::uint64_t>(settings, type);
  }
}

}  // namespace

Result<CompiledTransform> compile_symmetric_pairs(const Transform& transform, std::span<const Field> inputs,
                                                  Settings& settings) {
  HEADRACE_TRY(need_one_number_field(transform, inputs));
  const Field& in = inputs[0];
  PairsSettings set;
  set.k = static_cast<std::size_t>(settings.whole("k", 1, 0, 1));
  const auto n = static_cast<std::uint64_t>(settings.whole("n", 0, 0, 1 << 20));
  if (settings.has("sentinel")) set.sentinel = settings.number_of(in.dtype, "sentinel");
  set.fill = settings.number_of(in.dtype, "fill", 0.0);
  set.diagonal = settings.number_of(in.dtype, "diagonal", 0.0);
  set.strict = settings.flag("strict", true);
  const std::string layout = settings.text("layout", "triu_max"), to = settings.text("to", in.name);
  const std::string mask = settings.text("mask", "");
  HEADRACE_TRY(settings.finish());
  set.triu_n = layout == "triu_n";
  set.masks = !mask.empty();
  if (!set.triu_n && layout != "triu_max")
    settings.refuse(fmt::format("layout is '{}'", layout), "It is 'triu_max' or 'triu_n'.");
  if ((set.triu_n || set.masks) && !set.sentinel)
    settings.refuse(set.triu_n ? "layout='triu_n' needs sentinel=" : "mask= needs sentinel=",
                    "The sentinel tells which particles are absent.");
  if (set.sentinel && std::isnan(*set.sentinel))
    settings.refuse("sentinel is NaN, which is not equal to itself",
                    "Store another value, or leave sentinel= out: NaN then stays.");
  HEADRACE_TRY(settings.finish());
  const std::vector<std::uint64_t> shape = in.dims.row_shape();
  if (shape.empty() || shape.size() > 2 || in.row_elements() == 0)
    return transform_error(transform, fmt::format("the field's sample shape is {}", in.dims.text()),
                           "It takes (pairs) or (pairs, features).");
  const std::optional<std::uint64_t> of_length = triangle_side(shape[0], set.k);
  if (!of_length || (n != 0 && pairs_of(n, set.k) != shape[0])) {
    const std::uint64_t near = n != 0 ? n : static_cast<std::uint64_t>(std::sqrt(2.0 * static_cast<double>(shape[0])));
    const bool square = near > 0 && std::llround(std::sqrt(static_cast<double>(shape[0]))) *
                                            std::llround(std::sqrt(static_cast<double>(shape[0]))) ==
                                        static_cast<long long>(shape[0]);
    return transform_error(
        transform,
        fmt::format("{} pairs are not the upper triangle of a square matrix{}: n={} has {} pairs, n={} has {} (k={})",
                    shape[0], n != 0 ? fmt::format(" of {} rows", n) : "", near, pairs_of(near, set.k), near + 1,
                    pairs_of(near + 1, set.k), set.k),
        square ? "Is it a full matrix? Use T.Reshape." : "Give k=0 if the diagonal is stored too.");
  }
  set.n = *of_length;
  set.features = shape.size() == 2 ? shape[1] : 1;
  Field out = in;
  out.name = to;
  if (to != in.name) out.path.clear();
  std::vector<std::uint64_t> extents{set.n, set.n};
  if (shape.size() == 2) extents.push_back(shape[1]);
  out.dims = Dims(extents);
  CompiledTransform made;
  made.outputs.push_back(out);
  if (set.masks) made.outputs.push_back({mask, "", {DType::Kind::kBool, 1}, {set.n, set.n}, {}});
  made.kernel = kernel_for(set, in.dtype);
  return made;
}

}  // namespace headrace
