#include "dataset/opening/open_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dataset/dataset_contents.h"
#include "dataset/files/open_several.h"
#include "dataset/files/paths.h"
#include "dataset/opening/common_attributes.h"
#include "dataset/opening/open_source_file.h"
#include "dataset/opening/sample_axes.h"
#include "dataset/recipe/refuse.h"
#include "dataset/recipe/verb_options.h"

namespace headrace {
namespace {

/// What opens the same files again from another folder. \param axes  Of each broadcast field; 0 for the others.
FilesNode files_node(const Dataset& data, const std::vector<std::uint32_t>& axes, const OpenOptions& options) {
  FilesNode node;
  for (const FileEntry& file : data.files()) node.paths.push_back(file.path);
  node.paths = absolute_paths(node.paths);
  node.options.sample_axes = options.sample_axes;
  node.options.nulls = options.nulls;
  for (std::size_t f = 0; f < data.fields().size(); ++f) {
    const Field& field = data.fields()[f];
    if (axes[f] == 0)
      node.options.fields.push_back({field.name, field.path});
    else
      node.options.broadcast.push_back({field.name, field.path, axes[f]});
  }
  node.options.patterns = std::ranges::none_of(node.options.fields, &has_star);
  node.options.companion_files = data.companion_files();
  for (auto& [text, paths] : node.options.companion_files) paths = absolute_paths(paths);
  return node;
}

/// Collects what is to be known of files while they are opened.
class NotesOfFiles {
 public:
  void add(const Attributes& attributes, const SourceFile& file) {
    of_files_.add(attributes, file.path);
    of_arrays_.resize(file.arrays.size());
    for (std::size_t a = 0; a < file.arrays.size(); ++a) {
      const ArrayInfo& info = file.arrays[a]->info();
      of_arrays_[a].first = info.path;
      of_arrays_[a].second.add(info.attributes, file.path);
      if (!info.notice.empty() && noticed_++ == 0) notice_ = fmt::format("{}: {}", file.path, info.notice);
    }
  }
  std::shared_ptr<const FileNotes> take() {
    FileNotes notes{of_files_.result(), {}};
    if (noticed_ > 1) notice_ += fmt::format(" (the first of {} such arrays)", noticed_);
    if (noticed_ > 0) notes.notices.push_back(std::move(notice_));
    for (const auto& [path, common] : of_arrays_)
      if (!common.warning().empty())
        notes.notices.push_back(fmt::format("{}: files differ in what its values mean: {}", path, common.warning()));
    return std::make_shared<const FileNotes>(std::move(notes));
  }

 private:
  CommonAttributes of_files_;
  std::vector<std::pair<std::string, CommonAttributes>> of_arrays_;
  std::string notice_;
  std::size_t noticed_ = 0;
};

}  // namespace

Result<FilePlan> plan_files(const std::vector<std::string>& files, const OpenOptions& options) {
  FilePlan plan{FileLists(files, options.companion_files, IndexStore::of_user()), {}};
  HEADRACE_ASSIGN(plan.fields, plan_fields(plan.lists, options));
  return plan;
}

Result<Dataset> open_rows(FilePlan plan, const OpenOptions& options) {
  auto source = std::make_shared<Source>();
  NotesOfFiles notes;
  const std::size_t files = plan.lists.num_files();
  HEADRACE_TRY(open_several<OpenedFile>(
      files, plan.lists.paths(0)[0], [&](std::size_t i) { return open_source_file(plan.lists, i, plan.fields); },
      [&](std::size_t i, OpenedFile opened) -> Status {
        notes.add(opened.attributes, opened.file);
        source->files.push_back(std::move(opened.file));
        if (options.progress && !options.progress(i + 1, files))
          return Error(ErrorCode::kCancelled, fmt::format("stopped after {} of {} files", i + 1, files));
        return {};
      }));
  plan.lists.save();
  const bool are_values = has_lists(plan.fields);
  const std::vector<std::uint32_t> axes = broadcast_axes(plan.fields);
  source->left_out = std::move(plan.fields.left_out);
  source->notes = notes.take();
  source->set_columns(std::move(plan.fields.columns));
  source->places = std::move(plan.fields.places);
  auto impl = Dataset::Impl::make(std::move(source));
  impl->node = node_of(files_node(Dataset(impl), axes, options));
  const std::string& first = plan.lists.paths(0)[0];
  if (impl->rows == 0 && !are_values)  // lists may all be empty
    return Error(ErrorCode::kInvalidArgument, files == 1 ? "the fields have 0 rows" : "no file has any rows")
        .with_file(first)
        .with_hint("Run: headrace inspect " + first);
  if (impl->blocks->num_blocks() >= (std::uint64_t{1} << 32))
    return Error(ErrorCode::kUnsupported, fmt::format("{} blocks are more than 2^32", impl->blocks->num_blocks()));
  return Dataset(impl);
}

Result<Dataset> open_beside(const std::vector<std::string>& paths, const OpenOptions& options, ListsRefused lists) {
  HEADRACE_ASSIGN(const std::vector<std::string> files, expand_paths(paths));
  HEADRACE_ASSIGN(FilePlan plan, plan_files(files, options));
  for (std::size_t c = 0; c < plan.fields.columns.size(); ++c)
    if (plan.fields.arrays[plan.fields.places[c].array].is_list)
      return refuse(fmt::format("'{}' {}", plan.fields.columns[c].name, lists.what), lists.hint)
          .with_file(files[0])
          .with_field(plan.fields.columns[c].name);
  return open_rows(std::move(plan), options);
}

}  // namespace headrace
