// open(): which files, what their samples are, and what opens them. None of those calls open().
#include <headrace/dataset.h>

#include <utility>

#include "dataset/files/paths.h"
#include "dataset/opening/list_samples.h"
#include "dataset/opening/numbered_arrays.h"
#include "dataset/opening/open_rows.h"
#include "dataset/opening/open_spans.h"
#include "dataset/recipe/refuse.h"

namespace headrace {

Dataset open(const std::vector<std::string>& paths, OpenOptions options) {
  const std::vector<std::string> files = expand_paths(paths).value();
  if (options.sample_by) return open_spans(files, options);
  if (has_numbered_arrays(options)) return open_numbered_arrays(files, options);
  if (!options.targets.empty())
    throw refuse("targets have a row for each sample of sample_by=, which is missing", "Name them among the fields.");
  FilePlan plan = plan_files(files, options).value();
  return has_lists(plan.fields) ? open_list_samples(files, options, plan.fields)
                                : open_rows(std::move(plan), options).value();
}

Dataset open(const std::string& path_or_glob, OpenOptions options) {
  return open(std::vector<std::string>{path_or_glob}, std::move(options));
}

}  // namespace headrace
