// Mirror, Rotate90, ShuffleAxes: a sample's axes reversed or in another order, one of several ways by chance.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "transform/draws.h"
#include "transform/kinds.h"
#include "transform/kinds/turned_fields.h"
#include "transform/strided_copy.h"

namespace headrace {
namespace {

/// One way that a sample may lie: which of its axes each axis of the result is, and which go backwards.
struct Turn {
  std::vector<std::size_t> from;
  std::vector<bool> backwards;  // by axis of the result
};

Turn unturned(std::size_t rank) {
  Turn turn{std::vector<std::size_t>(rank), std::vector<bool>(rank, false)};
  std::iota(turn.from.begin(), turn.from.end(), std::size_t{0});
  return turn;
}

/// Makes the copies of all ways once; a sample draws one of them.
class TurnKernel : public Kernel {
 public:
  TurnKernel(const Field& field, const std::vector<Turn>& turns) {
    const std::vector<std::uint64_t> shape = field.dims.row_shape();
    const std::vector<std::int64_t> dense = dense_strides(shape, field.dtype.itemsize);
    for (const Turn& turn : turns) {
      std::vector<std::uint64_t> extents;
      std::vector<std::int64_t> strides;
      std::int64_t first = 0;
      for (std::size_t a = 0; a < shape.size(); ++a) {
        const std::size_t from = turn.from[a];
        extents.push_back(shape[from]);
        strides.push_back(turn.backwards[a] ? -dense[from] : dense[from]);
        if (turn.backwards[a]) first += (static_cast<std::int64_t>(shape[from]) - 1) * dense[from];
      }
      const bool is_empty = field.row_elements() == 0;
      ways_.push_back({StridedCopy(extents, strides, field.dtype.itemsize), is_empty ? 0 : first});
    }
  }
  Status run(const KernelCall& call) const override {
    const Way& way = ways_[draw(call.key)];
    way.copy.run(call.out[0], call.in[0] + way.first_bytes);
    return {};
  }

 protected:
  [[nodiscard]] std::size_t num_ways() const { return ways_.size(); }

 private:
  struct Way {
    StridedCopy copy;
    std::int64_t first_bytes;  // where the element lies that becomes the first
  };
  [[nodiscard]] virtual std::size_t draw(const SampleKey& key) const = 0;
  std::vector<Way> ways_;
};

/// Each axis by itself: bit a of a way's number says that the axis of that place is reversed.
class MirrorKernel final : public TurnKernel {
 public:
  MirrorKernel(const Field& field, const std::vector<Turn>& turns, std::size_t axes, const TurnSettings& settings)
      : TurnKernel(field, turns), axes_(axes), chance_(settings.chance), draws_("Mirror", settings.seed) {}

 private:
  [[nodiscard]] std::size_t draw(const SampleKey& key) const override {
    KeyedRandom random(draws_.of(key));
    std::size_t way = 0;
    for (std::size_t a = 0; a < axes_; ++a) way |= std::size_t{random.unit() < chance_} << a;
    return way;
  }
  const std::size_t axes_;
  const double chance_;
  const Draws draws_;
};

/// One of all ways, each equally likely. The first is that of a sample that stays as it is.
class AnyTurnKernel final : public TurnKernel {
 public:
  AnyTurnKernel(const Field& field, const std::vector<Turn>& turns, std::string_view name, const TurnSettings& settings)
      : TurnKernel(field, turns), chance_(settings.chance), draws_(name, settings.seed) {}

