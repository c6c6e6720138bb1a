// open_volumes(): files as volumes of arrays that have one shape.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <headrace/bytes.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>

#include "catalog/samples/cell_grid.h"
#include "dataset/files/companion_files.h"
#include "dataset/files/open_several.h"
#include "dataset/files/paths.h"
#include "dataset/opening/open_source_file.h"
#include "dataset/recipe/refuse.h"
#include "dataset/recipe/verb_options.h"
#include "dataset/volumes/volume_axes.h"
#include "dataset/volumes/volumes_contents.h"

namespace headrace {
namespace {

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

/// True if voxels have the size of others, to within a thousandth.
bool has_size_of(const Voxel& voxel, const Voxel& other) {
  for (std::size_t a = 0; a < other.size.size(); ++a)
    if (voxel.size.size() != other.size.size() || std::abs(voxel.size[a] - other.size[a]) > other.size[a] / 1000)
      return false;
  return true;
}

/// Every array must be of numbers, not of records.
Status check_elements(const SourceFile& file, const FieldPlan& plan) {
  for (std::size_t c = 0; c < plan.columns.size(); ++c) {
    const ArrayInfo& info = file.arrays[plan.places[c].array]->info();
    const auto refused = [&](std::string why, std::string hint) {
      return Error(ErrorCode::kUnsupported, std::move(why))
          .with_file(file.path)
          .with_field(info.path)
          .with_hint(std::move(hint));
    };
    if (info.is_record || info.columns.size() != 1)
      return refused("volumes of records are not there yet", "Name arrays of numbers.");
    if (plan.columns[c].dtype.kind == DType::Kind::kBytes)
      return refused("volumes of text are not there yet", "Name arrays of numbers.");
    if (info.shape.size() > kMostVolumeAxes)
      return refused(fmt::format("a volume of {} axes; {} are the most", info.shape.size(), kMostVolumeAxes), "");
    if (info.columns[0].dtype == plan.columns[c].dtype) continue;
    return Error(ErrorCode::kInvalidArgument, fmt::format("the array is {} here, but {} in the first file",
                                                          info.columns[0].dtype.name(), plan.columns[c].dtype.name()))
        .with_file(file.path)
        .with_field(info.path)
        .with_hint("Volumes that are opened together must agree; open those that differ apart.");
  }
  return {};
}

/// "voxels of 4 x 4 x 4 of the volume's"; empty: of its own.
std::string scale_text(const SourceFile& file, std::size_t array) {
  if (file.scales.empty() || !file.scales[array]) return {};
  const auto size = std::span(file.scales[array]->size).first(file.extents.size());
  return fmt::format("voxels of {:.4g} of the volume's", fmt::join(size, " x "));
}

Error differ(const SourceFile& file, const std::string& what, const std::string& hint) {
  std::string list;
  for (const auto& one : file.arrays)
    list += fmt::format("\n  {}: {}{}{}", one->info().path, shape_text(one->info().shape),
                        one->info().named_axes.empty() ? "" : ", axes " + names_text(one->info().named_axes),
                        one->info().voxel ? ", voxels of " + one->info().voxel->text() : "");
  return Error(ErrorCode::kInvalidArgument, what + list).with_file(file.path).with_hint("\n" + hint);
}

/// Where the arrays of a volume lie, counted in voxels of the first one from its beginning.
struct WorldPlaces {
  std::vector<std::vector<std::int64_t>> places;  // of arrays that have voxels of this size; empty: not all tell it
  std::vector<std::optional<VoxelScale>> scales;  // of those that have others
};

Result<WorldPlaces> world_places(const SourceFile& file) {
  WorldPlaces world;
  const std::optional<Voxel>& first = file.arrays[0]->info().voxel;
  for (const auto& array : file.arrays) {
    if (!array->info().voxel || !first || array->info().shape.size() != file.arrays[0]->info().shape.size())
      return WorldPlaces();
    const std::optional<Voxel> voxel = in_units_of(array->info(), *first);
    if (!voxel)
      return differ(file,
                    fmt::format("the arrays of the volume have voxels in units that cannot be compared, {}:",
                                units_text(file.arrays[0]->info(), array->info())),
                    "Name arrays whose sizes are in one unit, or in lengths that OME-NGFF lists.");
    const bool same = has_size_of(*voxel, *first);
    std::vector<std::int64_t>& place = world.places.emplace_back();
    std::optional<VoxelScale>& scale = world.scales.emplace_back();
    if (!same) scale.emplace();
    for (std::size_t a = 0; a < first->size.size(); ++a) {
      const double voxels = (voxel->origin[a] - first->origin[a]) / first->size[a];
      const double reach = voxel->size[a] / first->size[a] * static_cast<double>(array->info().shape[a]);
      if (!(std::abs(voxels) < 0x1p53) || !(reach < 0x1p53))
        return differ(file, "the arrays of the volume lie too far apart:", "");
      place.push_back(std::llround(voxels));
      if (same) continue;
      // OME-NGFF says where the centre of the first voxel is; its border is half a voxel before.
      scale->size[a] = voxel->size[a] / first->size[a];
      scale->begin[a] = voxels + 0.5 - scale->size[a] / 2;
    }
  }
  return world;
}

/// What arrays have of an axis of the volume, in voxels of the first one.
struct Reach {
  std::int64_t begin = std::numeric_limits<std::int64_t>::min(), end = std::numeric_limits<std::int64_t>::max();
};

/// An array of other voxels needs not cover a patch: a centre within one of these voxels of it is enough.
Reach common_reach(const SourceFile& file, const WorldPlaces& world, std::size_t axis) {
  Reach reach;
  for (std::size_t i = 0; i < file.arrays.size(); ++i) {
    const std::uint64_t extent = file.arrays[i]->info().shape[axis];
    std::int64_t begin = world.places[i][axis], end = begin + static_cast<std::int64_t>(extent);
    if (const std::optional<VoxelScale>& scale = world.scales[i]) {
      const double size = scale->size[axis], first = scale->begin[axis];
      begin = static_cast<std::int64_t>(std::ceil(first - size));
      end = static_cast<std::int64_t>(std::floor(first + size * (static_cast<double>(extent) + 1)));
    }
    reach.begin = std::max(reach.begin, begin);
    reach.end = std::min(reach.end, end);
  }
  return reach;
}

/// Settle what the arrays of a volume have in common: where they lie is known, or else they must have one shape.
Status set_extents(SourceFile& file, std::size_t rank, const std::string& first_path) {
  const std::vector<std::uint64_t>& shape = file.arrays[0]->info().shape;
  file.extents = shape;
  HEADRACE_ASSIGN(WorldPlaces world, world_places(file));
  const auto& places = world.places;
  const bool one_shape =
      std::ranges::all_of(file.arrays, [&](const auto& array) { return array->info().shape == shape; });
  const bool one_place = std::ranges::all_of(places, [&](const auto& place) { return place == places[0]; });
  const bool one_size = std::ranges::none_of(world.scales, [](const auto& scale) { return scale.has_value(); });
  if (places.empty() && !one_shape)
    return differ(file, "the arrays of the volume differ in shape:",
                  "Arrays of a volume need the same voxels: name arrays of one shape.");
  if (!places.empty() && !(one_shape && one_place && one_size)) {
    file.offsets.assign(file.arrays.size(), std::vector<std::uint64_t>(shape.size()));
    for (std::size_t a = 0; a < shape.size(); ++a) {
      const Reach reach = common_reach(file, world, a);
      if (reach.begin >= reach.end)
        return differ(file, "the arrays of the volume do not overlap, by their origins and voxel sizes:", "");
      file.extents[a] = static_cast<std::uint64_t>(reach.end - reach.begin);
      for (std::size_t i = 0; i < places.size(); ++i)
        if (std::optional<VoxelScale>& scale = world.scales[i])
          scale->begin[a] -= static_cast<double>(reach.begin);
        else
          file.offsets[i][a] = static_cast<std::uint64_t>(reach.begin - places[i][a]);
    }
    if (!one_size) file.scales = std::move(world.scales);
  }
  if (shape.size() == rank) return {};
  return Error(ErrorCode::kInvalidArgument, fmt::format("a volume of {} axes, {}; that of {} has {}", shape.size(),
                                                        shape_text(shape), first_path, rank))
      .with_file(file.path)
      .with_hint("Open volumes of different axes apart.");
}

/// Say that an array's voxels have another size than in the first volume; empty: none has.
std::string other_voxels(const SourceFile& first, const SourceFile& file) {
  for (std::size_t i = 0; i < file.arrays.size(); ++i) {
    const ArrayInfo &before = first.arrays[i]->info(), &here = file.arrays[i]->info();
    if (!before.voxel || !here.voxel || before.voxel->size.size() != here.voxel->size.size()) continue;
    const std::optional<Voxel> same_unit = in_units_of(here, *before.voxel);
    if (same_unit && has_size_of(*same_unit, *before.voxel)) continue;
    return fmt::format(
        "{} › {}: its voxels are {}, and those of the first volume {}: patches are of so many voxels in "
        "both",
        file.path, here.path, here.voxel->text(), before.voxel->text());
  }
  return {};
}

Result<std::shared_ptr<const Volumes::Impl>> open_them(const std::vector<std::string>& paths,
                                                       const OpenOptions& options) {
  HEADRACE_ASSIGN(const std::vector<std::string> files, expand_paths(paths));
  FileLists lists(files, options.companion_files, IndexStore::of_user());
  OpenOptions wanted;
  wanted.fields = options.fields;
  HEADRACE_ASSIGN(FieldPlan plan, plan_fields(lists, wanted));
  auto source = std::make_shared<Source>();
  auto made = std::make_shared<Volumes::Impl>();
  FileNotes notes;
  const auto take = [&](std::size_t i, OpenedFile opened) -> Status {
    SourceFile& file = opened.file;
    HEADRACE_TRY(check_elements(file, plan));
    HEADRACE_TRY(check_axes(file, source->files.empty() ? file : source->files[0]));
    HEADRACE_TRY(set_extents(
        file,
        source->files.empty() ? file.arrays[0]->info().shape.size() : source->files[0].arrays[0]->info().shape.size(),
        files[0]));
    file.rows = file.arrays[0]->info().rows();
    made->shapes.push_back(file.extents);
    if (notes.notices.empty() && !source->files.empty())
      if (std::string other = other_voxels(source->files[0], file); !other.empty()) notes.notices.push_back(other);
    source->files.push_back(std::move(file));
    if (options.progress && !options.progress(i + 1, files.size()))
      return Error(ErrorCode::kCancelled, fmt::format("stopped after {} of {} files", i + 1, files.size()));
    return {};
  };
  HEADRACE_TRY(open_several<OpenedFile>(
      files.size(), files[0], [&](std::size_t i) { return open_unchecked(lists, i, plan); }, take));
  lists.save();
  source->notes = std::make_shared<const FileNotes>(std::move(notes));
  for (StoredColumn& column : plan.columns) column.shape.clear();
  source->left_out = std::move(plan.left_out);
  source->places = std::move(plan.places);
  source->set_columns(std::move(plan.columns));
  const auto absolute = [](const std::string& path) { return std::filesystem::absolute(path).string(); };
  VolumeNode node;
  for (const std::string& path : files) node.paths.push_back(absolute(path));
  for (const StoredColumn& column : *source->columns) node.volume.arrays.push_back({column.name, column.path});
  node.volume.companion_files = companion_files_of(*source);
  for (auto& [text, beside] : node.volume.companion_files) std::ranges::transform(beside, beside.begin(), absolute);
  made->node = node_of(std::move(node));
  made->source = std::move(source);
  return std::shared_ptr<const Volumes::Impl>(std::move(made));
}

}  // namespace

Volumes::Volumes(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
std::uint64_t Volumes::size() const {
  return impl_->shapes.size();
}
const std::vector<Field>& Volumes::arrays() const {
  return *impl_->source->fields;
}
const std::vector<std::vector<std::uint64_t>>& Volumes::shapes() const {
  return impl_->shapes;
}

std::vector<FieldStorage> Volumes::storage() const {
  std::vector<FieldStorage> storage;
  const Source& source = *impl_->source;
  for (const Source::ColumnPlace place : source.places) {
    const ArrayInfo& first = source.files[0].arrays[place.array]->info();
    storage.push_back({first.chunk_shape, first.codec_text(), first.read_path_name(), first.reason, true});
    for (const SourceFile& file : source.files) {
      const ArrayInfo& info = file.arrays[place.array]->info();
      storage.back().uniform = storage.back().uniform && info.chunk_shape == first.chunk_shape &&
                               info.codec_text() == first.codec_text() && info.read_path == first.read_path;
    }
  }
  return storage;
}

std::vector<std::string> Volumes::files() const {
  std::vector<std::string> files;
  for (const SourceFile& file : impl_->source->files) files.push_back(file.path);
  return files;
}

std::string Volumes::describe() const {
  const std::vector<FieldStorage> stored = storage();
  std::string text = fmt::format("{} volume{}", size(), size() == 1 ? "" : "s");
  const auto& all = impl_->shapes;
  const bool alike = std::ranges::all_of(all, [&](const auto& shape) { return shape == all[0]; });
  text += fmt::format(" of {}{}\n", shape_text(all[0]), alike ? "" : " and other shapes");
  for (std::size_t a = 0; a < stored.size(); ++a) {
    const FieldStorage& s = stored[a];
    text += fmt::format("  {}  {}  {}  {}{}\n", arrays()[a].name, arrays()[a].dtype.name(),
                        s.chunk_shape.empty() ? std::string("no chunks") : "chunks of " + shape_text(s.chunk_shape),
                        s.codec, s.uniform ? "" : "  (others in some files)");
    if (const std::string scale = scale_text(impl_->source->files[0], impl_->source->places[a].array); !scale.empty())
      text.insert(text.size() - 1, "  " + scale);
  }
  return text;
}

Volumes open_volumes(const std::vector<std::string>& paths, const OpenOptions& options) {
  if (options.sample_by || !options.targets.empty() || options.sample_axes != 1 || !options.broadcast.empty())
    throw refuse("volumes have no rows: sample_by, targets, sample_axes and broadcast do not apply", "Leave them out.");
  return Volumes(open_them(paths, options).value());
}

}  // namespace headrace
