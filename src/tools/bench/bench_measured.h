// Measurements of Headrace itself in the schema of bench_report.h.
#pragma once

#include <headrace/tools.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tools/bench/bench_pass.h"
#include "tools/json.h"

namespace headrace {

/// Return schema, version, machine, data and page cache: what stands around the contestants. Looks into the page cache,
/// so call it before anything is read.
Json bench_frame_json(const Dataset& dataset);
/// Return a contestant that is this loader, without its rounds. `split`: "train" or "validation".
Json bench_contestant(const Loader& loader, const std::string& split);
/// Return one round: its first epoch, and the others put together if there are any and the first was complete.
Json bench_round(std::uint64_t round, const std::vector<BenchPass>& passes);

}  // namespace headrace
