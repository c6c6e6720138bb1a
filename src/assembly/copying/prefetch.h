// How far ahead of a copy the rows of a block are asked for from memory.
#pragma once

#include <cstddef>

#include "base/memory/align.h"

namespace headrace {

inline constexpr std::size_t kRowsAhead = 16;  // that are on their way from memory while one is worked on
inline constexpr std::size_t kLinesAhead = 4;  // of a row: the processor itself goes on from there

}  // namespace headrace
