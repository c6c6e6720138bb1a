#include "loader/report/to_device.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>
#include <utility>

#include "loader/report/verdict.h"

namespace headrace {
namespace {

// A copy that reaches this share of the tried rate is as fast as it will be.
constexpr double kNearTried = 0.8;

double rate(const Report::ToDevice& copies) {
  return copies.copy_seconds > 0 ? static_cast<double>(copies.bytes) / copies.copy_seconds : 0;
}

std::string gigabytes(double bytes_per_second) {
  return fmt::format("{:.1f} GB/s", bytes_per_second * 1e-9);
}

double waited_share(const Report::ToDevice& copies) {
  return copies.step_seconds > 0 ? copies.step_wait_seconds / copies.step_seconds : 0;
}

/// Time that copies took, as far as it is known.
double copying_seconds(const Report::ToDevice& copies) {
  return std::max(copies.copy_seconds, copies.buffer_wait_seconds);
}

/// Name what the thread that copies spent its time with, and what would help.
std::pair<std::string, std::string> limit_of(const Report::ToDevice& copies) {
  if (copying_seconds(copies) >= copies.stage_seconds) {
    const bool as_tried =
        copies.pinned_bytes_per_second > 0 && rate(copies) > kNearTried * copies.pinned_bytes_per_second;
    return {fmt::format("the copies to {} ({}{})", copies.name, gigabytes(rate(copies)),
                        as_tried ? ", the most that it takes" : ""),
            "send fewer bytes: keep the type in which the data is stored (uint8, int16, float16) and widen it on the "
            "device; ragged instead of padded"};
  }
  return {"copying batches into page-locked memory",
          "send fewer bytes, or give the program more processors: one thread copies each batch"};
}

}  // namespace

std::string to_device_text(const Report::ToDevice& copies) {
  std::string text = copies.name + ":";
  if (rate(copies) > 0) text += " " + gigabytes(rate(copies));
  if (copies.pinned_bytes_per_second > 0)
    text += fmt::format(" of {:.1f} pinned ({:.1f} pageable)", copies.pinned_bytes_per_second * 1e-9,
                        copies.pageable_bytes_per_second * 1e-9);
  if (rate(copies) <= 0) text += " " + format_bytes(copies.bytes);
  text += fmt::format("; the step waited {:.1f} % ({})", 100 * waited_share(copies),
                      copies.by_events ? "by events" : "by the host's clock");
  if (copies.buffers > 0) text += fmt::format("; pinned {} x {}", copies.buffers, format_bytes(copies.buffer_bytes));
  if (copies.larger_batches > 0) text += fmt::format(", {} batches were larger", copies.larger_batches);
  return text;
}

void Report::add_to_device(ToDevice copies) {
  const ToDevice& c = to_device.emplace(std::move(copies));
  if (c.batches == 0 || c.step_seconds <= 0) return;
  const double share = waited_share(c);
  if (share < kFineShare) {
    verdict = fmt::format("loading is not your limit: the step waited {:.1f} % of the time for its batch", 100 * share);
    advice.clear();
    return;
  }
  const std::string how_far = share < kModerateShare ? "partly " : "";
  // The busiest part of the way is the limit; the copies of two batches run beside the rest.
  if (c.batch_wait_seconds >= std::max(copying_seconds(c), c.stage_seconds)) {
    verdict = fmt::format("the step waited {:.0f} % of the time for its batch: {}", 100 * share, verdict);
    return;
  }
  const auto [limit, remedy] = limit_of(c);
  verdict = fmt::format("loading is {}your limit: the step waited {:.0f} % of the time, mostly for {}", how_far,
                        100 * share, limit);
  advice.assign(1, remedy);
}

}  // namespace headrace
