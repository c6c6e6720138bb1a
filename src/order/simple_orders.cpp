// Orders in which any position follows directly: file order, and a permutation of all rows.
#include <fmt/format.h>

#include <algorithm>

#include "base/keyed_permutation.h"
#include "order/sampler.h"

namespace headrace {
namespace {

/// Cursor over an order given as a function position → row of the data set.
template <class RowAt>
class DirectCursor final : public Cursor {
 public:
  DirectCursor(const BlockTable& blocks, std::uint64_t batch_rows, RowAt row_at)
      : blocks_(&blocks), batch_rows_(batch_rows), row_at_(std::move(row_at)) {}

  void next_batch(std::vector<SampleRef>& out) override {
    const std::uint64_t end = std::min(position_ + batch_rows_, blocks_->num_rows());
    for (; position_ < end; ++position_) {
      const BlockTable::RowPlace p = blocks_->find(row_at_(position_));
      out.push_back({static_cast<std::uint32_t>(p.block), p.row_in_block});
    }
  }
  void seek(std::uint64_t batch) override { position_ = std::min(batch * batch_rows_, blocks_->num_rows()); }

 private:
  const BlockTable* blocks_;
  std::uint64_t batch_rows_, position_ = 0;
  RowAt row_at_;
};

class Sequential final : public Sampler {
 public:
  Sequential(std::shared_ptr<const BlockTable> blocks, std::uint64_t batch_rows)
      : blocks_(std::move(blocks)), batch_rows_(batch_rows) {}
  [[nodiscard]] std::uint64_t num_samples() const override { return blocks_->num_rows(); }
  [[nodiscard]] std::uint64_t batch_rows() const override { return batch_rows_; }
  [[nodiscard]] std::string describe() const override { return "file order"; }
  [[nodiscard]] std::uint64_t span_batches() const override { return blocks_->max_block_rows() / batch_rows_ + 2; }
  [[nodiscard]] std::unique_ptr<Cursor> cursor(std::uint64_t) const override {
    auto same = [](std::uint64_t position) { return position; };
    return std::make_unique<DirectCursor<decltype(same)>>(*blocks_, batch_rows_, same);
  }

 private:
  std::shared_ptr<const BlockTable> blocks_;
  std::uint64_t batch_rows_;
};

class GlobalShuffle final : public Sampler {
 public:
  GlobalShuffle(std::shared_ptr<const BlockTable> blocks, std::uint64_t batch_rows, std::uint64_t seed)
      : blocks_(std::move(blocks)), batch_rows_(batch_rows), seed_(seed) {}
  [[nodiscard]] std::uint64_t num_samples() const override { return blocks_->num_rows(); }
  [[nodiscard]] std::uint64_t batch_rows() const override { return batch_rows_; }
  [[nodiscard]] std::string describe() const override { return "exact: one permutation of all rows"; }
  [[nodiscard]] std::uint64_t span_batches() const override { return num_samples() / batch_rows_ + 1; }
  [[nodiscard]] std::unique_ptr<Cursor> cursor(std::uint64_t epoch) const override {
    const KeyedPermutation permutation(std::max<std::uint64_t>(num_samples(), 1), RandomKey::of({seed_, epoch, 4}));
    auto permuted = [permutation](std::uint64_t position) { return permutation(position); };
    return std::make_unique<DirectCursor<decltype(permuted)>>(*blocks_, batch_rows_, permuted);
  }

 private:
  std::shared_ptr<const BlockTable> blocks_;
  std::uint64_t batch_rows_, seed_;
};

}  // namespace

std::unique_ptr<Sampler> make_sequential(std::shared_ptr<const BlockTable> blocks, std::uint64_t batch_rows) {
  return std::make_unique<Sequential>(std::move(blocks), batch_rows);
}

std::unique_ptr<Sampler> make_global_shuffle(std::shared_ptr<const BlockTable> blocks, std::uint64_t batch_rows,
                                             std::uint64_t seed) {
  return std::make_unique<GlobalShuffle>(std::move(blocks), batch_rows, seed);
}

}  // namespace headrace
