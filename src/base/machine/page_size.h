// The unit in which the system gives memory: 4 KiB on x86-64; 4, 16 or 64 KiB on ARM, as the kernel was built.
#pragma once

#include <unistd.h>

#include <cstdint>

namespace headrace {

/// Return the size of a page of memory. Threads: any.
inline std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace headrace
