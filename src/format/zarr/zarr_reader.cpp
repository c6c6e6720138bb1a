#include "format/zarr/zarr_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/nearest_name.h"
#include "format/zarr/attributes.h"
#include "format/zarr/chunk_files.h"
#include "format/zarr/store_walk.h"
#include "format/zarr/zarr_array.h"
#include "storage/file_system.h"

namespace headrace::zarr {
namespace {

/// The decoders of an array's chunks. Errors: kUnsupported, kCorruptData.
Result<CodecChain> chain_of(const ArrayMetadata& metadata) {
  std::uint64_t elements = 1;
  for (const std::uint64_t n : metadata.chunk_shape) elements *= n;
  return CodecChain::make(metadata.filters, {elements * metadata.type.record_bytes,
                                             std::max<std::uint64_t>(metadata.type.record_bytes, 1)});
}

class ZarrReader final : public FormatReader {
 public:
  ZarrReader(std::string path, FoundStore found)
      : path_(std::move(path)), found_(std::move(found)), attributes_(attributes_of(found_.attributes)) {
    for (FoundArray& array : found_.arrays) {
      array.directory =
          FileSystem::of(array.directory).absolute(array.directory);  // chdir() does not matter from here on
      list(array);
    }
    for (const Image& image : found_.images)
      for (const ImageLevel& level : image.levels)
        if (const auto array = std::ranges::find(arrays_, level.path, &ArrayInfo::path); array != arrays_.end()) {
          const std::size_t rank = array->shape.size();
          if (level.voxel && level.voxel->size.size() == rank) array->voxel = level.voxel;
          if (level.axes.size() == rank) array->named_axes = level.axes;
        }
  }

  [[nodiscard]] std::string format_name() const override { return fmt::format("Zarr v{} (directory)", found_.version); }
  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] const std::vector<ArrayInfo>& arrays() const override { return arrays_; }
  [[nodiscard]] const std::vector<LeftOut>& passed_over() const override { return passed_over_; }
  [[nodiscard]] const Attributes& attributes() const override { return attributes_; }
  [[nodiscard]] const RandomAccessFile& file() const override { return *found_.file; }

  Result<std::shared_ptr<ArrayReader>> open_array(const std::string& asked) const override {
    const std::string name = asked.substr(std::min(asked.find_first_not_of('/'), asked.size()));
    const auto listed = std::ranges::find(arrays_, name, &ArrayInfo::path);
    if (listed == arrays_.end()) {
      if (const auto sized = split_sized_name(name)) return open_level(*sized, name);
      return missing(name);
    }
    const auto found = std::ranges::find(found_.arrays, name, &FoundArray::path);
    auto opened = open(*found, *listed);
    if (!opened.ok()) return std::move(opened.error().with_file(path_).with_field(name).with_stage("open"));
    return opened;
  }

 private:
  /// Open the array of an image, or that array itself, whose voxels have this size.
  Result<std::shared_ptr<ArrayReader>> open_level(const SizedName& sized, const std::string& name) const {
    std::vector<const ArrayInfo*> levels;
    for (const ArrayInfo& info : arrays_) {
      const auto image = std::ranges::find(found_.images, sized.path, &Image::path);
      const bool of_image = image != found_.images.end() &&
                            std::ranges::find(image->levels, info.path, &ImageLevel::path) != image->levels.end();
      if (info.voxel && (of_image || info.path == sized.path)) levels.push_back(&info);
    }
    const auto level =
        std::ranges::find_if(levels, [&](const ArrayInfo* i) { return has_size(*i->voxel, sized.size); });
    if (level != levels.end()) return open_array((*level)->path);
    if (levels.empty()) return missing(name);
    std::vector<std::string> sizes;
    for (const ArrayInfo* info : levels) sizes.push_back(fmt::format("{} ({})", info->path, info->voxel->text()));
    return Error(ErrorCode::kFieldMissing, fmt::format("no voxels of '{}' have this size", name))
        .with_file(path_)
        .with_field(name)
        .with_hint("There are: " + list_names(sizes) + ".");
  }

  Result<std::shared_ptr<ArrayReader>> open(const FoundArray& found, const ArrayInfo& info) const {
    if (!found.metadata.ok()) return found.metadata.error();
    HEADRACE_ASSIGN(CodecChain chain, chain_of(*found.metadata));
    HEADRACE_TRY(check_separator(found.directory, found.metadata->keys, found.metadata->shape.size()));
    return std::shared_ptr<ArrayReader>(std::make_shared<ZarrArray>(ArrayPlace{path_, found.directory, found.file},
                                                                    *found.metadata, info, std::move(chain)));
  }

  void list(FoundArray& array) {
    if (array.metadata.ok() && array.metadata->shape.empty()) {
      constexpr std::size_t kMost = 100;
      if (passed_over_.size() < kMost) passed_over_.push_back({array.path, "a scalar, which has no rows"});
      return;
    }
    ArrayInfo info;
    Result<CodecChain> chain = array.metadata.ok() ? chain_of(*array.metadata) : array.metadata.error();
    if (chain.ok()) {
      info = describe(array.path, *array.metadata, *chain);
      info.attributes = attributes_of(array.metadata->attributes);
    } else {
      if (array.metadata.ok()) array.metadata = chain.error();
      info.path = array.path;
      info.shape = {0};
      info.read_path = ReadPath::kUnsupported;
      info.reason = chain.error().message();
      info.no_numbers = chain.error().stage() == kTypeStage;
    }
    arrays_.push_back(std::move(info));
  }

  [[nodiscard]] Error missing(const std::string& name) const {
    std::vector<std::string> names;
    for (const ArrayInfo& info : arrays_) names.push_back(info.path);
    Error error(ErrorCode::kFieldMissing, fmt::format("the store has no array '{}'", name));
    if (!names.empty()) error.with_hint("It has: " + list_names(nearest_names(name, names)) + ".");
    return std::move(error.with_file(path_).with_field(name));
  }

  const std::string path_;
  FoundStore found_;
  const Attributes attributes_;
  std::vector<ArrayInfo> arrays_;
  std::vector<LeftOut> passed_over_;
};

}  // namespace

Result<std::shared_ptr<FormatReader>> open_store(const std::string& directory) {
  auto found = walk_store(directory);
  if (!found.ok()) return std::move(found.error().with_file(directory).with_stage("open"));
  return std::shared_ptr<FormatReader>(std::make_shared<ZarrReader>(directory, std::move(*found)));
}

}  // namespace headrace::zarr
