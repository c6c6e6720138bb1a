// Orders in which any position follows directly: file order, and a permutation of all rows.
#include <algorithm>

#include "base/random/tabled_permutation.h"
#include "order/direct_cursor.h"
#include "order/key_use.h"
#include "order/sampler.h"

namespace headrace {
namespace {

struct SamePlace {
  std::uint64_t operator()(std::uint64_t position) const { return position; }
};

class SequentialCursor final : public DirectCursor<SamePlace> {
 public:
  SequentialCursor(const BlockTable& blocks, const Walk& walk) : DirectCursor(blocks, blocks.num_rows(), walk, {}) {}

  [[nodiscard]] std::uint64_t rows_in(std::uint32_t block) const override {
    const std::uint64_t total = blocks_.num_rows(), first = blocks_.first_row(block);
    const std::uint64_t begin = std::max(first, walk_.position), end = first + blocks_.block_rows(block);
    if (begin >= end) return 0;
    if (walk_.share.world_size == 1) return end - begin;
    std::uint64_t rows = 0;
    for (std::uint64_t step = (begin - walk_.position) / walk_.global_batch;; ++step) {
      const std::uint64_t from = walk_.begin_of(step, total), to = walk_.begin_of(step + 1, total);
      if (from >= end || from == to) return rows;
      const ShareRange mine = share_of(walk_.share, to - from);
      const std::uint64_t lo = std::max(begin, from + mine.begin), hi = std::min(end, from + mine.end);
      rows += lo < hi ? hi - lo : 0;
    }
  }
};

class Sequential final : public Sampler {
 public:
  explicit Sequential(std::shared_ptr<const BlockTable> blocks) : blocks_(std::move(blocks)) {}
  [[nodiscard]] std::uint64_t num_samples() const override { return blocks_->num_rows(); }
  [[nodiscard]] std::string describe() const override { return "file order"; }
  [[nodiscard]] std::uint64_t memory_bytes(RankShare) const override { return 0; }
  [[nodiscard]] std::string identity() const override { return "files"; }
  [[nodiscard]] std::uint64_t span_steps(std::uint64_t global_batch, RankShare) const override {
    return blocks_->max_block_rows() / global_batch + 2;
  }
  [[nodiscard]] OrderTraits traits() const override { return {.foresees_uses = true, .in_file_order = true}; }
  [[nodiscard]] std::vector<std::uint32_t> first_uses(std::uint64_t, RankShare) const override {
    std::vector<std::uint32_t> uses(blocks_->num_blocks());
    const double rows = static_cast<double>(std::max<std::uint64_t>(num_samples(), 1));
    for (std::uint64_t b = 0; b < uses.size(); ++b)
      uses[b] = static_cast<std::uint32_t>(static_cast<double>(blocks_->first_row(b)) / rows * (kEpochTicks - 1));
    return uses;
  }
  [[nodiscard]] std::unique_ptr<Cursor> cursor(const Walk& walk) const override {
    return std::make_unique<SequentialCursor>(*blocks_, walk);
  }

 private:
  std::shared_ptr<const BlockTable> blocks_;
};

class ExactCursor final : public DirectCursor<TabledPermutation> {
 public:
  using DirectCursor::DirectCursor;
  [[nodiscard]] std::uint64_t rows_in(std::uint32_t block) const override {
    return walk_.share.world_size == 1 && walk_.position == 0 ? blocks_.block_rows(block) : 0;
  }
};

class GlobalShuffle final : public Sampler {
 public:
  GlobalShuffle(std::shared_ptr<const BlockTable> blocks, std::uint64_t seed)
      : blocks_(std::move(blocks)), seed_(seed) {}
  [[nodiscard]] std::uint64_t num_samples() const override { return blocks_->num_rows(); }
  [[nodiscard]] std::string describe() const override { return "exact: one permutation of all samples"; }
  [[nodiscard]] std::uint64_t memory_bytes(RankShare) const override {
    return TabledPermutation::bytes_of(num_samples());
  }
  [[nodiscard]] std::string identity() const override { return "exact"; }
  [[nodiscard]] std::uint64_t span_steps(std::uint64_t global_batch, RankShare) const override {
    return num_samples() / global_batch + 1;
  }
  [[nodiscard]] OrderTraits traits() const override { return {.local = false}; }
  [[nodiscard]] std::unique_ptr<Cursor> cursor(const Walk& walk) const override {
    const KeyedPermutation permutation(std::max<std::uint64_t>(num_samples(), 1),
                                       RandomKey::of({seed_, walk.epoch, key_use::kExact}));
    return std::make_unique<ExactCursor>(*blocks_, blocks_->num_rows(), walk, TabledPermutation(permutation));
  }

 private:
  std::shared_ptr<const BlockTable> blocks_;
  std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<Sampler> make_sequential(std::shared_ptr<const BlockTable> blocks) {
  return std::make_unique<Sequential>(std::move(blocks));
}

std::unique_ptr<Sampler> make_global_shuffle(std::shared_ptr<const BlockTable> blocks, std::uint64_t seed) {
  return std::make_unique<GlobalShuffle>(std::move(blocks), seed);
}

}  // namespace headrace
