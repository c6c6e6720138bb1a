// Select, Concat, Reshape, Transpose: the same values in another arrangement.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "transform/kinds.h"
#include "transform/strided_copy.h"

namespace headrace {
namespace {

/// The axis that a setting names; negative ones count from the end.
std::size_t read_axis(Settings& settings, const std::vector<std::uint64_t>& shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  std::int64_t axis = settings.whole("axis", -1, -64, 64);
  if (axis < -rank || axis >= rank) {
    settings.refuse(fmt::format("axis is {}, and a sample has {} axes", axis, rank),
                    "The axis of samples is not counted.");
    axis = 0;
  }
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

std::uint64_t product(std::span<const std::uint64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
}

Status need_one_field(const Transform& transform, std::span<const Field> inputs) {
  if (inputs.size() == 1) return {};
  return transform_error(transform, fmt::format("takes one field, not {}", inputs.size()));
}

Field output_of(const Field& in, Settings& settings, std::vector<std::uint64_t> shape) {
  Field out = in;
  out.name = settings.text("to", in.name);
  out.dims = Dims(std::move(shape));
  return out;
}

/// Runs of the axes before one are made of runs of several inputs, or of one input's parts.
class PartsKernel final : public Kernel {
 public:
  struct JoinedPart {
    std::size_t input, offset_bytes, bytes;
  };
  PartsKernel(std::size_t runs, std::vector<std::size_t> run_bytes, std::vector<JoinedPart> parts)
      : runs_(runs), run_bytes_(std::move(run_bytes)), parts_(std::move(parts)) {
    for (const JoinedPart& part : parts_) made_bytes_ += part.bytes;
  }
  Status run(const KernelCall& call) const override {
    std::byte* to = call.out[0];
    for (const JoinedPart& part : parts_) {  // each over all runs: its size is asked for once
      const std::byte* const from = call.in[part.input] + part.offset_bytes;
      const std::size_t runs = runs_ * call.rows, apart = run_bytes_[part.input];
      switch (part.bytes) {
        case 2:
          copy_runs<2>(to, from, runs, apart);
          break;
        case 4:
          copy_runs<4>(to, from, runs, apart);
          break;
        case 8:
          copy_runs<8>(to, from, runs, apart);
          break;
        default:
          for (std::size_t run = 0; run < runs; ++run)
            std::memcpy(to + run * made_bytes_, from + run * apart, part.bytes);
      }
      to += part.bytes;
    }
    return {};
  }
  [[nodiscard]] bool takes_rows() const override { return true; }

 private:
  template <std::size_t kBytes>
  void copy_runs(std::byte* to, const std::byte* from, std::size_t runs, std::size_t apart) const {
    for (std::size_t run = 0; run < runs; ++run) std::memcpy(to + run * made_bytes_, from + run * apart, kBytes);
  }

  const std::size_t runs_;
  const std::vector<std::size_t> run_bytes_;  // of each input
  const std::vector<JoinedPart> parts_;
  std::size_t made_bytes_ = 0;  // of a run
};

class TransposeKernel final : public Kernel {
 public:
  explicit TransposeKernel(StridedCopy copy) : copy_(std::move(copy)) {}
  Status run(const KernelCall& call) const override {
    copy_.run(call.out[0], call.in[0]);
    return {};
  }

 private:
  const StridedCopy copy_;
};

}  // namespace

Result<CompiledTransform> compile_select(const Transform& transform, std::span<const Field> inputs,
                                         Settings& settings) {
  HEADRACE_TRY(need_one_field(transform, inputs));
  const Field& in = inputs[0];
  std::vector<std::uint64_t> shape = in.dims.row_shape();
  const std::vector<std::int64_t> indices = settings.wholes("indices", {}, std::numeric_limits<std::int64_t>::min());
  const std::size_t axis = read_axis(settings, shape);
  (void)settings.text("to", in.name);
  HEADRACE_TRY(settings.finish());
  const std::size_t inner = product(std::span(shape).subspan(axis + 1)) * in.dtype.itemsize;
  std::vector<PartsKernel::JoinedPart> parts;
  for (const std::int64_t index : indices) {
    const auto extent = static_cast<std::int64_t>(shape[axis]);
    const std::int64_t at = index < 0 ? index + extent : index;
    if (at < 0 || at >= extent)
      return transform_error(transform, fmt::format("index {} of an axis of {}", index, shape[axis]));
    const std::size_t offset = static_cast<std::size_t>(at) * inner;
    if (!parts.empty() && parts.back().offset_bytes + parts.back().bytes == offset)
      parts.back().bytes += inner;
    else
      parts.push_back({0, offset, inner});
  }
  const std::size_t runs = product(std::span(shape).first(axis)), run_bytes = shape[axis] * inner;
  shape[axis] = indices.size();
  CompiledTransform made;
  made.outputs.push_back(output_of(in, settings, std::move(shape)));
  made.kernel = std::make_shared<PartsKernel>(runs, std::vector<std::size_t>{run_bytes}, std::move(parts));
  return made;
}

Result<CompiledTransform> compile_concat(const Transform& transform, std::span<const Field> inputs,
                                         Settings& settings) {
  std::vector<std::uint64_t> shape = inputs[0].dims.row_shape();
  if (shape.empty()) shape = {1};  // numbers become a list
  const std::string to = settings.text("to", inputs[0].name);
  const std::size_t axis = read_axis(settings, shape);
  HEADRACE_TRY(settings.finish());
  std::vector<std::size_t> run_bytes;
  std::vector<PartsKernel::JoinedPart> parts;
  std::uint64_t together = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::vector<std::uint64_t> other = inputs[i].dims.row_shape();
    if (other.empty()) other = {1};
    const std::uint64_t extent = other.size() == shape.size() ? other[axis] : 0;
    if (other.size() == shape.size()) other[axis] = shape[axis];
    if (other != shape || inputs[i].dtype != inputs[0].dtype)
      return transform_error(
          transform,
          fmt::format("'{}' is {} of {}, and '{}' is {} of {}", inputs[0].name, inputs[0].dims.text(),
                      inputs[0].dtype.name(), inputs[i].name, inputs[i].dims.text(), inputs[i].dtype.name()),
          "All must have one type, and one shape but for the axis. T.Cast and T.Reshape make them alike.");
    const std::size_t bytes = extent * product(std::span(shape).subspan(axis + 1)) * inputs[i].dtype.itemsize;
    run_bytes.push_back(bytes);
    parts.push_back({i, 0, bytes});
    together += extent;
  }
  const std::size_t runs = product(std::span(shape).first(axis));
  shape[axis] = together;
  Field out = inputs[0];
  out.name = to;
  out.dims = Dims(std::move(shape));
  CompiledTransform made;
  made.outputs.push_back(std::move(out));
  for (const Field& input : inputs)
    if (input.name != to) made.dropped.push_back(input.name);
  made.kernel = std::make_shared<PartsKernel>(runs, std::move(run_bytes), std::move(parts));
  return made;
}

Result<CompiledTransform> compile_reshape(const Transform& transform, std::span<const Field> inputs,
                                          Settings& settings) {
  HEADRACE_TRY(need_one_field(transform, inputs));
  const Field& in = inputs[0];
  const std::vector<std::int64_t> wanted = settings.wholes("shape", {}, -1);
  const std::uint64_t elements = in.row_elements();
  std::vector<std::uint64_t> shape;
  std::uint64_t known = 1;
  bool fills = std::ranges::count(wanted, -1) <= 1;
  for (const std::int64_t extent : wanted)
    if (extent != -1) {
      fills = fills && extent > 0 && static_cast<std::uint64_t>(extent) <= elements / known;
      if (fills) known *= static_cast<std::uint64_t>(extent);
    }
  for (const std::int64_t extent : wanted)
    shape.push_back(extent == -1 ? elements / known : static_cast<std::uint64_t>(extent));
  if (!fills || product(shape) != elements)
    settings.refuse(fmt::format("a sample of shape {} has {} values, which do not fill the shape that is asked for",
                                in.dims.text(), in.row_elements()),
                    "One extent may be -1. The axis of samples is not counted.");
  CompiledTransform made;
  (void)settings.text("to", in.name);
  HEADRACE_TRY(settings.finish());
  made.outputs.push_back(output_of(in, settings, std::move(shape)));
  return made;
}

Result<CompiledTransform> compile_transpose(const Transform& transform, std::span<const Field> inputs,
                                            Settings& settings) {
  HEADRACE_TRY(need_one_field(transform, inputs));
  const Field& in = inputs[0];
  const std::vector<std::uint64_t> shape = in.dims.row_shape();
  std::vector<std::int64_t> backwards;
  for (std::size_t axis = shape.size(); axis-- > 0;) backwards.push_back(static_cast<std::int64_t>(axis));
  const std::vector<std::int64_t> axes = settings.wholes("axes", backwards, 0);
  (void)settings.text("to", in.name);
  HEADRACE_TRY(settings.finish());
  const std::vector<std::int64_t> strides = dense_strides(shape, in.dtype.itemsize);
  std::vector<std::int64_t> sorted = axes;
  std::ranges::sort(sorted);
  std::ranges::reverse(sorted);
  if (sorted != backwards)
    return transform_error(transform, fmt::format("axes must name each axis of {} once", in.dims.text()),
                           "The axis of samples is not counted.");
  std::vector<std::uint64_t> extents;
  std::vector<std::int64_t> turned;
  for (const std::int64_t axis : axes) {
    extents.push_back(shape[static_cast<std::size_t>(axis)]);
    turned.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  CompiledTransform made;
  made.outputs.push_back(output_of(in, settings, extents));
  made.kernel = std::make_shared<TransposeKernel>(StridedCopy(extents, turned, in.dtype.itemsize));
  return made;
}

}  // namespace headrace
