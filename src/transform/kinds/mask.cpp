// Mask: which entries of a padded sample are real, told by a feature or by the value that fills padding.
#include <fmt/format.h>

#include <cmath>

#include "transform/element_kernel.h"
#include "transform/kinds.h"
#include "transform/numbers.h"

namespace headrace {
namespace {

class MaskKernel final : public Kernel {
 public:
  MaskKernel(const Field& in, std::size_t width, std::size_t feature, double fill, bool counts)
      : in_(in), width_(width), feature_(feature), fill_(fill), counts_(counts) {}
  Status run(const KernelCall& call) const override {
    const std::size_t item = in_.dtype.itemsize, entries = in_.row_elements() / width_;
    std::int64_t real = 0;
    for (std::size_t i = 0; i < entries; ++i) {
      bool is_real = false;
      // One feature, or (feature_ == width_) any of them.
      for (std::size_t f = feature_ == width_ ? 0 : feature_; f < std::min(feature_ + 1, width_) && !is_real; ++f) {
        double value = 0;
        load_numbers(in_.dtype, call.in[0] + (i * width_ + f) * item, 1, &value);
        is_real = std::isnan(fill_) ? !std::isnan(value) : value != fill_;
      }
      call.out[0][i] = std::byte{is_real};
      real += is_real;
    }
    if (counts_) *reinterpret_cast<std::int64_t*>(call.out[1]) = real;
    return {};
  }

 private:
  const Field in_;
  const std::size_t width_, feature_;
  const double fill_;
  const bool counts_;
};

}  // namespace

Result<CompiledTransform> compile_mask(const Transform& transform, std::span<const Field> inputs, Settings& settings) {
  HEADRACE_TRY(need_one_number_field(transform, inputs));
  const Field& in = inputs[0];
  std::vector<std::uint64_t> shape = in.dims.row_shape();
  if (shape.empty() || in.row_elements() == 0)
    return transform_error(transform,
                           fmt::format("the field's sample shape is {}: there is nothing to mask", in.dims.text()));
  const std::size_t width = shape.size() == 1 ? 1 : shape.back();
  const bool one_feature = settings.has("feature");
  const auto feature = static_cast<std::size_t>(settings.whole("feature", 0, 0));
  const double fill = settings.number("fill", 0.0);
  const std::string to = settings.text("to", "mask"), count = settings.text("count", "");
  if (one_feature && feature >= width)
    settings.refuse(fmt::format("feature is {}, and the field's last axis has {}", feature, width));
  if (shape.size() > 1) shape.pop_back();
  CompiledTransform made;
  made.outputs.push_back({to, "", {DType::Kind::kBool, 1}, Dims(shape), {}});
  if (!count.empty()) made.outputs.push_back({count, "", {DType::Kind::kInt, 8}, {}, {}});
  made.kernel = std::make_shared<MaskKernel>(in, width, one_feature ? feature : width, fill, !count.empty());
  return made;
}

}  // namespace headrace
