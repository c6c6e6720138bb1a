// The block shuffle: cut the line and fold it.
//
//  1. All blocks lie on a line in file order, rotated by a random block each epoch, so that streams are strata of the
//  files.
//  2. The line is cut into V streams whose lengths are the streams' exact shares of an epoch (stream_shares.h).
//  3. Even streams read forwards, odd ones backwards: the block on a cut is used by its two streams at the same time,
//  both
//     at their start or both at their end. Blocks between the cuts come in random order.
//  4. Each stream drains pools of K blocks whose rows are permuted as one; first pools are shorter, each by another
//  amount,
//     so that pools do not end together.
//
// Every row comes once; a block's rows come within one pool's time; nothing of size O(rows) or O(blocks) is kept.
#include <fmt/format.h>

#include <algorithm>

#include "base/keyed_permutation.h"
#include "base/philox.h"
#include "order/sampler.h"
#include "order/stream_shares.h"

namespace headrace {
namespace {

enum KeyUse : std::uint64_t { kRotation = 1, kInnerOrder = 2, kPool = 3 };

/// Blocks of one stream in one epoch, addressed by reading order.
class Segment {
 public:
  struct Part {
    std::uint32_t block, first_row, rows;
  };

  Segment(const BlockTable& blocks, std::uint64_t rotation, std::uint64_t begin, std::uint64_t end, bool backwards,
          RandomKey key)
      : blocks_(&blocks), backwards_(backwards), inner_(1, key) {
    if (begin == end) return;
    const std::uint64_t rows = blocks.num_rows(), shift = blocks.first_row(rotation);
    const auto head = blocks.find((begin + shift) % rows), tail = blocks.find((end - 1 + shift) % rows);
    const std::uint64_t n = blocks.num_blocks();
    first_block_ = head.block;
    num_parts_ = (tail.block + n - head.block) % n + 1;
    if (num_parts_ == 1 && tail.row_in_block < head.row_in_block)
      num_parts_ += n;  // the whole line, cut inside a block
    head_row_ = head.row_in_block;
    tail_end_ = tail.row_in_block + 1;
    low_ = head_row_ != 0 ? 1 : 0;
    high_ = num_parts_ - (tail_end_ != blocks.block_rows(tail.block) ? 1 : 0);
    if (high_ > low_) inner_ = KeyedPermutation(high_ - low_, key);
  }

  [[nodiscard]] std::uint64_t num_parts() const { return num_parts_; }
  [[nodiscard]] Part part(std::uint64_t i) const {
    std::uint64_t j = backwards_ ? num_parts_ - 1 - i : i;
    if (j >= low_ && j < high_) j = low_ + inner_(j - low_);  // blocks on a cut keep their place
    const std::uint64_t block = (first_block_ + j) % blocks_->num_blocks();
    const std::uint64_t first = j == 0 ? head_row_ : 0;
    const std::uint64_t last = j + 1 == num_parts_ ? tail_end_ : blocks_->block_rows(block);
    return {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(first),
            static_cast<std::uint32_t>(last - first)};
  }

 private:
  const BlockTable* blocks_;
  bool backwards_;
  KeyedPermutation inner_;
  std::uint64_t first_block_ = 0, num_parts_ = 0, head_row_ = 0, tail_end_ = 0, low_ = 0, high_ = 0;
};

/// One stream of one epoch: pool after pool, row after row.
class Stream {
 public:
  Stream(Segment segment, std::uint64_t first_pool, std::uint64_t pool_blocks, RandomKey key)
      : segment_(segment), pool_end_(first_pool), pool_blocks_(pool_blocks), key_(key) {}

  void take(std::uint64_t count, std::vector<SampleRef>& out) {
    while (count > 0) {
      if (taken_ == pool_.size()) fill();
      const std::uint64_t n = std::min<std::uint64_t>(count, pool_.size() - taken_);
      out.insert(out.end(), pool_.begin() + static_cast<std::ptrdiff_t>(taken_),
                 pool_.begin() + static_cast<std::ptrdiff_t>(taken_ + n));
      taken_ += n;
      count -= n;
    }
  }

  /// Skip rows without making the pools in between. Only from the start of the stream.
  void skip(std::uint64_t count) {
    for (;;) {
      std::uint64_t rows = 0;
      const std::uint64_t end = std::min(pool_end_, segment_.num_parts());
      for (std::uint64_t i = next_part_; i < end; ++i) rows += segment_.part(i).rows;
      if (rows > count || rows == 0) break;
      count -= rows;
      next_part_ = end;
      pool_end_ = end + pool_blocks_;
      ++pool_number_;
    }
    if (count == 0) return;
    fill();
    taken_ = count;
  }

