// Reading a new file again and comparing it with what was read from its sources.
#pragma once

#include "tools/rewrite/rewrite_plan.h"
#include "tools/rewrite/rewrite_record.h"
#include "tools/rewrite/row_scan.h"

namespace headrace {

/// Decode every row of the closed file at `plan.partial` as a Loader would, and compare types, shapes, and the sums of
/// its rows with the record's; then compare what libhdf5 copied. Errors: kCorruptData  they differ; kCancelled.
Status verify_rewritten(const RewriteFile& plan, const RewriteRecord& record, std::uint32_t threads,
                        const ScanTick& tick);

}  // namespace headrace
