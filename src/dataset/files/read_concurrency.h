// What reading rows at once may take of the process's memory, beside the rows themselves.
#pragma once

#include <cstdint>

#include "dataset/dataset_contents.h"

namespace headrace {

/// Return how many bytes one thread takes at most to read a block: a decoded chunk, its stored bytes, and the list of
/// the chunks that hold the block's rows.
std::uint64_t reading_bytes(const SampleSource& of, const BlockLayout& layout);

/// Return how many threads may read `rows` samples at once so that all stays within the process's memory.
/// \param row_bytes  Bytes of a sample in its slot, on average. Throws: Error kOutOfBudget if there is no room for one.
std::uint64_t reading_threads(const Dataset::Impl& data, std::uint64_t rows, std::uint64_t row_bytes);

}  // namespace headrace
