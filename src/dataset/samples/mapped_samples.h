// Windows, spans, lists and patches, made again: with fewer of them, of fewer fields, or of the files of several sets.
#pragma once

#include <memory>

#include "assembly/mapped_source.h"
#include "dataset/dataset_contents.h"

namespace headrace {

/// Return a data set of the samples that `maker` makes of `rows`. \param chosen  Which of them; null: all. \param node
/// How it was made; null: in memory. \param mixture  Null: one data set. \param program  Transforms of the samples, of
/// these rows; null: none. Throws what SampleMaker::make() throws.
std::shared_ptr<Dataset::Impl> make_samples(std::shared_ptr<const SampleMaker> maker,
                                            std::shared_ptr<const Source> rows, std::shared_ptr<const RowSet> chosen,
                                            DataTree node, std::shared_ptr<const SourceMixture> mixture = nullptr,
                                            std::shared_ptr<const Program> program = nullptr);

/// Return the samples' source, if they are mapped and can be made again. Null: they are rows. Throws kUnsupported,
/// which names `what`, where they cannot.
const MappedSource* remade(const Dataset::Impl& impl, std::string_view what);

/// Throws kInvalidArgument, which names `what`, where samples are drawn anew in each epoch: none of them has a number.
void refuse_drawn(const Dataset::Impl& impl, std::string_view what);

}  // namespace headrace
