// open_volumes(): files as volumes of arrays that have one shape.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <headrace/base/bytes.h>

#include <algorithm>
#include <filesystem>

#include "catalog/cell_grid.h"
#include "dataset/companion_files.h"
#include "dataset/open_source_file.h"
#include "dataset/paths.h"
#include "dataset/refuse.h"
#include "dataset/volumes_contents.h"

namespace headrace {
namespace {

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

/// Every array must be of numbers, not of records.
Status check_elements(const SourceFile& file, const FieldPlan& plan) {
  for (std::size_t c = 0; c < plan.columns.size(); ++c) {
    const ArrayInfo& info = file.arrays[plan.places[c].array]->info();
    const auto refused = [&](std::string why, std::string hint) {
      return std::move(Error(ErrorCode::kUnsupported, std::move(why))
                           .with_file(file.path)
                           .with_field(info.path)
                           .with_hint(std::move(hint)));
    };
    if (info.is_record || info.columns.size() != 1)
      return refused("volumes of records are not there yet", "Name arrays of numbers.");
    if (plan.columns[c].dtype.kind == DType::Kind::kBytes)
      return refused("volumes of text are not there yet", "Name arrays of numbers.");
    if (info.shape.size() > kMostAxes)
      return refused(fmt::format("a volume of {} axes; {} are the most", info.shape.size(), kMostAxes), "");
    if (info.columns[0].dtype == plan.columns[c].dtype) continue;
    return std::move(
        Error(ErrorCode::kInvalidArgument, fmt::format("the array is {} here, but {} in the first file",
                                                       info.columns[0].dtype.name(), plan.columns[c].dtype.name()))
            .with_file(file.path)
            .with_field(info.path)
            .with_hint("Volumes that are opened together must agree; open those that differ apart."));
  }
  return {};
}

/// All arrays of a volume must have one shape, of as many axes as the first volume's.
Status check_shapes(const SourceFile& file, std::size_t rank, const std::string& first_path) {
  const std::vector<std::uint64_t>& shape = file.arrays[0]->info().shape;
  for (const auto& array : file.arrays) {
    if (array->info().shape == shape) continue;
    std::string list;
    for (const auto& one : file.arrays)
      list += fmt::format("\n  {}: {}", one->info().path, shape_text(one->info().shape));
    return std::move(Error(ErrorCode::kInvalidArgument, "the arrays of the volume differ in shape:" + list)
                         .with_file(file.path)
                         .with_hint("\nArrays of a volume lie over each other, voxel by voxel: name those that do."));
  }
  if (shape.size() == rank) return {};
  return std::move(Error(ErrorCode::kInvalidArgument, fmt::format("a volume of {} axes, {}; that of {} has {}",
                                                                  shape.size(), shape_text(shape), first_path, rank))
                       .with_file(file.path)
                       .with_hint("Open volumes of different axes apart."));
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
  for (std::size_t i = 0; i < files.size(); ++i) {
    HEADRACE_ASSIGN(SourceFile file, open_unchecked(lists, i, plan));
    HEADRACE_TRY(check_elements(file, plan));
    HEADRACE_TRY(check_shapes(
        file,
        source->files.empty() ? file.arrays[0]->info().shape.size() : source->files[0].arrays[0]->info().shape.size(),
        files[0]));
    file.rows = file.arrays[0]->info().rows();
    made->shapes.push_back(file.arrays[0]->info().shape);
    source->files.push_back(std::move(file));
    if (options.progress && !options.progress(i + 1, files.size()))
      return Error(ErrorCode::kCancelled, fmt::format("stopped after {} of {} files", i + 1, files.size()));
  }
  lists.save();
  for (StoredColumn& column : plan.columns) column.shape.clear();
  source->left_out = std::move(plan.left_out);
  source->places = std::move(plan.places);
  source->set_columns(std::move(plan.columns));
  const auto absolute = [](const std::string& path) { return std::filesystem::absolute(path).string(); };
  for (const std::string& path : files) made->files.paths.push_back(absolute(path));
  for (const StoredColumn& column : *source->columns) made->files.options.fields.push_back({column.name, column.path});
  made->files.options.companion_files = companion_files_of(*source);
  for (auto& [text, beside] : made->files.options.companion_files)
    std::ranges::transform(beside, beside.begin(), absolute);
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
  for (const Source::Place place : source.places) {
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
  }
  return text;
}

Volumes open_volumes(const std::vector<std::string>& paths, const OpenOptions& options) {
  if (options.sample_by || !options.targets.empty() || options.sample_axes != 1 || !options.broadcast.empty())
    throw refuse("volumes have no rows: sample_by, targets, sample_axes and broadcast say nothing of them",
                 "Leave them out.");
  return Volumes(open_them(paths, options).value());
}

}  // namespace headrace