 private:
  void fill() {
    pool_.clear();
    taken_ = 0;
    const std::uint64_t end = std::min(pool_end_, segment_.num_parts());
    for (; next_part_ < end; ++next_part_) {
      const Segment::Part p = segment_.part(next_part_);
      for (std::uint32_t r = 0; r < p.rows; ++r) pool_.push_back({p.block, p.first_row + r});
    }
    pool_end_ = end + pool_blocks_;
    keyed_shuffle(std::span<SampleRef>(pool_), key_.with(pool_number_++));
  }

  Segment segment_;
  std::uint64_t pool_end_, pool_blocks_;
  RandomKey key_;
  std::uint64_t next_part_ = 0, pool_number_ = 0;
  std::vector<SampleRef> pool_;
  std::size_t taken_ = 0;
};

class BlockShuffle final : public Sampler {
 public:
  BlockShuffle(std::shared_ptr<const BlockTable> blocks, std::uint64_t batch_rows, Mix mix, std::uint64_t seed)
      : blocks_(std::move(blocks)),
        mix_(mix),
        batch_rows_(batch_rows),
        seed_(seed),
        shares_(mix.streams, blocks_->num_rows(), batch_rows) {}

  [[nodiscard]] std::uint64_t num_samples() const override { return blocks_->num_rows(); }
  [[nodiscard]] std::uint64_t batch_rows() const override { return batch_rows_; }
  [[nodiscard]] std::string describe() const override {
    return fmt::format("block shuffle: {} streams, pools of {} blocks: {} of {} blocks mixed at any time", mix_.streams,
                       mix_.pool_blocks, std::min(mix_.mixed_blocks(), blocks_->num_blocks()), blocks_->num_blocks());
  }
  [[nodiscard]] std::uint64_t span_batches() const override {
    const std::uint64_t pool_rows = (mix_.pool_blocks + 1) * blocks_->max_block_rows();
    const std::uint64_t longest = std::min(pool_rows, shares_.length(0) + 1);
    return std::min(longest * mix_.streams / batch_rows_ + 2, (num_samples() + batch_rows_ - 1) / batch_rows_ + 1);
  }
  [[nodiscard]] std::unique_ptr<Cursor> cursor(std::uint64_t epoch) const override;

  [[nodiscard]] std::vector<Stream> streams(std::uint64_t epoch) const {
    std::vector<Stream> streams;
    streams.reserve(mix_.streams);
    const std::uint64_t blocks = blocks_->num_blocks();
    const std::uint64_t rotation =
        blocks == 0 ? 0 : KeyedRandom(RandomKey::of({seed_, epoch, kRotation})).below(blocks);
    std::uint64_t begin = 0;
    for (std::uint32_t v = 0; v < mix_.streams; ++v) {
      const std::uint64_t end = begin + shares_.length(v);
      const std::uint64_t first_pool = 1 + std::uint64_t{shares_.phase(v)} * mix_.pool_blocks / mix_.streams;
      streams.emplace_back(
          Segment(*blocks_, rotation, begin, end, v % 2 == 1, RandomKey::of({seed_, epoch, kInnerOrder, v})),
          first_pool, mix_.pool_blocks, RandomKey::of({seed_, epoch, kPool, v}));
      begin = end;
    }
    return streams;
  }
  [[nodiscard]] const StreamShares& shares() const { return shares_; }

 private:
  std::shared_ptr<const BlockTable> blocks_;
  Mix mix_;
  std::uint64_t batch_rows_, seed_;
  StreamShares shares_;
};

class BlockShuffleCursor final : public Cursor {
 public:
  BlockShuffleCursor(const BlockShuffle& sampler, std::uint64_t epoch)
      : sampler_(&sampler), epoch_(epoch), streams_(sampler.streams(epoch)) {}

  void next_batch(std::vector<SampleRef>& out) override {
    const StreamShares& shares = sampler_->shares();
    for (std::uint32_t v = 0; v < shares.streams(); ++v)
      streams_[v].take(shares.delivered(v, batch_ + 1) - shares.delivered(v, batch_), out);
    ++batch_;
  }
  void seek(std::uint64_t batch) override {
    streams_ = sampler_->streams(epoch_);
    for (std::uint32_t v = 0; v < streams_.size(); ++v) streams_[v].skip(sampler_->shares().delivered(v, batch));
    batch_ = batch;
  }

 private:
  const BlockShuffle* sampler_;
  std::uint64_t epoch_, batch_ = 0;
  std::vector<Stream> streams_;
};

std::unique_ptr<Cursor> BlockShuffle::cursor(std::uint64_t epoch) const {
  return std::make_unique<BlockShuffleCursor>(*this, epoch);
}

}  // namespace

std::unique_ptr<Sampler> make_block_shuffle(std::shared_ptr<const BlockTable> blocks, std::uint64_t batch_rows, Mix mix,
                                            std::uint64_t seed) {
  return std::make_unique<BlockShuffle>(std::move(blocks), batch_rows, mix, seed);
}

}  // namespace headrace
