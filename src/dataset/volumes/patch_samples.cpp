#include "dataset/volumes/patch_samples.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/random/philox.h"
#include "base/text/nearest_name.h"
#include "base/text/number_text.h"
#include "catalog/samples/balanced_visits.h"
#include "catalog/samples/box_map.h"
#include "catalog/samples/even_visits.h"
#include "dataset/recipe/refuse.h"
#include "dataset/samples/map_fields.h"
#include "dataset/volumes/class_counts.h"
#include "dataset/volumes/volume_grid.h"
#include "transform/numbers.h"

namespace headrace {
namespace {

/// Neighbours of a grid share cells, and decode them once where they are shuffled together; but few shuffle blocks mix
/// badly.
constexpr std::uint64_t kShuffleBlockBytes = 4 << 20, kLeastShuffleBlocks = 64;
constexpr std::uint64_t kMostBlocksOfDrawn = 1 << 22;
constexpr std::uint64_t kMostVisits = 1 << 24;  // 16 bytes each
constexpr std::uint64_t kMostStarts = std::numeric_limits<std::int64_t>::max();

std::string times(std::span<const std::uint64_t> extents) {
  return fmt::format("{}", fmt::join(extents, " x "));
}

std::span<const std::uint64_t> shape_of(const SourceFile& volume) {
  return volume.extents;
}

class PatchMaker final : public SampleMaker {
 public:
  PatchMaker(PatchOptions options, const Source& volumes)
      : options_(std::move(options)), overlaps_(may_overlap(options_, volumes)) {
    if (options_.balance.empty()) return;
    block_ = class_block(options_.shape, volumes);
    classes_ = count_classes(volumes, classes_of(volumes), block_).value();
    for (const ClassBlocks& one : classes_)
      if (one.blocks.empty())
        throw refuse(fmt::format("no voxel of the class '{}' is in these volumes", one.name),
                     "Leave it out of balance=.");
  }

  [[nodiscard]] std::string identity() const override {
    std::string text = fmt::format("patches of {}", times(options_.shape));
    for (const PatchContext& one : options_.context)
      text += fmt::format(" with {} {}", one.array, times(one.shape.empty() ? options_.shape : one.shape));
    if (options_.samples_per_epoch) {
      text += fmt::format(" drawn, {} an epoch", *options_.samples_per_epoch);
      for (const ClassBlocks& one : classes_) text += fmt::format("; {} ({:016x})", one.name, hash_of(one));
      return text;
    }
    text += fmt::format(" every {}", times(options_.stride));
    switch (options_.edge) {
      case PatchEdge::kShift:
        return text + " shifted";
      case PatchEdge::kDrop:
        return text + " dropped";
      case PatchEdge::kFill:
        break;
    }
    return text + fmt::format(" filled with {}", options_.fill);
  }
  [[nodiscard]] bool follows_files() const override { return !options_.samples_per_epoch; }
  [[nodiscard]] bool overlaps() const override { return overlaps_; }
  [[nodiscard]] std::shared_ptr<const SampleMaker> joined(std::span<const Part>, const Source& volumes) const override {
    return std::make_shared<PatchMaker>(options_, volumes);
  }

