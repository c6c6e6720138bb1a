// Whether a cache is of the rows that are wanted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cache/directory/building_cache.h"
#include "cache/directory/whole_cache.h"

namespace headrace {

/// Say why a cache is not of the rows that are wanted; nullopt: it is. Where a source was touched alone
/// (FileChange::kTouched), sample_of() it decides: `notes` gets a sentence, and the cache is told, so that the next run
/// does not compare again. Blocks: reads samples then.
std::optional<std::string> difference_of(WholeCache& cache, const CachePlan& plan, std::vector<std::string>& notes);

/// Return how a source of a cache differs from what it is now. Devices have other numbers on other hosts, and after a
/// restart: they are not compared.
FileChange change_of(const CacheSource& then, const FileFingerprint& now);
/// Return the same in words; nullopt: it does not.
std::optional<std::string> change_text(const CacheSource& then, const FileFingerprint& now);

}  // namespace headrace
