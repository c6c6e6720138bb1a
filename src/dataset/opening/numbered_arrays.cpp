#include "dataset/opening/numbered_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "dataset/dataset_contents.h"
#include "dataset/files/file_lists.h"
#include "dataset/files/open_several.h"
#include "dataset/files/paths.h"
#include "dataset/opening/field_selection.h"
#include "dataset/opening/open_source_file.h"
#include "dataset/opening/sample_parts.h"
#include "dataset/recipe/refuse.h"
#include "dataset/recipe/verb_options.h"
#include "dataset/samples/span_samples.h"

namespace headrace {
namespace {

/// A path with one "*", which stands for a name or a part of one.
struct PathPattern {
  std::string before, behind;
  [[nodiscard]] std::string with(const std::string& name) const { return before + name + behind; }
  /// Return what the "*" is in a path; nullopt: it does not match.
  [[nodiscard]] std::optional<std::string> name_in(const std::string& path) const {
    if (path.size() < before.size() + behind.size() || !path.starts_with(before) || !path.ends_with(behind))
      return std::nullopt;
    std::string name = path.substr(before.size(), path.size() - before.size() - behind.size());
    return name.find('/') == std::string::npos ? std::optional(std::move(name)) : std::nullopt;
  }
};

std::string path_of(const FieldChoice& field) {
  const std::string& path = field.path.empty() ? field.name : field.path;
  return path.substr(std::min(path.find_first_not_of('/'), path.size()));
}

std::vector<PathPattern> patterns_of(const OpenOptions& options) {
  std::vector<PathPattern> patterns;
  for (const FieldChoice& field : options.fields) {
    const std::string path = path_of(field);
    const std::size_t star = path.find('*');
    if (star == std::string::npos || path.find('*', star + 1) != std::string::npos)
      throw refuse(fmt::format("'{}' has {} '*' in it: where fields are arrays for each sample, each has one", path,
                               star == std::string::npos ? "no" : "more than one"),
                   "Such as fields={\"a\": \"data/demo_*/actions\", \"o\": \"data/demo_*/obs/state\"}.")
          .with_field(field.name);
    if (divide_path(path))
      throw Error(ErrorCode::kUnsupported, "arrays for each sample of files beside the own ones are not there yet")
          .with_field(field.name)
          .with_hint("Open those files as a data set of their own.");
    patterns.push_back({path.substr(0, star), path.substr(star + 1)});
  }
  if (options.sample_axes > 1 || !options.broadcast.empty())
    throw refuse("a '*' makes a sample of arrays; sample_axes= and broadcast= make samples of cells",
                 "Give one of them.");
  return patterns;
}

/// The names of a file's samples, in order. Throws where a sample has not all fields.
std::vector<std::string> names_in(const FormatReader& file, const std::vector<PathPattern>& patterns) {
  std::vector<std::set<std::string>> found(patterns.size());
  for (const ArrayInfo& array : file.arrays())
    for (std::size_t f = 0; f < patterns.size(); ++f)
      if (std::optional<std::string> name = patterns[f].name_in(array.path)) found[f].insert(std::move(*name));
  for (std::size_t f = 0; f < patterns.size(); ++f) {
    if (found[f].empty())
      throw Error(ErrorCode::kFieldMissing, fmt::format("no array is '{}'", patterns[f].with("*")))
          .with_file(file.path())
          .with_hint("Run: headrace inspect " + file.path());
    for (const auto& [has, lacks] : {std::pair<std::size_t, std::size_t>{0, f}, {f, 0}})
      for (const std::string& name : found[has])
        if (!found[lacks].contains(name))
          throw Error(ErrorCode::kFieldMissing,
                      fmt::format("there is '{}', and no '{}'", patterns[has].with(name), patterns[lacks].with(name)))
              .with_file(file.path())
              .with_hint("A sample has all fields: leave this field out, or open the files without such a sample.");
  }
  std::vector<std::string> names(found[0].begin(), found[0].end());
  std::ranges::sort(names, natural_less);
  return names;
}

FilesNode files_node(const std::vector<std::string>& files, const OpenOptions& options) {
  FilesNode node;
  node.paths = absolute_paths(files);
  node.options.fields = options.fields;
  for (FieldChoice target : options.targets) {
    if (const auto divided = divide_path(target.path))
      target.path = std::filesystem::absolute(divided->first).string() + "::" + divided->second;
    node.options.targets.push_back(std::move(target));
  }
  return node;
}

}  // namespace

bool has_numbered_arrays(const OpenOptions& options) {
  return options.patterns && std::ranges::any_of(options.fields, [](const FieldChoice& field) {
           return path_of(field).find('*') != std::string::npos && !divide_path(path_of(field));
         });
}

Dataset open_numbered_arrays(const std::vector<std::string>& files, const OpenOptions& options) {
  const std::vector<PathPattern> patterns = patterns_of(options);
  const std::optional<Dataset> targets = open_targets(files, options);
  FileLists lists(files, {}, IndexStore::of_user());
  OpenOptions of_first;
  FieldPlan plan;
  auto source = std::make_shared<Source>();
  SpanList list;
  std::vector<std::uint64_t> starts{0};
  std::string first_name;
  const auto rename = [&](std::string& path, const std::string& name) {
    const auto is_pattern = [&](const PathPattern& pattern) { return pattern.with(first_name) == path; };
    if (const auto at = std::ranges::find_if(patterns, is_pattern); at != patterns.end()) path = at->with(name);
  };
  first_name = names_in(*lists.open(0, 0).value(), patterns)[0];
  for (std::size_t f = 0; f < patterns.size(); ++f)
    of_first.fields.push_back({options.fields[f].name, patterns[f].with(first_name)});
  plan = plan_fields(lists, of_first).value();
  using Samples = std::vector<SourceFile>;
  const auto open = [&](std::size_t i) -> Result<Samples> {
    HEADRACE_ASSIGN(const std::shared_ptr<const FormatReader> reader, lists.open(0, i));
    Samples samples;
    std::vector<std::shared_ptr<ArrayReader>> opened;
    for (const std::string& name : names_in(*reader, patterns)) {
      FieldPlan own = plan;  // of these arrays
      for (FieldPlan::Array& array : own.arrays) rename(array.path, name);
      HEADRACE_ASSIGN(SourceFile file, open_arrays(lists, *reader, i, own));
      opened.insert(opened.end(), file.arrays.begin(), file.arrays.end());
      samples.push_back(std::move(file));
    }
    lists.learn(0, i, *reader, opened);
    return samples;
  };
  const auto take = [&](std::size_t i, Samples samples) -> Status {
    for (SourceFile& file : samples) {
      starts.push_back(starts.back() + file.rows);
      source->files.push_back(std::move(file));
    }
    list.file_ends.push_back(source->files.size());
    if (options.progress && !options.progress(i + 1, files.size()))
      return Error(ErrorCode::kCancelled, fmt::format("stopped after {} of {} files", i + 1, files.size()));
    return {};
  };
  if (Status done = open_several<Samples>(files.size(), files[0], open, take); !done.ok()) throw done.error();
  lists.save();
  for (StoredColumn& column : plan.columns) rename(column.path, "*");
  source->set_columns(std::move(plan.columns));
  source->places = std::move(plan.places);
  list.starts = std::make_shared<const std::vector<std::uint64_t>>(std::move(starts));
  list.is_array_each = list.are_rows = true;
  if (list.starts->back() == 0)
    throw refuse("the samples have no rows", "Run: headrace inspect " + files[0]).with_file(files[0]);
  return Dataset(make_span_samples(std::move(source), std::move(list), targets, node_of(files_node(files, options))));
}

}  // namespace headrace