  [[nodiscard]] std::shared_ptr<MappedSource> make(std::shared_ptr<const Source> volumes,
                                                   std::shared_ptr<const RowSet> chosen) const override {
    std::vector<std::string> notices;
    const std::vector<std::uint32_t> used = large_enough(*volumes, notices);
    std::vector<SourceGroup> groups = groups_of(volumes);
    add_notices_of_arrays(*volumes, notices);
    BoxMap::Options map;
    map.box = axes_of(options_.shape);
    map.boxes = boxes_of(*volumes);
    map.chosen = std::move(chosen);
    std::vector<Axes> shapes;
    for (const std::uint32_t file : used) {
      shapes.push_back(axes_of(volumes->files[file].extents));
      map.volumes.push_back(volume_of(*volumes, file, groups, map));
    }
    check_number(map.volumes, *volumes);
    map.starts = starts_of(std::move(shapes), map, notices);
    if (map.starts->num_samples() == 0) throw refuse("there is no patch in these volumes");
    std::uint64_t sample_bytes = 0;
    for (std::size_t c = 0; c < groups.size(); ++c) {
      std::uint64_t bytes = (*volumes->columns)[c].dtype.itemsize;
      for (std::size_t a = 0; a < options_.shape.size(); ++a) bytes *= (map.boxes.empty() ? map.box : map.boxes[c])[a];
      sample_bytes += bytes;
    }
    const std::uint64_t samples = map.starts->num_samples();
    map.block_samples = std::clamp<std::uint64_t>(kShuffleBlockBytes / std::max<std::uint64_t>(sample_bytes, 1), 1,
                                                  samples / kLeastShuffleBlocks + 1);
    // Drawn ones have no neighbours; and shuffle blocks are counted in 32 bits.
    const std::uint64_t most_blocks = options_.samples_per_epoch ? kMostBlocksOfDrawn : kMostShuffleBlocks;
    map.block_samples = std::max(map.block_samples, samples / most_blocks + 1);
    std::vector<std::uint64_t> file_ends = ends_of_files(*map.starts, used, volumes->files.size());
    auto boxes = std::make_shared<const BoxMap>(std::move(map));
    std::string text = identity();
    for (const BoxMap::Volume& volume : boxes->volumes()) {
      for (const Axes& offset : volume.offsets)
        text += fmt::format(", {}", times(std::span(offset).first(boxes->rank(0))));
      for (const std::optional<VoxelScale>& scale : volume.scales)
        if (scale) text += fmt::format(", of {} at {}", fmt::join(scale->size, " x "), fmt::join(scale->begin, " x "));
    }
    if (const VisitStarts* const visits = boxes->visits()) text += ", in " + visit_text(visits->visit());
    std::shared_ptr<MappedSource> made = make_mapped_source(boxes, boxes, std::move(groups), std::move(text)).value();
    made->what = "patches";
    made->file_ends = std::move(file_ends);
    made->notices = std::move(notices);
    made->delivers_valid = !options_.samples_per_epoch && options_.edge == PatchEdge::kFill;
    made->rows = std::move(volumes);
    return made;
  }

 private:
  [[nodiscard]] BoxMap::Volume volume_of(const Source& volumes, std::uint32_t file,
                                         const std::vector<SourceGroup>& groups, const BoxMap::Options& map) const {
    BoxMap::Volume volume{file, {}};
    const SourceFile& here = volumes.files[file];
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const Axes& box = map.boxes.empty() ? map.box : map.boxes[g];
      volume.grids.push_back(volume_grid(*groups[g].source->files[file].arrays[0], box).value());
      const std::uint32_t array = volumes.places[g].array;
      if (!here.offsets.empty()) std::ranges::copy(here.offsets[array], volume.offsets.emplace_back().begin());
      if (options_.context.empty()) continue;
      std::optional<VoxelScale>& scale = volume.scales.emplace_back();
      if (!here.scales.empty()) scale = here.scales[array];
      if (!scale && context_of((*volumes.columns)[g].name)) {  // of the volume's own voxels here, but not elsewhere
        scale.emplace();
        for (std::size_t a = 0; a < options_.shape.size(); ++a) {
          scale->size[a] = 1;
          scale->begin[a] = here.offsets.empty() ? 0 : -static_cast<double>(here.offsets[array][a]);
        }
      }
    }
    return volume;
  }

  [[nodiscard]] const PatchContext* context_of(std::string_view name) const {
    const auto found = std::ranges::find(options_.context, name, &PatchContext::array);
    return found == options_.context.end() ? nullptr : &*found;
  }
  /// The first file where an array of other voxels than the volume's is; null: there is none.
  static const SourceFile* file_with_scale(const Source& volumes, std::size_t column) {
    const auto found = std::ranges::find_if(volumes.files, [&](const SourceFile& file) {
      return !file.scales.empty() && file.scales[volumes.places[column].array].has_value();
    });
    return found == volumes.files.end() ? nullptr : &*found;
  }

