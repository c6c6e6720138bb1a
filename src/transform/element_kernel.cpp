#include "transform/element_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "transform/numbers.h"

namespace headrace {
namespace {

constexpr std::size_t kTileElements = 1024;
constexpr std::size_t kStackElements = 2048;  // tiles of long last axes are on the heap

std::size_t last_extent(const Field& field) {
  const std::vector<std::uint64_t> shape = field.dims.row_shape();
  return shape.empty() ? 1 : std::max<std::size_t>(shape.back(), 1);
}

}  // namespace

TiledSetting::TiledSetting(const std::vector<double>& values, std::size_t tile) {
  for (std::size_t i = 0; i < tile; ++i) {
    doubles_.push_back(values[i % values.size()]);
    floats_.push_back(static_cast<float>(doubles_.back()));
  }
}

std::size_t tile_of(const Field& field) {
  const std::size_t run = last_extent(field);
  return run >= kTileElements ? run : kTileElements / run * run;
}

ElementKernel::ElementKernel(const Field& in, const Field& out, std::vector<std::shared_ptr<const ElementOp>> ops,
                             bool whole)
    : in_(in),
      out_(out),
      as_double_(!fits_float(in.dtype) || out.dtype == DType{DType::Kind::kFloat, 8}),
      tile_(tile_of(in)),
      checks_(is_whole(out.dtype) && (in.dtype != out.dtype || !ops.empty())),
      whole_(whole),
      ops_(std::move(ops)) {}

Error no_value_of(const DType& type, const std::string& value) {
  return Error(ErrorCode::kCorruptData, fmt::format("{} is no {}", value, type.name()))
      .with_hint(
          "Correct it in the file, leave such samples out (select), or cut values to a range "
          "first (T.Clip).");
}

template <class C>
Status ElementKernel::run_as(const KernelCall& call) const {
  std::array<C, kStackElements> stack;
  std::vector<C> heap(tile_ > kStackElements ? tile_ : 0);
  C* const tile = heap.empty() ? stack.data() : heap.data();
  const std::size_t elements = in_.row_elements() * call.rows;  // a tile is whole runs of the last axis
  for (std::size_t begin = 0; begin < elements; begin += tile_) {
    const std::size_t n = std::min(tile_, elements - begin);
    load_numbers(in_.dtype, call.in[0] + begin * in_.dtype.itemsize, n, tile);
    for (const auto& op : ops_) HEADRACE_TRY(op->apply(std::span(tile, n)));
    if (checks_)
      if (const auto wrong = misfit<C>(out_.dtype, std::span<const C>(tile, n), whole_))
        return no_value_of(out_.dtype, fmt::format("{}", *wrong));
    store_numbers(out_.dtype, tile, n, call.out[0] + begin * out_.dtype.itemsize);
  }
  return {};
}

Status ElementKernel::run(const KernelCall& call) const {
  return as_double_ ? run_as<double>(call) : run_as<float>(call);
}

std::shared_ptr<const ElementKernel> ElementKernel::then(const ElementKernel& next) const {
  const DType between{DType::Kind::kFloat, as_double_ ? 8u : 4u};
  if (out_.dtype != between || next.as_double_ != as_double_ || in_.dims != next.in_.dims) return nullptr;
  std::vector<std::shared_ptr<const ElementOp>> ops = ops_;
  ops.insert(ops.end(), next.ops_.begin(), next.ops_.end());
  auto both = std::make_shared<ElementKernel>(in_, next.out_, std::move(ops), next.whole_);
  return both->as_double_ == as_double_ ? both : nullptr;
}

Status need_one_number_field(const Transform& transform, std::span<const Field> inputs) {
  if (inputs.size() != 1)
    return transform_error(transform, fmt::format("takes one field, not {}", inputs.size()),
                           "Name each field in a transform of its own.");
  if (!is_number(inputs[0].dtype))
    return transform_error(transform, fmt::format("takes numbers, and the field is of {}", inputs[0].dtype.name()));
  return {};
}

void check_per_feature(Settings& settings, const std::string& name, const std::vector<double>& values,
                       const Field& field) {
  if (values.size() <= 1 || values.size() == last_extent(field)) return;
  settings.refuse(fmt::format("{} has {} values, and the field's last axis {} (its sample shape is {})", name,
                              values.size(), last_extent(field), field.dims.text()),
                  "Give one number, or one for each of the last axis.");
}

CompiledTransform element_transform(const Field& in, const std::string& to, const DType& type,
                                    std::shared_ptr<const ElementOp> op, bool whole) {
  Field out = in;
  out.name = to;
  out.dtype = type;
  if (to != in.name) out.path.clear();
  CompiledTransform made;
  std::vector<std::shared_ptr<const ElementOp>> ops;
  if (op) ops.push_back(std::move(op));
  made.kernel = std::make_shared<ElementKernel>(in, out, std::move(ops), whole);
  made.outputs.push_back(std::move(out));
  return made;
}

}  // namespace headrace
