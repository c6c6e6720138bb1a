// Rows of memory into an array's chunks: encoded by many threads, written in order.
#pragma once

#include <cstdint>
#include <span>

#include "tools/rewrite/rewrite_plan.h"

namespace headrace {

/// Write `rows` rows from `first_row` on, which begin a chunk and end one, or the array. \param bytes  As decoded; the
/// byte order is put back in place. Errors: kWriteFailed, kOutOfBudget.
Status write_chunks(hdf5::RewrittenFile& file, std::size_t index, const RewriteArray& array, std::uint64_t first_row,
                    std::uint64_t rows, std::span<std::byte> bytes, std::uint32_t threads);

}  // namespace headrace