  /// Boxes of the arrays, where one has voxels of its own; each such must be named, and no other may be.
  [[nodiscard]] std::vector<Axes> boxes_of(const Source& volumes) const {
    std::vector<Axes> boxes;
    for (std::size_t c = 0; c < volumes.columns->size(); ++c) {
      const std::string& name = (*volumes.columns)[c].name;
      const PatchContext* const context = context_of(name);
      const SourceFile* const other = file_with_scale(volumes, c);
      if (other && !context)
        throw refuse(fmt::format("the array '{}' has voxels of another size than '{}', and lies over it only "
                                 "as context",
                                 name, (*volumes.columns)[0].name),
                     fmt::format("context={{\"{}\": ({})}} takes a box of so many of its voxels about the "
                                 "centre of each patch.",
                                 name, fmt::join(options_.shape, ", ")))
            .with_file(other->path);
      if (!other && context)
        throw refuse(fmt::format("context names '{}', whose voxels have the size of the volume's", name),
                     "It has a patch of its own already; open another level of the image, \"GROUP@32\", for context.");
      boxes.push_back(axes_of(context && !context->shape.empty() ? context->shape : options_.shape));
    }
    return options_.context.empty() ? std::vector<Axes>() : boxes;
  }

  /// True if some voxel may be in two patches of an epoch.
  static bool may_overlap(const PatchOptions& options, const Source& volumes) {
    if (options.samples_per_epoch) return true;
    for (std::size_t a = 0; a < options.shape.size(); ++a) {
      const std::uint64_t patch = options.shape[a], stride = options.stride[a];
      if (stride < patch) return true;
      for (const SourceFile& file : volumes.files)  // the last one moves inwards
        if (const std::uint64_t size = shape_of(file)[a]; options.edge == PatchEdge::kShift && size > patch &&
                                                          (size - patch) % stride != 0 &&
                                                          (size - patch) % stride < patch)
          return true;
    }
    return false;
  }

  [[nodiscard]] static Axes axes_of(std::span<const std::uint64_t> extents) {
    Axes axes;
    axes.fill(1);
    std::ranges::copy(extents, axes.begin());
    return axes;
  }

  /// The volumes that patches are made of, by number. Throws for one that is too small.
  [[nodiscard]] std::vector<std::uint32_t> large_enough(const Source& volumes,
                                                        std::vector<std::string>& notices) const {
    const bool fills = !options_.samples_per_epoch && options_.edge == PatchEdge::kFill;
    for (const SourceFile& file : volumes.files)
      if (fills && !(file.offsets.empty() && file.scales.empty()))
        throw refuse("edge=\"fill\" of arrays that begin or end at different places is not there yet",
                     "edge=\"shift\" moves the last patch inwards.")
            .with_file(file.path);
    std::vector<std::uint32_t> used;
    for (std::uint32_t f = 0; f < volumes.files.size(); ++f) {
      const std::span<const std::uint64_t> shape = shape_of(volumes.files[f]);
      bool fits = true;
      for (std::size_t a = 0; a < shape.size(); ++a) fits = fits && shape[a] >= (fills ? 1 : options_.shape[a]);
      if (fits) {
        used.push_back(f);
      } else if (!options_.skip_small) {
        throw refuse(fmt::format("a patch of {} is larger than this volume of {}", times(options_.shape), times(shape)),
                     "small=\"skip\" leaves such volumes out; a grid with edge=\"fill\" fills them up.")
            .with_file(volumes.files[f].path);
      }
    }
    if (used.empty())
      throw refuse(fmt::format("a patch of {} is larger than each of the {} volumes; the first is {}",
                               times(options_.shape), volumes.files.size(), times(shape_of(volumes.files[0]))),
                   "Ask for smaller patches.")
          .with_file(volumes.files[0].path);
    if (const std::size_t small = volumes.files.size() - used.size(); small > 0)
      notices.push_back(fmt::format("{} of {} volumes are smaller than a patch of {} and left out", small,
                                    volumes.files.size(), times(options_.shape)));
    return used;
  }

  /// What should be known of arrays; of several the first, as all files of a data set tend to have the same.
  static void add_notices_of_arrays(const Source& volumes, std::vector<std::string>& notices) {
    if (volumes.notes) notices.insert(notices.end(), volumes.notes->notices.begin(), volumes.notes->notices.end());
    for (const SourceFile& file : volumes.files)
      for (const auto& array : file.arrays)
        if (!array->info().notice.empty())
          return notices.push_back(fmt::format("{}: {}", file.path, array->info().notice));
  }

