#include <fmt/format.h>
#include <fmt/ranges.h>
#include <headrace/volumes.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text/nearest_name.h"
#include "dataset/dataset_contents.h"
#include "dataset/recipe/refuse.h"
#include "dataset/recipe/verb_options.h"
#include "dataset/samples/mapped_samples.h"
#include "dataset/volumes/patch_samples.h"
#include "dataset/volumes/volumes_contents.h"

namespace headrace {
namespace {

void check_extents(const Volumes& volumes, std::span<const std::uint64_t> extents, std::string_view what) {
  const std::size_t rank = volumes.shapes()[0].size();
  if (extents.size() != rank)
    throw refuse(fmt::format("a {} of {} number{} for volumes of {} axes", what, extents.size(),
                             extents.size() == 1 ? "" : "s", rank),
                 fmt::format("Give one for each axis of ({}); a slice has 1 along its thin axis.",
                             fmt::join(volumes.shapes()[0], ", ")));
  for (const std::uint64_t n : extents)
    if (n == 0) throw refuse(fmt::format("a {} of 0 voxels along an axis", what), "Give at least 1.");
}

void check_voxels(std::span<const std::uint64_t> extents, std::string_view what) {
  constexpr double kMostVoxels = 0x1p40;
  double voxels = 1;
  for (const std::uint64_t n : extents) voxels *= static_cast<double>(n);
  if (voxels > kMostVoxels)
    throw refuse(fmt::format("a {} of more than 2^40 voxels", what), "Ask for smaller patches.");
}

void check_context(const Volumes& volumes, const PatchOptions& options) {
  for (const PatchContext& one : options.context) {
    if (std::ranges::find(volumes.arrays(), one.array, &Field::name) == volumes.arrays().end()) {
      std::vector<std::string> names;
      for (const Field& array : volumes.arrays()) names.push_back(array.name);
      throw refuse(fmt::format("the volumes have no array '{}' for context", one.array),
                   fmt::format("They have: {}.", list_names(nearest_names(one.array, names))));
    }
    if (std::ranges::count(options.context, one.array, &PatchContext::array) > 1)
      throw refuse(fmt::format("context names '{}' twice", one.array), "Name it once.");
    if (!one.shape.empty()) check_extents(volumes, one.shape, "context");
    check_voxels(one.shape, "context");
  }
}

void check(const Volumes& volumes, const PatchOptions& options) {
  check_extents(volumes, options.shape, "patch");
  check_voxels(options.shape, "patch");
  const bool drawn = options.samples_per_epoch.has_value();
  if (drawn != options.stride.empty())
    throw refuse(drawn ? "samples_per_epoch (random patches) and stride (patches on a grid) exclude each other"
                       : "neither samples_per_epoch (random patches) nor stride (patches on a grid) is given",
                 "Give samples_per_epoch to train on random patches, stride to go over each volume.");
  if (drawn && *options.samples_per_epoch == 0) throw refuse("0 samples an epoch", "Give at least 1.");
  if (drawn && *options.samples_per_epoch > std::uint64_t{1} << 52)
    throw refuse("more than 2^52 samples an epoch", "Give fewer.");
  if (drawn && options.edge != PatchEdge::kShift)
    throw refuse("edge= is for the last patches of a grid (stride=); random patches lie inside their volume",
                 "Leave it out.");
  if (!drawn) check_extents(volumes, options.stride, "stride");
  if (!options.balance.empty() && (!drawn || options.draws == PatchDraws::kIndependent))
    throw refuse(drawn ? "balance= draws patches in visits, and draws=\"independent\" one by one"
                       : "balance= is for random patches, and stride= puts them on a grid",
                 drawn ? "Leave draws out." : "Give samples_per_epoch in place of stride.");
  for (auto one = options.balance.begin(); one != options.balance.end(); ++one) {
    const auto is_same = [&](const PatchClass& other) {
      return other.array == one->array && other.value == one->value;
    };
    if (std::any_of(options.balance.begin(), one, is_same))
      throw refuse(fmt::format("balance names {} twice, and all classes get as many patches",
                               one->value ? fmt::format("the class {} of '{}'", one->value->text(), one->array)
                                          : fmt::format("'{}'", one->array)),
                   "Name it once.");
  }
  const bool fills = !drawn && options.edge == PatchEdge::kFill;
  if (!fills && options.context.empty() && (options.fill != 0 || std::signbit(options.fill)))
    throw refuse("fill= is for voxels past the end of a volume, and no patch reaches past it",
                 "Give edge=\"fill\" with it, or leave it out.");
  check_context(volumes, options);
}

}  // namespace

Dataset patches(const Volumes& volumes, const PatchOptions& given) {
  PatchOptions options = given;
  const auto fill_up = [&](std::vector<std::uint64_t>& extents) {  // one number is for all axes
    if (extents.size() == 1) extents = std::vector<std::uint64_t>(volumes.shapes()[0].size(), extents[0]);
  };
  fill_up(options.shape);
  fill_up(options.stride);
  for (PatchContext& one : options.context) fill_up(one.shape);
  check(volumes, options);
  return Dataset(make_samples(patch_maker(options, *impl_of(volumes).source), impl_of(volumes).source, nullptr,
                              node_of(options, impl_of(volumes).node)));
}

}  // namespace headrace