 private:
  [[nodiscard]] std::size_t draw(const SampleKey& key) const override {
    KeyedRandom random(draws_.of(key));
    return random.unit() < chance_ ? random.below(num_ways()) : 0;
  }
  const double chance_;
  const Draws draws_;
};

/// All orders of the axes.
std::vector<Turn> all_orders(std::size_t rank, const std::vector<std::size_t>& axes) {
  std::vector<Turn> turns;
  std::vector<std::size_t> order = axes;
  std::ranges::sort(order);
  const std::vector<std::size_t> places = order;
  do {
    Turn turn = unturned(rank);
    for (std::size_t a = 0; a < places.size(); ++a) turn.from[places[a]] = order[a];
    turns.push_back(std::move(turn));
  } while (std::ranges::next_permutation(order).found);
  return turns;
}

/// The 24 rotations: of all orders and directions those that are no mirror image.
std::vector<Turn> cube_turns(std::size_t rank, const std::vector<std::size_t>& axes) {
  std::vector<Turn> turns;
  for (const Turn& order : all_orders(rank, axes))
    for (unsigned bits = 0; bits < 8; ++bits) {
      Turn turn = order;
      unsigned odd = 0;
      for (std::size_t a = 0; a < 3; ++a) {
        turn.backwards[axes[a]] = (bits >> a & 1) != 0;
        odd += bits >> a & 1;
        for (std::size_t b = a + 1; b < 3; ++b)
          odd += (order.from[axes[a]] > order.from[axes[b]]) != (axes[a] > axes[b]) ? 1 : 0;
      }
      if (odd % 2 == 0) turns.push_back(std::move(turn));
    }
  return turns;
}

/// By 0, 90, 180 and 270 degrees, from the first axis to the second, as numpy.rot90().
std::vector<Turn> plane_turns(std::size_t rank, std::size_t a, std::size_t b) {
  std::vector<Turn> turns(4, unturned(rank));
  for (const std::size_t quarters : {1, 3}) {
    turns[quarters].from[a] = b;
    turns[quarters].from[b] = a;
  }
  turns[1].backwards[a] = turns[2].backwards[a] = true;
  turns[2].backwards[b] = turns[3].backwards[b] = true;
  return turns;
}

/// Axes that change places must be as long as each other.
Status need_equal_extents(const Transform& transform, const Field& field, const std::vector<std::size_t>& axes) {
  const std::vector<std::uint64_t> shape = field.dims.row_shape();
  std::vector<std::uint64_t> extents;
  for (const std::size_t axis : axes) extents.push_back(shape[axis]);
  if (std::ranges::count(extents, extents[0]) == std::ssize(extents)) return {};
  return transform_error(transform,
                         fmt::format("axes [{}] of '{}' have the extents {}, and turned they would have others",
                                     fmt::join(axes, ", "), field.name, fmt::join(extents, " x ")),
                         "Name axes of equal extents, cut patches that have them, or T.Crop the field first.");
}

Status need_one_field_alone(const Transform& transform, std::span<const Field> inputs) {
  if (inputs.size() == 1) return {};
  return transform_error(transform, fmt::format("{} fields at once", inputs.size()));
}

CompiledTransform turned(const Field& field, std::shared_ptr<const Kernel> kernel) {
  CompiledTransform made;
  made.outputs.push_back(field);
  made.kernel = std::move(kernel);
  return made;
}

}  // namespace

Result<CompiledTransform> compile_mirror(const Transform& transform, std::span<const Field> inputs,
                                         Settings& settings) {
  constexpr std::size_t kMostMirrored = 8;
  HEADRACE_ASSIGN(const TurnSettings read, turn_settings(transform, settings));
  HEADRACE_TRY(need_one_field_alone(transform, inputs));
  const Field& field = inputs[0];
  HEADRACE_ASSIGN(const std::vector<std::size_t> axes, turned_axes(transform, read, field));
  if (axes.size() > kMostMirrored)
    return transform_error(transform, fmt::format("{} axes, and it takes {}", axes.size(), kMostMirrored));
  std::vector<Turn> turns;
  for (std::size_t way = 0; way < std::size_t{1} << axes.size(); ++way) {
    turns.push_back(unturned(field.dims.row_shape().size()));
    for (std::size_t a = 0; a < axes.size(); ++a) turns.back().backwards[axes[a]] = (way >> a & 1) != 0;
  }
  return turned(field, std::make_shared<MirrorKernel>(field, turns, axes.size(), read));
}

Result<CompiledTransform> compile_rotate90(const Transform& transform, std::span<const Field> inputs,
                                           Settings& settings) {
  HEADRACE_ASSIGN(const TurnSettings read, turn_settings(transform, settings));
  HEADRACE_TRY(need_one_field_alone(transform, inputs));
  const Field& field = inputs[0];
  const std::size_t rank = field.dims.row_shape().size(), wanted = read.cube ? 3 : 2;
  HEADRACE_ASSIGN(const std::vector<std::size_t> axes, turned_axes(transform, read, field));
  if (axes.size() != wanted)
    return transform_error(transform, fmt::format("{} axes, and it turns {}", axes.size(), wanted),
                           "Two axes are a plane; axes=\"cube\" turns the last three.");
  HEADRACE_TRY(need_equal_extents(transform, field, axes));
  return turned(field,
                std::make_shared<AnyTurnKernel>(
                    field, read.cube ? cube_turns(rank, axes) : plane_turns(rank, axes[0], axes[1]), "Rotate90", read));
}

Result<CompiledTransform> compile_shuffle_axes(const Transform& transform, std::span<const Field> inputs,
                                               Settings& settings) {
  constexpr std::size_t kMostShuffled = 5;
  HEADRACE_ASSIGN(const TurnSettings read, turn_settings(transform, settings));
  HEADRACE_TRY(need_one_field_alone(transform, inputs));
  const Field& field = inputs[0];
  HEADRACE_ASSIGN(const std::vector<std::size_t> axes, turned_axes(transform, read, field));
  if (axes.size() < 2 || axes.size() > kMostShuffled)
    return transform_error(transform, fmt::format("{} axes, and it takes 2 to {}", axes.size(), kMostShuffled));
  HEADRACE_TRY(need_equal_extents(transform, field, axes));
  return turned(field, std::make_shared<AnyTurnKernel>(field, all_orders(field.dims.row_shape().size(), axes),
                                                       "ShuffleAxes", read));
}

}  // namespace headrace
