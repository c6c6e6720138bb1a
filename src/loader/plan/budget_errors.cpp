#include "loader/plan/budget_errors.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

namespace headrace {

Error too_small_a_budget(const std::string& first_path, std::uint64_t budget_bytes, const LeastMemory& least,
                         std::uint64_t smallest_bytes, std::string_view needs_less) {
  const std::string staging = least.staging_bytes == 0 ? ""
                                                       : fmt::format(", staging on the way to the device ({})",
                                                                     format_bytes(least.staging_bytes));
  Error error(ErrorCode::kOutOfBudget,
              fmt::format("a budget of {} cannot hold two batches ({} each), the largest block of one thread ({}){} "
                          "and the order of the samples ({})",
                          format_bytes(budget_bytes), format_bytes(least.batch_bytes), format_bytes(least.thread_bytes),
                          staging, format_bytes(least.order_bytes)));
  error.with_file(first_path)
      .with_needed_bytes(smallest_bytes)
      .with_hint(fmt::format("The smallest budget is memory={} (just over {}); {} needs less.", smallest_bytes,
                             format_bytes(smallest_bytes), needs_less));
  return error;
}

Error no_room_for_all_rows(const std::string& first_path, std::uint64_t budget_bytes, std::uint64_t rows_bytes,
                           std::uint64_t beside_bytes) {
  const std::uint64_t needed = beside_bytes + rows_bytes;
  return Error(ErrorCode::kOutOfBudget,
               fmt::format("cache='ram' needs {} for the decoded data and {} to work with; the budget is {}",
                           format_bytes(rows_bytes), format_bytes(beside_bytes), format_bytes(budget_bytes)))
      .with_file(first_path)
      .with_needed_bytes(needed)
      .with_hint(
          fmt::format("Give memory={} ({}), or use cache='auto', which keeps what fits, re-encoded if that pays, "
                      "or cache='DIRECTORY' on a local disk.",
                      needed, format_bytes(needed)));
}

}  // namespace headrace
