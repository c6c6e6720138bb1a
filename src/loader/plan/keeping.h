// What a loader keeps of decoded blocks between epochs, made as its plan says.
#pragma once

#include <memory>
#include <string>

#include "assembly/kept/decoded_cache.h"
#include "assembly/sample_source.h"
#include "base/memory/memory_budget.h"
#include "cache/directory/cache_directory.h"
#include "dataset/dataset_contents.h"
#include "loader/plan/engine_plan.h"

namespace headrace {

/// Caches in a directory, one for each group of columns that decode together.
struct CompleteCache {
  std::shared_ptr<RowStores> rows;  ///< Null: not all are there, and whole.
  std::vector<std::string> notes;   ///< As CacheOpened has them.
};

/// Make the cache of a plan. Memory is charged to `budget`. \param whole  The cache of these rows, where it is whole
/// already; else it has none. \param identity  Of the data: equal for loaders that may share what they keep. What
/// cannot be had (a directory that cannot be written, a disk that is full) is a notice, not an error: loading goes on
/// without. Errors: kOutOfBudget.
Result<std::shared_ptr<DecodedCache>> make_decoded_cache(const SampleSource& source, const EnginePlan& plan,
                                                         const CacheChoice& choice, const std::string& identity,
                                                         const CompleteCache& whole,
                                                         const std::shared_ptr<MemoryBudget>& budget,
                                                         const std::shared_ptr<Notices>& notices);

/// Find the whole cache of these rows in the directory. Makes and writes nothing.
CompleteCache find_cache(const Dataset::Impl& dataset, const CacheChoice& choice, const std::string& identity);
/// Return true if what would be written there is memory (a tmpfs). The folder need not be there yet.
bool lies_in_memory(const std::string& directory);

}  // namespace headrace
