// The part of a plan that divides the budget: threads' scratch, the window, what is kept.
#pragma once

#include "loader/plan/engine_plan.h"

namespace headrace {

constexpr std::uint64_t kResidentShare = 8;     // side fields may take an eighth of the budget
constexpr std::uint64_t kReadAheadBatches = 8;  // ready batches that smooth an uneven consumer
constexpr double kCodedSlack = 1.12;            // blocks do not all encode like those that were tried
constexpr const char* kFewerThreads = "fewer than asked for: each thread needs scratch memory";
constexpr std::uint64_t kLeastSlots = 2;  // one being filled, one with the consumer

/// Plan all else within plan.budget_bytes, after the order. Errors: kOutOfBudget with the
/// smallest budget that would do; kInvalidArgument.
Status plan_memory(const SampleSource& source, const LoaderOptions& options, const PlanContext& context,
                   EnginePlan& plan);

/// Return the bytes of the buffers on the way to a device. Page-locked memory comes from torch, which rounds up to a
/// power of two. \param batch_bytes  That a buffer holds; more is needed where fields begin.
std::uint64_t staging_bytes(const LoaderOptions& options, std::uint64_t batch_bytes);

/// What the smallest plan consists of.
struct LeastMemory {
  std::uint64_t batch_bytes, thread_bytes, order_bytes, staging_bytes;
};
/// Return the error of a budget that cannot hold it. \param smallest_bytes  That would do. \param needs_less  What
/// to give in place of more memory.
Error too_small_a_budget(const std::string& first_path, std::uint64_t budget_bytes, const LeastMemory& least,
                         std::uint64_t smallest_bytes, std::string_view needs_less = "a smaller batch_size");

/// Return the error of a budget that cannot hold all rows decoded. \param beside_bytes  Needed to work with.
Error no_room_for_all_rows(const std::string& first_path, std::uint64_t budget_bytes, std::uint64_t rows_bytes,
                           std::uint64_t beside_bytes);

}  // namespace headrace
