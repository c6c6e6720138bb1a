// Crop and Flip: a random part of an image or volume, and its mirror image; of several fields the same.
#include <fmt/format.h>

#include <algorithm>

#include "transform/draws.h"
#include "transform/kinds.h"
#include "transform/strided_copy.h"

namespace headrace {
namespace {

/// One field of those that are cropped or flipped together.
struct CropPart {
  std::vector<std::uint64_t> shape;
  std::vector<std::int64_t> strides;
  std::size_t item;
};

class CropKernel final : public Kernel {
 public:
  CropKernel(std::vector<CropPart> parts, std::size_t first_axis, std::vector<std::uint64_t> size, bool random,
             std::uint64_t seed)
      : parts_(std::move(parts)),
        first_axis_(first_axis),
        size_(std::move(size)),
        random_(random),
        draws_("Crop", seed) {
    for (const CropPart& part : parts_) {
      std::vector<std::uint64_t> extents = part.shape;
      std::copy(size_.begin(), size_.end(), extents.begin() + static_cast<std::ptrdiff_t>(first_axis_));
      copies_.emplace_back(extents, part.strides, part.item);
    }
  }
  Status run(const KernelCall& call) const override {
    KeyedRandom random(draws_.of(call.key));
    std::vector<std::uint64_t> begin;
    for (std::size_t a = 0; a < size_.size(); ++a) {
      const std::uint64_t spare = parts_[0].shape[first_axis_ + a] - size_[a];
      begin.push_back(random_ ? random.below(spare + 1) : spare / 2);
    }
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const std::byte* from = call.in[i];
      for (std::size_t a = 0; a < size_.size(); ++a)
        from += static_cast<std::int64_t>(begin[a]) * parts_[i].strides[first_axis_ + a];
      copies_[i].run(call.out[i], from);
    }
    return {};
  }

 private:
  const std::vector<CropPart> parts_;
  const std::size_t first_axis_;
  const std::vector<std::uint64_t> size_;
  const bool random_;
  const Draws draws_;
  std::vector<StridedCopy> copies_;
};

class FlipKernel final : public Kernel {
 public:
  FlipKernel(const std::vector<CropPart>& parts, std::size_t axis, double chance, std::uint64_t seed)
      : chance_(chance), draws_("Flip", seed) {
    for (const CropPart& part : parts) {
      std::vector<std::int64_t> turned = part.strides;
      turned[axis] = -turned[axis];
      ways_.push_back({StridedCopy(part.shape, part.strides, part.item), StridedCopy(part.shape, turned, part.item),
                       static_cast<std::int64_t>(part.shape[axis] - 1) * part.strides[axis]});
    }
  }
  Status run(const KernelCall& call) const override {
    const bool turn = static_cast<double>(draws_.of(call.key).low >> 11) * 0x1p-53 < chance_;
    for (std::size_t i = 0; i < ways_.size(); ++i)
      if (turn)
        ways_[i].turned.run(call.out[i], call.in[i] + ways_[i].last_bytes);
      else
        ways_[i].straight.run(call.out[i], call.in[i]);
    return {};
  }

 private:
  struct Way {
    StridedCopy straight, turned;
    std::int64_t last_bytes;  // where the last along the axis lies
  };
  const double chance_;
  const Draws draws_;
  std::vector<Way> ways_;
};

/// All fields must have one shape, but for what lies before `first_axis` or behind it.
Result<std::vector<CropPart>> parts_of(const Transform& transform, std::span<const Field> inputs, std::size_t axes) {
  std::vector<CropPart> parts;
  for (const Field& field : inputs) {
    const std::vector<std::uint64_t> shape = field.dims.row_shape();
    if (shape.size() < axes || shape.size() != inputs[0].dims.row_shape().size() || field.row_elements() == 0)
      return transform_error(transform,
                             fmt::format("'{}' has the sample shape {}, and '{}' {}", field.name, field.dims.text(),
                                         inputs[0].name, inputs[0].dims.text()),
                             fmt::format("All fields need {} axes or more, and the same number.", axes));
    parts.push_back({shape, dense_strides(shape, field.dtype.itemsize), field.dtype.itemsize});
  }
  return parts;
}

}  // namespace

Result<CompiledTransform> compile_crop(const Transform& transform, std::span<const Field> inputs, Settings& settings) {
  const std::vector<std::int64_t> sizes = settings.wholes("size", {}, 1);
  const bool random = settings.flag("random", true);
  const auto seed = static_cast<std::uint64_t>(settings.whole("seed", 0, 0));
  const std::int64_t channels = settings.whole("channels_last", 0, 0, 8);
  HEADRACE_TRY(settings.finish());
  const auto behind = static_cast<std::size_t>(channels);
  HEADRACE_ASSIGN(std::vector<CropPart> parts, parts_of(transform, inputs, sizes.size() + behind));
  const std::size_t rank = parts[0].shape.size(), first = rank - sizes.size() - behind;
  std::vector<std::uint64_t> size;
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    for (const CropPart& part : parts)
      if (static_cast<std::uint64_t>(sizes[a]) > part.shape[first + a] ||
          part.shape[first + a] != parts[0].shape[first + a])
        return transform_error(
            transform,
            fmt::format("{} of an axis of {} and {}", sizes[a], parts[0].shape[first + a], part.shape[first + a]),
            "A crop is not larger than the sample, and all fields have the same extents.");
    size.push_back(static_cast<std::uint64_t>(sizes[a]));
  }
  CompiledTransform made;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Field out = inputs[i];
    std::vector<std::uint64_t> shape = parts[i].shape;
    std::copy(size.begin(), size.end(), shape.begin() + static_cast<std::ptrdiff_t>(first));
    out.dims = Dims(std::move(shape));
    made.outputs.push_back(std::move(out));
  }
  made.kernel = std::make_shared<CropKernel>(std::move(parts), first, std::move(size), random, seed);
  return made;
}

Result<CompiledTransform> compile_flip(const Transform& transform, std::span<const Field> inputs, Settings& settings) {
  const std::int64_t axis = settings.whole("axis", -1, -64, 64);
  const double chance = settings.number("p", 0.5);
  const auto seed = static_cast<std::uint64_t>(settings.whole("seed", 0, 0));
  if (!(chance >= 0 && chance <= 1)) settings.refuse(fmt::format("p is {}", chance), "It is a chance: 0 to 1.");
  HEADRACE_TRY(settings.finish());
  HEADRACE_ASSIGN(const std::vector<CropPart> parts, parts_of(transform, inputs, 1));
  const auto rank = static_cast<std::int64_t>(parts[0].shape.size());
  if (axis < -rank || axis >= rank)
    return transform_error(transform, fmt::format("axis is {}, and a sample has {} axes", axis, rank));
  CompiledTransform made;
  made.outputs.assign(inputs.begin(), inputs.end());
  made.kernel =
      std::make_shared<FlipKernel>(parts, static_cast<std::size_t>(axis < 0 ? axis + rank : axis), chance, seed);
  return made;
}

}  // namespace headrace
