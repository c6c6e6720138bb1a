// One zstd decompression context a thread, shared by the filters that hold zstd streams.
#pragma once

#include <zstd.h>

#include <memory>

namespace headrace {

/// Return the thread's context; nullptr only if there is no memory for it.
inline ZSTD_DCtx* thread_zstd_context() {
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  thread_local const std::unique_ptr<ZSTD_DCtx, Free> context(ZSTD_createDCtx());
  return context.get();
}

}  // namespace headrace
