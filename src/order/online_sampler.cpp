#include "order/online_sampler.h"

#include <fmt/format.h>

#include "order/direct_cursor.h"
#include "order/random_access_sampler.h"

namespace headrace {
namespace {

struct FedRow {
  const OnlineRows* rows;
  std::uint64_t operator()(std::uint64_t position) const { return rows->row(position); }
};

class OnlineSampler final : public RandomAccessSampler {
 public:
  OnlineSampler(std::shared_ptr<const BlockTable> blocks, std::shared_ptr<const OnlineRows> rows,
                std::uint64_t num_samples)
      : RandomAccessSampler(std::move(blocks), num_samples, "fed"), rows_(std::move(rows)) {}
  [[nodiscard]] std::string describe() const override {
    return fmt::format("{} rows, given during the epoch", num_samples_);
  }
  [[nodiscard]] std::uint64_t span_steps(std::uint64_t, RankShare) const override { return 1; }
  [[nodiscard]] std::uint64_t memory_bytes(RankShare) const override {
    return num_samples_ * 2 * sizeof(std::uint64_t);  // a list that grows has up to twice its length
  }
  [[nodiscard]] bool is_settled(std::uint64_t epoch, std::uint64_t end) const override {
    return rows_->is_settled(epoch, end);
  }
  [[nodiscard]] std::unique_ptr<Cursor> cursor(const Walk& walk) const override {
    return std::make_unique<DirectCursor<FedRow>>(*blocks_, num_samples_, walk, FedRow{rows_.get()});
  }

 private:
  std::shared_ptr<const OnlineRows> rows_;
};

}  // namespace

void OnlineRows::begin(std::uint64_t epoch, std::uint64_t position) {
  const std::lock_guard lock(mutex_);
  epoch_ = epoch;
  first_ = position;
  begun_ = true;
  rows_.clear();
}
void OnlineRows::end() {
  const std::lock_guard lock(mutex_);
  begun_ = false;
  rows_.clear();
}
void OnlineRows::append(std::span<const std::uint64_t> rows) {
  const std::lock_guard lock(mutex_);
  rows_.insert(rows_.end(), rows.begin(), rows.end());
}
bool OnlineRows::is_settled(std::uint64_t epoch, std::uint64_t end) const {
  const std::lock_guard lock(mutex_);
  return begun_ && epoch == epoch_ && end <= first_ + rows_.size();
}
std::uint64_t OnlineRows::row(std::uint64_t position) const {
  const std::lock_guard lock(mutex_);
  return begun_ && position >= first_ && position - first_ < rows_.size() ? rows_[position - first_] : 0;
}

std::unique_ptr<Sampler> make_online(std::shared_ptr<const BlockTable> blocks, std::shared_ptr<const OnlineRows> rows,
                                     std::uint64_t num_samples) {
  return std::make_unique<OnlineSampler>(std::move(blocks), std::move(rows), num_samples);
}

}  // namespace headrace
