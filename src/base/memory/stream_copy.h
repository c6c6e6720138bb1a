// Copies that go past the caches.
#pragma once

#include <cstddef>

namespace headrace {

/// Copies of at least this many bytes go past the caches with streaming stores: a batch slot is written once and read
/// much later, while the decoded block it comes from should stay cached. Measured on padded jets (docs/decisions):
/// 0.87-0.92 of decoding alone against 0.81 with plain stores.
inline constexpr std::size_t kStreamingBytes = 256;

/// Copy with streaming stores where that pays; any alignment. Call finish_streaming() before telling another thread.
void copy_run(std::byte* to, const std::byte* from, std::size_t bytes);

/// Order all streaming stores of this thread before its later stores.
void finish_streaming();

}  // namespace headrace
