// What a loader keeps of decoded blocks between epochs, made as its plan says.
#pragma once

#include <memory>
#include <string>

#include "assembly/block_keeper.h"
#include "assembly/source.h"
#include "base/memory_budget.h"
#include "loader/engine_plan.h"

namespace headrace {

/// Memory is charged to `budget`. \param identity  Of the data: equal for loaders that may share what they keep. What
/// cannot be had (a directory that cannot be written, a disk that is full) is a note, not an error: loading goes on
/// without. Errors: kOutOfBudget.
Result<std::shared_ptr<BlockKeeper>> make_keeper(const Source& source, const EnginePlan& plan,
                                                 const CacheChoice& choice, const std::string& identity,
                                                 const std::shared_ptr<MemoryBudget>& budget);

/// Is there a whole cache of these rows in the directory, which the page cache can hold? Makes and writes nothing.
bool has_ready_cache(const Source& source, const EnginePlan& plan, const CacheChoice& choice,
                     const std::string& identity);

/// The rows of the plan's blocks, as a store has them.
RowLayout row_layout(const Source& source, const BlockTable& blocks);

}  // namespace headrace
