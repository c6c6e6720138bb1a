#include "assembly/ahead/reader_count.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headrace {
namespace {

constexpr double kNewest = 1.0 / 16;            // weight of the latest in a running mean
constexpr double kSlack = 2;                    // reads differ in length, and units in reads
constexpr double kLeastShare = 0.02;            // of a thread's time, that is worth reading ahead
constexpr std::uint32_t kFew = 4, kFirst = 32;  // readers at the least; at first, before their gain was seen
constexpr double kStarves = 0.05;               // share of the threads' time that they wait
constexpr double kGain = 1.05;                  // in reads a second, that a raise must bring,
constexpr double kSlower = 1.5;                 // unless a read takes no longer than before it
constexpr std::uint64_t kPeriodNs = 100'000'000, kContentNs = 5'000'000'000;

void add(double& mean, double latest) {
  mean += mean == 0 ? latest : kNewest * (latest - mean);
}

}  // namespace

ReaderCount::ReaderCount(std::uint32_t threads, std::uint32_t most, bool is_fixed)
    : threads_(threads), most_(std::min(most, kMost)), is_fixed_(is_fixed), wanted_(is_fixed ? most_ : 0) {}

void ReaderCount::expect_waits() {
  if (!is_fixed_ && wanted_ == 0 && wait_ns_ == 0) wanted_ = std::min(kFirst, most_);
}

void ReaderCount::served(std::uint64_t waited_ns, std::uint64_t worked_ns) {
  waited_ns_ += waited_ns;
  all_ns_ += waited_ns + worked_ns;
  add(work_ns_, static_cast<double>(std::max<std::uint64_t>(worked_ns, 1)));
  if (wanted_ == 0) add(wait_ns_, static_cast<double>(waited_ns));  // else what readers wait says it
}

void ReaderCount::fetched(std::uint64_t waited_ns) {
  has_fetched_ = true;
  add(wait_ns_, static_cast<double>(waited_ns));
}

std::uint32_t ReaderCount::needed() const {
  if (work_ns_ == 0 || wait_ns_ < kLeastShare * (wait_ns_ + work_ns_)) return 0;
  const double readers = std::ceil(kSlack * threads_ * wait_ns_ / work_ns_);
  return readers >= most_ ? most_ : std::min(std::max(static_cast<std::uint32_t>(readers), kFew), most_);
}

bool ReaderCount::update(std::uint64_t now_ns) {
  if (is_fixed_) return false;
  const std::uint32_t before = wanted_;
  if (wanted_ == 0) {
    wanted_ = std::min(needed(), kFirst);
    if (wanted_ == 0) return false;
  } else if (now_ns - begun_ns_ < kPeriodNs || !has_fetched_) {
    return false;
  } else {
    const double rate = static_cast<double>(reads_) * 1e9 / static_cast<double>(now_ns - begun_ns_);
    const double read_ns = reads_ > 0 ? static_cast<double>(read_ns_) / static_cast<double>(reads_) : 0;
    const bool starves = static_cast<double>(waited_ns_) > kStarves * static_cast<double>(all_ns_);
    const std::uint32_t target = needed();
    if (std::exchange(raised_, false) && rate < kGain * rate_before_ && read_ns > kSlower * read_before_ns_) {
      wanted_ = before_raise_;
      no_raise_until_ns_ = now_ns + kContentNs;
    } else if (target < wanted_) {
      wanted_ = std::max(target, target == 0 ? 0 : wanted_ * 3 / 4);
    } else if (target > wanted_ && starves && now_ns >= no_raise_until_ns_) {
      before_raise_ = wanted_;
      rate_before_ = rate;
      read_before_ns_ = read_ns;
      raised_ = true;
      wanted_ = std::min(target, 2 * wanted_);
    }
  }
  begun_ns_ = now_ns;
  waited_ns_ = all_ns_ = reads_ = read_ns_ = 0;
  return wanted_ != before;
}

}  // namespace headrace
