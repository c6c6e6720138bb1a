// What open() takes, as run files and recipes have it.
#include <headrace/dataset.h>

#include <algorithm>
#include <utility>

#include "dataset/files/file_lists.h"
#include "dataset/recipe/field_forms.h"
#include "dataset/recipe/refuse.h"
#include "dataset/recipe/verb_options.h"
#include "dataset/recipe/words.h"
#include "dataset/verbs/registry.h"
#include "spec/path_forms.h"

namespace headrace {
namespace {

constexpr std::uint64_t kMostSampleAxes = 64;  // no array has more

/// Every path of an array that FILES may stand in.
void for_each_path(OpenOptions& options, const auto& take) {
  for (FieldChoice& field : options.fields) take(field.path);
  for (FieldChoice& field : options.targets) take(field.path);
  for (BroadcastChoice& field : options.broadcast) take(field.path);
  if (options.sample_by) take(options.sample_by->key), take(options.sample_by->offsets);
}

Status complete_files(FilesNode& files, const ReadContext& context) {
  if (!context.run_file.empty()) note_companions(files, context.run_file);
  return {};
}

/// Where FILES is one path or glob, the array's path has it.
void shorten_files(FilesNode& files) {
  auto& companions = files.options.companion_files;
  for_each_path(files.options, [&](std::string& path) {
    const auto divided = divide_path(path);
    const auto known = divided ? companions.find(divided->first) : companions.end();
    if (known != companions.end() && known->second.size() == 1)
      path = absolute_path(known->second[0]) + "::" + divided->second;
  });
  std::erase_if(companions, [](const auto& one) { return one.second.size() == 1; });
}

Status check_sample_by(SampleBy& by, const ReadContext&) {
  if (!by.key.empty() + !by.offsets.empty() + !by.offset_list.empty() + !by.meta.empty() != 1)
    return refuse("one of key, offsets, offset_list and meta is expected", "Such as sample_by: event_id.");
  if (by.meta.empty() && !(by.first + by.last + by.end + by.file + by.file_template).empty())
    return refuse("first, last, end, file and file_template are fields of a table, and there is no meta",
                  "Give meta, the table's path.");
  return {};
}

}  // namespace

void note_companions(FilesNode& files, const std::string& run_file, const std::set<std::string>* known) {
  auto& companions = files.options.companion_files;
  for_each_path(files.options, [&](const std::string& path) {
    const auto divided = divide_path(path);
    if (divided && !divided->first.empty() && (!known || known->contains(divided->first)))
      companions.try_emplace(divided->first, std::vector{beside(run_file, divided->first)});
  });
}

const Spec& spec_of(const SampleBy*) {
  static const Spec spec =
      Spec::of<SampleBy>(
          "sample_by", "What makes a sample, where it is not a row.",
          {member<&SampleBy::key>("key", "Path of a key, whose equal values stand together.").bare(),
           member<&SampleBy::column>("column", "Which value of a row of the key it is, where a row has several."),
           member<&SampleBy::offsets>("offsets", "Path of an array of the rows where samples begin, and the last end."),
           member<&SampleBy::offset_list, Ascending>("offset_list", "The same as a list of rows through all files."),
           member<&SampleBy::meta, AsPath>("meta", "Path of a table with a row for each sample."),
           member<&SampleBy::first>("first", "The table's field that has the first row of a sample."),
           member<&SampleBy::last>("last", "The table's field that has the last row of a sample."),
           member<&SampleBy::end>("end", "The table's field that has the row behind the last."),
           member<&SampleBy::file>("file", "The table's field that has the number of the sample's file."),
           member<&SampleBy::file_template>("file_template", "Name of a file, with {…} for that number.")})
          .rule(&check_sample_by);
  return spec;
}

const Spec& spec_of(const FilesNode*) {
  using N = FilesNode;
  using O = OpenOptions;
  static const Spec spec =
      Spec::of<N>(
          "files", "Files whose rows are samples.",
          {member<&N::paths, AsPaths>("files", "Paths and globs of the files.").required(),
           member_of<&N::options, &O::fields>("fields", "Which arrays make up a sample."),
           member_of<&N::options, &O::sample_axes>("sample_axes", "How many leading axes count samples.")
               .at_least(1)
               .at_most(kMostSampleAxes),
           member_of<&N::options, &O::nulls>("nulls", "What is done where a row of a Parquet column has no value."),
           member_of<&N::options, &O::broadcast>("broadcast", "Fields with one value for many samples of sample_axes."),
           member_of<&N::options, &O::sample_by>("sample_by", "What makes a sample where it is not a row."),
           member_of<&N::options, &O::targets>("targets", "Fields with one row for each sample."),
           member_of<&N::options, &O::companion_files, MapOf<AsPaths>>(
               "companion_files", "What FILES of a \"FILES::PATH\" stands for, where that is several files."),
           member_of<&N::options, &O::patterns>("patterns",
                                                "A * in the path of a field stands for the names of arrays.")})
          .rule(&complete_files)
          .before_writing(&shorten_files);
  return spec;
}

const Verb& files_verb() {
  static const Verb verb = Verb::of<FilesNode>(
      Verb::Of::kNothing, Verb::Of::kDataset, "row",
      [](const FilesNode& files, const Opened&, const Opening& opening) -> Opened {
        OpenOptions options = files.options;
        options.progress = opening.progress;
        return open(files.paths, std::move(options));
      },
      [](const FilesNode& files, const DataNode&) { return counted(files.paths.size(), "file"); });
  return verb;
}

}  // namespace headrace
