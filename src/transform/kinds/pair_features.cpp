// PairFeatures: what Particle Transformer is told of each pair of particles, made of their four-vectors.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "transform/element_kernel.h"
#include "transform/kinds.h"
#include "transform/kinds/pair_math.h"
#include "transform/numbers.h"

namespace headrace {
namespace {

constexpr std::size_t kFeatures = 4, kVectorRoom = 64;

/// Where the four components of particle p are.
struct Layout {
  std::size_t particles, stride;      // elements from particle to particle
  std::array<std::size_t, 4> offset;  // of px, py, pz, E of particle 0
};

class PairFeaturesKernel final : public Kernel {
 public:
  PairFeaturesKernel(const Layout& layout, const DType& type, float fill, bool features_first)
      : layout_(layout), type_(type), fill_(fill), features_first_(features_first) {}

  Status run(const KernelCall& call) const override {
    const std::size_t all = layout_.particles, room = all + kVectorRoom;
    thread_local std::vector<float> memory;
    thread_local std::vector<std::size_t> real;
    memory.assign(room * (7 + kFeatures), 0.0F);
    real.clear();
    std::array<float*, 7> list;
    for (std::size_t i = 0; i < 7; ++i) list[i] = memory.data() + i * room;
    float* out[kFeatures];
    for (std::size_t f = 0; f < kFeatures; ++f) out[f] = memory.data() + (7 + f) * room;
    for (std::size_t p = 0; p < all; ++p) add(call.in[0], p, real, list);
    const Particles particles{list[0], list[1], list[2], list[3], list[4], list[5], list[6]};
    auto* const made = reinterpret_cast<float*>(call.out[0]);
    std::fill_n(made, all * all * kFeatures, fill_);
    const std::size_t pair_stride = features_first_ ? 1 : kFeatures, plane = features_first_ ? all * all : 1;
    for (std::size_t i = 0; i < real.size(); ++i) {
      pair_row(particles, i, i, real.size(), out);
      for (std::size_t j = i; j < real.size(); ++j) {
        float* const there = made + (real[i] * all + real[j]) * pair_stride;
        float* const back = made + (real[j] * all + real[i]) * pair_stride;
        for (std::size_t f = 0; f < kFeatures; ++f) there[f * plane] = back[f * plane] = out[f][j - i];
      }
    }
    return {};
  }

 private:
  /// A particle that is there goes to the ends of the lists.
  void add(const std::byte* in, std::size_t particle, std::vector<std::size_t>& real,
           std::array<float*, 7>& list) const {
    std::array<float, 4> v;
    for (std::size_t c = 0; c < 4; ++c)
      load_numbers(type_, in + (layout_.offset[c] + particle * layout_.stride) * type_.itemsize, 1, &v[c]);
    if (v[0] == 0 && v[1] == 0 && v[2] == 0 && v[3] == 0) return;
    const std::size_t at = real.size();
    for (std::size_t c = 0; c < 4; ++c) list[c][at] = v[c];
    list[4][at] = std::sqrt(v[0] * v[0] + v[1] * v[1]);
    list[5][at] = 0.5F * std::log(1 + 2 * v[2] / std::max(v[3] - v[2], 1e-20F));
    list[6][at] = std::atan2(v[1], v[0]);
    real.push_back(particle);
  }

  const Layout layout_;
  const DType type_;
  const float fill_;
  const bool features_first_;
};

}  // namespace

Result<CompiledTransform> compile_pair_features(const Transform& transform, std::span<const Field> inputs,
                                                Settings& settings) {
  HEADRACE_TRY(need_one_number_field(transform, inputs));
  const Field& in = inputs[0];
  const bool stored_first = settings.flag("stored_features_first", false),
             first = settings.flag("features_first", false);
  const double fill = settings.number("fill", 0.0);
  const std::string to = settings.text("to", "pairs");
  const std::vector<std::uint64_t> shape = in.dims.row_shape();
  if (shape.size() != 2 || in.row_elements() == 0)
    return transform_error(transform, fmt::format("the field's sample shape is {}", in.dims.text()),
                           "It takes (particles, features), or with stored_features_first=True (features, particles).");
  const std::uint64_t particles = stored_first ? shape[1] : shape[0], features = stored_first ? shape[0] : shape[1];
  Layout layout{particles, stored_first ? 1 : features, {}};
  const std::vector<std::int64_t> components = settings.wholes("vectors", std::vector<std::int64_t>{0, 1, 2, 3}, 0);
  HEADRACE_TRY(settings.finish());
  if (components.size() != 4)
    return transform_error(transform,
                           fmt::format("vectors names {} features, not 4: px, py, pz and E", components.size()));
  for (std::size_t c = 0; c < 4; ++c) {
    if (static_cast<std::uint64_t>(components[c]) >= features)  // also the default, of a field with fewer
      return transform_error(transform, fmt::format("vectors names feature {}, of {}", components[c], features));
    layout.offset[c] = static_cast<std::size_t>(components[c]) * (stored_first ? particles : 1);
  }
  CompiledTransform made;
  const Dims dims = first ? Dims{kFeatures, particles, particles} : Dims{particles, particles, kFeatures};
  made.outputs.push_back({to, "", {DType::Kind::kFloat, 4}, dims, {}});
  made.kernel = std::make_shared<PairFeaturesKernel>(layout, in.dtype, static_cast<float>(fill), first);
  return made;
}

}  // namespace headrace
