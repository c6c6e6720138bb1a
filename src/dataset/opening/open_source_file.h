// One file of a data set and those beside it, opened as the fields' plan says.
#pragma once

#include <cstddef>

#include "assembly/source.h"
#include "base/result.h"
#include "dataset/files/file_lists.h"
#include "dataset/opening/field_selection.h"

namespace headrace {

/// A file, and what the data set's own one says of itself.
struct OpenedFile {
  SourceFile file;
  Attributes attributes;
};

/// Open the arrays of `plan` in file number `file` of each list, and compare them with the fields of the first file.
/// Threads: any, one at a time for each file. Errors: those of opening; kInvalidArgument  arrays of several lengths, or
/// fields that are not those of the first file.
Result<OpenedFile> open_source_file(FileLists& lists, std::size_t file, const FieldPlan& plan);

/// Open the arrays of `plan` in file number `file` of each list, whatever their shapes are. Threads: as
/// open_source_file(). Errors: those of opening.
Result<OpenedFile> open_unchecked(FileLists& lists, std::size_t file, const FieldPlan& plan);

/// Open the arrays of `plan`, all of the data set's own files, in file number `file`, which is open as `reader`.
/// Nothing is learnt of them. Errors: as open_source_file().
Result<SourceFile> open_arrays(const FileLists& lists, const FormatReader& reader, std::size_t file,
                               const FieldPlan& plan);

}  // namespace headrace
