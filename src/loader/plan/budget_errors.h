// The errors of a budget that is too small: each names the smallest that would do.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace headrace {

/// What the smallest plan consists of.
struct LeastMemory {
  std::uint64_t batch_bytes = 0, thread_bytes = 0, order_bytes = 0, staging_bytes = 0;
};
/// Return the error of a budget that cannot hold it. \param smallest_bytes  That would do. \param needs_less  What
/// to give in place of more memory.
Error too_small_a_budget(const std::string& first_path, std::uint64_t budget_bytes, const LeastMemory& least,
                         std::uint64_t smallest_bytes, std::string_view needs_less);

/// Return the error of a budget that cannot hold all rows decoded. \param beside_bytes  Needed to work with.
Error no_room_for_all_rows(const std::string& first_path, std::uint64_t budget_bytes, std::uint64_t rows_bytes,
                           std::uint64_t beside_bytes);

}  // namespace headrace
