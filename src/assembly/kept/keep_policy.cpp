#include "assembly/kept/keep_policy.h"

#include <algorithm>

namespace headrace {
namespace {

constexpr double kDecodesSaved = 2;  // by a block that this epoch wants again: there are more epochs

void add(std::atomic<std::uint64_t>& to, std::uint64_t more) {
  to.fetch_add(more, std::memory_order_relaxed);
}

double ns_per_byte(std::uint64_t ns, std::uint64_t bytes) {
  return static_cast<double>(ns) / static_cast<double>(std::max<std::uint64_t>(bytes, 1));
}

}  // namespace

KeepPolicy::Totals KeepPolicy::totals() const {
  const auto get = [](const Count& count) { return count.load(std::memory_order_relaxed); };
  return {get(decode_ns_), get(decode_bytes_), get(keep_ns_),   get(keep_bytes_),
          get(owed_ns_),   get(hit_ns_),       get(hit_bytes_), get(saved_ns_)};
}

bool KeepPolicy::allows(Moment moment) const {
  if (moment.ahead || everything_.load(std::memory_order_relaxed)) return true;
  const Totals t = totals();
  if (moment.wanted_again &&
      ns_per_byte(t.keep_ns, t.keep_bytes) <= kDecodesSaved * ns_per_byte(t.decode_ns, t.decode_bytes))
    return true;
  if (moment.starting) return false;
  const auto work_ns = static_cast<double>(t.decode_ns + t.hit_ns);
  return t.owed_ns == 0 || static_cast<double>(t.owed_ns) <= share_ * work_ns + static_cast<double>(t.saved_ns);
}

void KeepPolicy::add_decode(Moment moment, std::uint64_t bytes, std::uint64_t work_ns, std::uint64_t keep_ns) {
  add(decode_ns_, work_ns);
  add(decode_bytes_, bytes);
  if (keep_ns == 0) return;
  add(keep_ns_, keep_ns);
  add(keep_bytes_, bytes);
  if (!moment.ahead) add(owed_ns_, keep_ns);
}

void KeepPolicy::add_hit(std::uint64_t bytes, std::uint64_t work_ns) {
  add(hit_ns_, work_ns);
  add(hit_bytes_, bytes);
  const Totals t = totals();
  const auto decode_ns =
      static_cast<std::uint64_t>(ns_per_byte(t.decode_ns, t.decode_bytes) * static_cast<double>(bytes));
  if (decode_ns > work_ns) add(saved_ns_, decode_ns - work_ns);
}

}  // namespace headrace
