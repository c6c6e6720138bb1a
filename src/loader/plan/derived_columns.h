// Columns of a batch that are made from the plan, not read: where its samples came from, and which of them are padding.
#pragma once

#include <headrace/field.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "assembly/source.h"
#include "delivery/batch_memory.h"
#include "loader/plan/engine_plan.h"

namespace headrace {

/// Return the fields of a batch: the data's, then "mask" and "lengths", "NAME.valid", "_rows" (of boxes "_volume" and
/// "_start"), "_weight", "_group" and "_group.offsets" where the plan has them.
std::shared_ptr<const std::vector<Field>> batch_fields(const SampleSource& source, const EnginePlan& plan);

/// Where a sample begins: a file, and a row of it as stored.
struct SampleOrigin {
  std::uint32_t file;
  std::uint64_t row;
};

/// \param sample  A stored row of a block; of mapped samples, one of a shuffle block. Of those that are no run of rows
/// the origin is file 0 and the sample's number.
SampleOrigin origin_of(const EnginePlan& plan, SampleRef sample);

/// Return the most bytes that "_rows", "_volume", "_start", "_weight", "_group" and its offsets take in a batch of so
/// many samples.
std::uint64_t derived_bytes(const EnginePlan& plan, std::uint64_t samples);

/// Return the memory of the derived columns, in the order of batch_fields().
/// \param samples  As origin_of() takes them; needed where the plan delivers "_rows". \param rows  Of the batch.
/// \param step  What the batch is of the epoch.
std::vector<DerivedColumn> derived_columns(const EnginePlan& plan, std::span<const SampleRef> samples,
                                           std::uint64_t rows, const Step& step, std::uint64_t epoch);

}  // namespace headrace
