// JetClass-like HDF5 files, made and compressed by many threads and written by one.
#pragma once

#include "base/result.h"
#include "demo/jet_options.h"

namespace headrace::demo {

/// Write `out_dir`/train_00.h5 … with `feature_matrix` (N, 128, 16) f4, `adjacency_matrix` (N, 8128) f4 and `labels`
/// (N,) i8. Equal options give equal bytes for any number of threads. Files that this wrote before are reused when the
/// options are equal and replaced when they are not; other files are never overwritten.
/// Blocks until done. Threads: libhdf5 is used by the calling thread only.
/// Errors: kInvalidArgument, kPermission, kNotFound, kWriteFailed (located), kCancelled; nothing half-written stays.
Result<WriteSummary> write_jets(const JetOptions& options);

}  // namespace headrace::demo
