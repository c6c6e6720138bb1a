// Whether a file that is one document is text, before any of it is written.
#pragma once

#include <optional>

#include "base/result.h"
#include "format/text/text_stream.h"

namespace headrace::corpora {

/// Read a text to its end. \return What is the matter with its first byte that is no UTF-8; nothing: it has none.
/// Errors: those of reading.
Result<std::optional<Error>> damage_of_text(text_files::TextStream& stream);

}  // namespace headrace::corpora