  /// A group for each array, in the order of the fields.
  [[nodiscard]] std::vector<SourceGroup> groups_of(const std::shared_ptr<const Source>& volumes) const {
    std::vector<SourceGroup> groups;
    for (std::size_t c = 0; c < volumes->columns->size(); ++c) {
      const StoredColumn& column = (*volumes->columns)[c];
      SourceGroup& group = groups.emplace_back();
      group.fill_element.resize(column.dtype.itemsize);
      const bool is_filled = options_.edge == PatchEdge::kFill || context_of(column.name) != nullptr;
      const bool zero = !is_filled || (options_.fill == 0 && !std::signbit(options_.fill));
      if (!zero && (!is_number(column.dtype) || !has_number(column.dtype, options_.fill)))
        throw refuse(fmt::format("fill={} is not a value of type {}, the type of the array '{}'", options_.fill,
                                 column.dtype.name(), column.name),
                     "0 fits every type; the field 'NAME.valid' tells real voxels from filled ones.")
            .with_field(column.name);
      if (!zero) store_numbers(column.dtype, &options_.fill, 1, group.fill_element.data());
      group.source = with_columns(*volumes, {c});
      for (const SourceFile& file : group.source->files)
        group.layout.files.push_back({file.arrays[0]->info().chunk_rows(), {ArrayRole::kAligned}});
    }
    return groups;
  }

  [[nodiscard]] std::shared_ptr<const BoxStarts> starts_of(std::vector<Axes> shapes, const BoxMap::Options& map,
                                                           std::vector<std::string>& notices) const {
    const std::size_t rank = options_.shape.size();
    if (options_.samples_per_epoch) {
      const std::uint64_t samples = *options_.samples_per_epoch;
      std::optional<Axes> chunk = leading_chunk(map.volumes[0]);
      if (!classes_.empty() && !chunk) chunk = map.box;  // there is nothing to share, and a visit is as good as any
      if (options_.draws == PatchDraws::kIndependent || !chunk)
        return std::make_shared<DrawnStarts>(rank, std::move(shapes), map.box, samples);
      const VisitShape visit = visit_shape(rank, map.box, *chunk, samples);
      if (!classes_.empty())
        return std::make_shared<BalancedVisits>(VisitStarts::Options{std::move(shapes), map.box, visit, samples},
                                                block_, classes_in(map.volumes));
      if (samples / visit.num_boxes() < kMostVisits)
        return std::make_shared<EvenVisits>(VisitStarts::Options{std::move(shapes), map.box, visit, samples});
      notices.push_back(fmt::format("each patch is drawn by itself, as there are more than {} visits an epoch",
                                    group_digits(kMostVisits)));
      return std::make_shared<DrawnStarts>(rank, std::move(shapes), map.box, samples);
    }
    const Axes stride = axes_of(options_.stride);
    const BoxEdge edge = options_.edge == PatchEdge::kShift  ? BoxEdge::kShift
                         : options_.edge == PatchEdge::kDrop ? BoxEdge::kDrop
                                                             : BoxEdge::kFill;
    return std::make_shared<GridStarts>(GridStarts::Options{rank, std::move(shapes), map.box, stride, edge});
  }

  /// The chunks of the array of which single boxes decode most; nullopt where none is decoded in chunks.
  [[nodiscard]] std::optional<Axes> leading_chunk(const BoxMap::Volume& volume) const {
    std::optional<Axes> leading;
    double most = 0;
    for (std::size_t g = 0; g < volume.grids.size(); ++g) {
      const CellGrid& grid = volume.grids[g];
      if (!volume.scales.empty() && volume.scales[g]) continue;  // context follows
      if (grid.cells == CellGrid::Cells::kPlain || grid.rank != options_.shape.size()) continue;
      double bytes = static_cast<double>(grid.element_bytes);
      for (std::size_t a = 0; a < grid.rank; ++a) bytes *= static_cast<double>(options_.shape[a] - 1 + grid.cell[a]);
      if (bytes <= most) continue;
      most = bytes;
      leading = grid.cell;
      for (std::size_t a = 0; a < grid.rank; ++a) (*leading)[a] = std::min(grid.cell[a], grid.shape[a]);
    }
    return leading;
  }

  [[nodiscard]] std::string visit_text(const VisitShape& visit) const {
    const auto first = [&](const Axes& axes) { return std::span(axes).first(visit.rank); };
    return fmt::format("visits of {} in cells of {}", times(first(visit.boxes)), times(first(visit.cell)));
  }

