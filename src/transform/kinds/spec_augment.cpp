// SpecAugment: stripes of a spectrogram that are blanked (Park et al., "SpecAugment", Interspeech 2019).
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "transform/draws.h"
#include "transform/element_kernel.h"
#include "transform/kinds.h"
#include "transform/numbers.h"

namespace headrace {
namespace {

struct Spectrogram {
  std::size_t channels = 1, freqs = 1, frames = 1, item = 4;
};
struct Stripes {
  std::size_t widest = 0, count = 1;
};
struct Stripe {
  std::size_t first = 0, count = 0;
};

class SpecAugmentKernel final : public Kernel {
 public:
  SpecAugmentKernel(const Spectrogram& shape, const Stripes& time, const Stripes& freq, std::vector<std::byte> fill,
                    double chance, std::uint64_t seed)
      : shape_(shape), time_(time), freq_(freq), fill_(std::move(fill)), chance_(chance), draws_("SpecAugment", seed) {}

  Status run(const KernelCall& call) const override {
    std::byte* const out = call.out[0];
    std::memcpy(out, call.in[0], shape_.channels * shape_.freqs * shape_.frames * shape_.item);
    RandomKey key = draws_.of(call.key);
    if (chance_ < 1) {
      if (static_cast<double>(key.low >> 11) * 0x1p-53 >= chance_) return {};
      key = key.with(0);
    }
    // 128 bits are four draws: a stripe takes two.
    for (std::size_t i = 0; i < std::max(time_.count, freq_.count); ++i, key = key.with(i)) {
      if (i < time_.count) blank_frames(out, draw(key.low, time_.widest, shape_.frames));
      if (i < freq_.count) blank_freqs(out, draw(key.high, freq_.widest, shape_.freqs));
    }
    return {};
  }

 private:
  static Stripe draw(std::uint64_t bits, std::size_t widest, std::size_t extent) {
    const std::size_t most = std::min(widest, extent - 1);  // something is left
    const std::size_t count = below(static_cast<std::uint32_t>(bits), most + 1);
    return {below(static_cast<std::uint32_t>(bits >> 32), extent - count + 1), count};
  }
  void blank(std::byte* at, std::size_t values) const {
    if (fill_.empty()) {
      std::memset(at, 0, values * shape_.item);
      return;
    }
    for (std::size_t i = 0; i < values; ++i) std::memcpy(at + i * shape_.item, fill_.data(), shape_.item);
  }
  void blank_frames(std::byte* out, const Stripe& stripe) const {
    if (stripe.count == 0) return;
    for (std::size_t row = 0; row < shape_.channels * shape_.freqs; ++row)
      blank(out + (row * shape_.frames + stripe.first) * shape_.item, stripe.count);
  }
  void blank_freqs(std::byte* out, const Stripe& stripe) const {
    if (stripe.count == 0) return;
    for (std::size_t c = 0; c < shape_.channels; ++c)
      blank(out + (c * shape_.freqs + stripe.first) * shape_.frames * shape_.item, stripe.count * shape_.frames);
  }

  const Spectrogram shape_;
  const Stripes time_, freq_;
  const std::vector<std::byte> fill_;  // one value; empty: zeros
  const double chance_;
  const Draws draws_;
};

}  // namespace

Result<CompiledTransform> compile_spec_augment(const Transform& transform, std::span<const Field> inputs,
                                               Settings& settings) {
  HEADRACE_TRY(need_one_number_field(transform, inputs));
  const Field& in = inputs[0];
  constexpr std::int64_t kMost = 1 << 20;
  const auto whole = [&](const char* name, std::int64_t otherwise) {
    return static_cast<std::size_t>(settings.whole(name, otherwise, 0, kMost));
  };
  const Stripes time{whole("time", 0), whole("num_time", 1)}, freq{whole("freq", 0), whole("num_freq", 1)};
  const double fill = settings.number_of(in.dtype, "fill", 0.0), chance = settings.number("p", 1.0);
  const auto seed = static_cast<std::uint64_t>(settings.whole("seed", 0, 0));
  const std::string to = settings.text("to", in.name);
  if (!(chance >= 0 && chance <= 1)) settings.refuse(fmt::format("p is {}", chance), "It is a chance: 0 to 1.");
  HEADRACE_TRY(settings.finish());
  const std::vector<std::uint64_t> shape = in.dims.row_shape();
  if (shape.size() < 2 || in.row_elements() == 0)
    return transform_error(transform, fmt::format("the field's sample shape is {}", in.dims.text()),
                           "It takes (…, frequencies, frames).");
  Spectrogram spectrogram{1, shape[shape.size() - 2], shape.back(), in.dtype.itemsize};
  spectrogram.channels = in.row_elements() / (spectrogram.freqs * spectrogram.frames);
  std::vector<std::byte> value;
  if (fill != 0) {
    value.resize(in.dtype.itemsize);
    store_numbers(in.dtype, &fill, 1, value.data());
  }
  Field out = in;
  out.name = to;
  CompiledTransform made;
  made.outputs.push_back(std::move(out));
  made.kernel = std::make_shared<SpecAugmentKernel>(spectrogram, time, freq, std::move(value), chance, seed);
  return made;
}

}  // namespace headrace
