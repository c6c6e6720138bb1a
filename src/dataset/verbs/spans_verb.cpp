// What spans() takes, as run files and recipes have it.
#include <headrace/spans.h>

#include <utility>

#include "dataset/recipe/field_forms.h"
#include "dataset/recipe/refuse.h"
#include "dataset/recipe/verb_options.h"
#include "dataset/verbs/registry.h"

namespace headrace {
namespace {

Status check_spans(SpansNode& node, const ReadContext&) {
  if (!!node.key + !!node.offsets + !!node.meta + !node.offset_list.empty() == 1) return {};
  return refuse("one of key, offsets, offset_list and meta is expected",
                "To make spans of a field of the same files, give sample_by beside files.");
}

}  // namespace

const Spec& spec_of(const SpansNode*) {
  using S = SpansNode;
  static const Spec spec =
      Spec::of<S>("spans", "Samples are runs of consecutive rows of any length, by other data sets.",
                  {member<&S::key>("key", "Data set of one field, whose equal values are a sample."),
                   member<&S::key_column>("key_column", "Which value of a row of the key it is."),
                   member<&S::offsets>("offsets", "Data set of the rows where samples begin, and the last end."),
                   member<&S::offset_list, Ascending>("offset_list", "The same as a list of rows through all files."),
                   member<&S::meta>("meta", "Data set of the first and the last row of each sample, and its file."),
                   member<&S::meta_has_last>("meta_has_last", "The second field of meta is the last row itself."),
                   member<&S::file_template>("file_template", "Name of a file, with {…} for the third field of meta."),
                   member<&S::targets>("targets", "Data set with a row for each sample.")})
          .rule(&check_spans);
  return spec;
}

const Verb& spans_verb() {
  static const Verb verb = Verb::of<SpansNode>(
      Verb::Of::kDataset, Verb::Of::kDataset, "span",
      [](const SpansNode& node, const Opened& below, const Opening& opening) -> Opened {
        SpanOptions options;
        for (const auto& [tree, to] : std::initializer_list<std::pair<const DataTree*, std::optional<Dataset>*>>{
                 {&node.key, &options.key},
                 {&node.offsets, &options.offsets},
                 {&node.meta, &options.meta},
                 {&node.targets, &options.targets}})
          if (*tree) *to = resolve(**tree, opening);
        options.key_column = node.key_column;
        options.offset_list = node.offset_list;
        options.meta_has_last = node.meta_has_last;
        options.file_template = node.file_template;
        return spans(dataset_of(below), options);
      },
      [](const SpansNode& node, const DataNode&) {
        return std::string(node.key ? "spans by a key" : node.meta ? "spans by a table" : "spans by offsets");
      });
  return verb;
}

}  // namespace headrace