  /// Throws kUnsupported where numbers of cells, or of places, are too large.
  void check_number(const std::vector<BoxMap::Volume>& volumes, const Source& source) const {
    double cells = 0, starts = 0;
    for (const BoxMap::Volume& volume : volumes) {
      for (const CellGrid& grid : volume.grids) cells += static_cast<double>(grid.num_cells());
      double places = 1;
      for (std::size_t a = 0; a < options_.shape.size(); ++a) places *= static_cast<double>(volume.grids[0].shape[a]);
      starts += places;
    }
    if (cells < 0x1p32 && starts < static_cast<double>(kMostStarts)) return;
    throw Error(ErrorCode::kUnsupported, cells < 0x1p32 ? "more than 2^63 voxels" : "more than 2^32 chunks")
        .with_file(source.files[0].path)
        .with_hint("Open fewer volumes at once.");
  }

  /// Samples before the end of each file, also of those that are left out; none where they are drawn.
  static std::vector<std::uint64_t> ends_of_files(const BoxStarts& starts, const std::vector<std::uint32_t>& used,
                                                  std::size_t num_files) {
    const std::vector<std::uint64_t> ends = starts.volume_ends();
    if (ends.empty()) return {};
    std::vector<std::uint64_t> of_files(num_files, 0);
    for (std::size_t v = 0; v < used.size(); ++v) of_files[used[v]] = ends[v];
    for (std::size_t f = 1; f < num_files; ++f) of_files[f] = std::max(of_files[f], of_files[f - 1]);
    return of_files;
  }

  [[nodiscard]] std::vector<VoxelClass> classes_of(const Source& volumes) const {
    std::vector<VoxelClass> classes;
    for (const PatchClass& one : options_.balance) {
      const auto column = std::ranges::find(*volumes.columns, one.array, &StoredColumn::name);
      if (column == volumes.columns->end()) {
        std::vector<std::string> names;
        for (const StoredColumn& c : *volumes.columns) names.push_back(c.name);
        throw refuse(fmt::format("the volumes have no array '{}' to balance by", one.array),
                     fmt::format("They have: {}.", list_names(nearest_names(one.array, names))));
      }
      if (file_with_scale(volumes, static_cast<std::size_t>(column - volumes.columns->begin())))
        throw refuse(fmt::format("balance names '{}', whose voxels are not those of the volume", one.array),
                     "Name an array of the volume's own voxels.");
      classes.push_back({static_cast<std::size_t>(column - volumes.columns->begin()), one.value,
                         one.value ? fmt::format("{} = {}", one.array, one.value->text()) : one.array});
    }
    return classes;
  }

  /// The classes' blocks in the volumes that are used, by their numbers in the map.
  [[nodiscard]] std::vector<ClassBlocks> classes_in(const std::vector<BoxMap::Volume>& used) const {
    std::vector<ClassBlocks> made;
    for (const ClassBlocks& one : classes_) {
      ClassBlocks& kept = made.emplace_back(ClassBlocks{one.name, {}});
      for (const ClassBlocks::Block& block : one.blocks) {
        const auto volume = std::ranges::find(used, block.volume, &BoxMap::Volume::file);
        if (volume == used.end()) continue;
        kept.blocks.push_back({static_cast<std::uint32_t>(volume - used.begin()), block.number, block.voxels});
      }
      if (kept.blocks.empty())
        throw refuse(fmt::format("no voxel of the class '{}' is in the volumes that are large enough", one.name),
                     "Leave it out of balance=, or ask for smaller patches.");
    }
    return made;
  }

  static std::uint64_t hash_of(const ClassBlocks& one) {
    RandomKey key = RandomKey::of({one.blocks.size()});
    for (const ClassBlocks::Block& b : one.blocks) key = key.with(b.volume).with(b.number).with(b.voxels);
    return key.low;
  }

  const PatchOptions options_;
  const bool overlaps_;
  Axes block_{};                     // voxels of a block in which classes are counted
  std::vector<ClassCount> classes_;  // by number of file
};

}  // namespace

std::shared_ptr<const SampleMaker> patch_maker(const PatchOptions& options, const Source& volumes) {
  return std::make_shared<PatchMaker>(options, volumes);
}

}  // namespace headrace
