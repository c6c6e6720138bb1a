// Samples that are cells of several axes: an array (recordings, long, short, mels, frames) as rows of (mels, frames).
//
// Row number: [i][j][k] is row (i * L + j) * S + k, as reshape() has it. Arrays without chunks are read row by row as
// before. A chunk that cuts the merged axes has some rows of every recording that it touches: it is one piece all the
// same, decoded once, and runs() says which rows it has. What decodes together ("chunk rows") are the rows of all
// chunks that lie at the same place of the outermost axis along which chunks are longer than 1.
#pragma once

#include <cstddef>
#include <memory>

#include "base/result.h"
#include "format/format_reader.h"

namespace headrace {

/// Return `array` with its first `axes` axes as one. The array itself where `axes` is 1.
/// Errors: kInvalidArgument  it has fewer axes; kUnsupported  it would have more than 2^64 rows.
Result<std::shared_ptr<ArrayReader>> flatten(std::shared_ptr<ArrayReader> array, std::size_t axes);

}  // namespace headrace
