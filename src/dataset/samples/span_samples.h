// Spans as samples: what spans() and files with a group for each sample end in.
#pragma once

#include <headrace/dataset.h>

#include <memory>
#include <optional>

#include "assembly/source.h"
#include "dataset/recipe/data_tree.h"
#include "dataset/samples/span_list.h"

namespace headrace {

/// Return a data set whose samples are the named runs of `list`. \param rows  Stored rows, all of them. \param targets
/// Fields that follow: a row for each sample (of as many files as the list has, each has those of one), or for each
/// row. \param node  How it was made; null: in memory. Throws kInvalidArgument: targets of another length, or of names
/// that the rows have; kUnsupported: targets that are not stored so.
std::shared_ptr<Dataset::Impl> make_span_samples(std::shared_ptr<const Source> rows, SpanList list,
                                                 const std::optional<Dataset>& targets, DataTree node);

}  // namespace headrace
