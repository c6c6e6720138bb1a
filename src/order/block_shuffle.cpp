// The block shuffle: cut the line and fold it.
//
//  1. All blocks lie on a line in file order, rotated by a random block each epoch, so that streams are strata of the
//     files.
//  2. The line is cut into V streams whose lengths are the streams' exact shares of an epoch (stream_shares.h).
//  3. Even streams read forwards, odd ones backwards: the block on a cut is used by its two streams at the same time,
//     both at their start or both at their end. Blocks between the cuts come in random order.
//  4. Each stream drains pools of K blocks whose rows are permuted as one (row_pool.h); first pools are shorter, each
//     by another amount, so that pools do not end together.
//
// Every row comes once; a block's rows come within one pool's time; nothing of size O(rows) or O(blocks) is kept.
#include <fmt/format.h>

#include <algorithm>

#include "base/keyed_permutation.h"
#include "base/philox.h"
#include "order/key_use.h"
#include "order/row_pool.h"
#include "order/sampler.h"
#include "order/stream_shares.h"

namespace headrace {
namespace {

/// Blocks of one stream in one epoch, addressed by reading order.
class Segment {
 public:
  using Part = RowPool::Part;

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
    const std::uint64_t n = blocks_->num_blocks();
    const std::uint64_t block = first_block_ + j - (first_block_ + j >= n ? n : 0);
    const std::uint64_t first = j == 0 ? head_row_ : 0;
    const std::uint64_t last = j + 1 == num_parts_ ? tail_end_ : blocks_->block_rows(block);
    return {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(first),
            static_cast<std::uint32_t>(last - first)};
  }
  /// Parts that may be on a cut, so that another stream has the block's other rows: the first and the last.
  template <class Visit>
  void visit_cuts(std::uint64_t begin, std::uint64_t end, Visit&& visit) const {
    const auto look = [&](std::uint64_t i) {
      const Part p = part(i);
      if (p.rows != blocks_->block_rows(p.block)) visit(p);
    };
    if (begin == 0 && end > 0) look(0);
    if (end == num_parts_ && num_parts_ > 1 && begin < end) look(num_parts_ - 1);
  }
  /// Rows of parts [begin, end). Where all blocks are equal, that costs nothing.
  [[nodiscard]] std::uint64_t rows(std::uint64_t begin, std::uint64_t end) const {
    std::uint64_t rows = 0;
    if (!blocks_->all_equal()) {
      for (std::uint64_t i = begin; i < end; ++i) rows += part(i).rows;
      return rows;
    }
    rows = (end - begin) * blocks_->max_block_rows();
    visit_cuts(begin, end, [&](const Part& p) { rows -= blocks_->max_block_rows() - p.rows; });
    return rows;
  }

 private:
  const BlockTable* blocks_;
  bool backwards_;
  KeyedPermutation inner_;
  std::uint64_t first_block_ = 0, num_parts_ = 0, head_row_ = 0, tail_end_ = 0, low_ = 0, high_ = 0;
};

/// One stream of one epoch: pool after pool, row after row. What is not asked for costs nothing.
class Stream {
 public:
  Stream(Segment segment, std::uint64_t first_pool, std::uint64_t pool_blocks, RandomKey key)
      : segment_(segment), pool_end_(first_pool), pool_blocks_(pool_blocks), key_(key) {}

  /// Rows [first, first + count) of the stream go to `out`; those skipped before them, as far as their blocks may still
  /// be asked for, to `counted_elsewhere`. `first` never falls. \return The end of what was written.
  SampleRef* take(std::uint64_t first, std::uint64_t count, SampleRef* out, std::vector<BlockRows>& counted_elsewhere) {
    if (first != position_) skip_to(first, counted_elsewhere);
    move(count, out);
    return out + count;
  }

  void skip_to(std::uint64_t position, std::vector<BlockRows>& counted_elsewhere) {
    std::uint64_t count = position - position_;
    if (const std::uint64_t here = std::min(count, pool_.left()); here > 0) {
      skip(here, counted_elsewhere);
      count -= here;
    }
    while (count > 0) {  // whole pools are not made
      const std::uint64_t end = std::min(pool_end_, segment_.num_parts()), rows = segment_.rows(next_part_, end);
      if (rows > count || rows == 0) return skip(count, counted_elsewhere);
      segment_.visit_cuts(next_part_, end, [&](const Segment::Part& p) {
        counted_elsewhere.push_back({p.block, p.rows});
      });
      count -= rows;
      position_ += rows;
      next_part_ = end;
      pool_end_ = end + pool_blocks_;
      ++pool_number_;
    }
  }

 private:
  void skip(std::uint64_t count, std::vector<BlockRows>& counted_elsewhere) {
    position_ += count;
    while (count > 0) {
      if (pool_.left() == 0) fill();
      const std::uint64_t n = std::min(count, pool_.left());
      pool_.skip(n, counted_elsewhere);
      count -= n;
    }
  }

  void move(std::uint64_t count, SampleRef* to) {
    position_ += count;
    while (count > 0) {
      if (pool_.left() == 0) fill();
      const std::uint64_t n = std::min(count, pool_.left());
      pool_.take(n, to);
      to += n;
      count -= n;
    }
  }

  void fill() {
    const std::uint64_t end = std::min(pool_end_, segment_.num_parts());
    pool_.clear(end - next_part_);
    for (; next_part_ < end; ++next_part_) pool_.add(segment_.part(next_part_));
    pool_end_ = end + pool_blocks_;
    pool_.shuffle(key_.with(pool_number_++));
  }

  Segment segment_;
  std::uint64_t pool_end_, pool_blocks_;
  RandomKey key_;
  std::uint64_t next_part_ = 0, pool_number_ = 0, position_ = 0;
  RowPool pool_;
};

/// Streams [begin, end) that a rank owns, or shares with its neighbours.
struct StreamRange {
  std::uint32_t begin, end;
  [[nodiscard]] std::uint32_t count() const { return end - begin; }
};
StreamRange streams_of(RankShare share, std::uint64_t streams) {
  return {static_cast<std::uint32_t>(share.rank * streams / share.world_size),
          static_cast<std::uint32_t>(((share.rank + 1) * streams + share.world_size - 1) / share.world_size)};
}

/// Do the ranks' shares of every step fall on borders of streams? Then each owns whole streams: the phases of its group
/// are one residue class modulo the world size.
bool owns_whole_streams(const StreamShares& shares, std::uint32_t world_size) {
  if (shares.streams() % world_size != 0) return false;
  const std::uint32_t group = shares.streams() / world_size;
  for (std::uint32_t v = 0; v < shares.streams(); ++v)
    if (shares.phase(v) % world_size != shares.phase(v / group * group) % world_size) return false;
  return true;
}

class BlockShuffle final : public Sampler {
 public:
  BlockShuffle(std::shared_ptr<const BlockTable> blocks, BlockShuffleShape shape, std::uint64_t seed)
      : blocks_(std::move(blocks)), shape_(shape), seed_(seed), shares_(shape.streams, blocks_->num_rows()) {}

  [[nodiscard]] std::uint64_t num_samples() const override { return blocks_->num_rows(); }
  [[nodiscard]] std::string describe() const override {
    return fmt::format("block shuffle: {} streams, pools of {} blocks: {} of {} blocks mixed at any time",
                       shape_.streams, shape_.pool_blocks, std::min(shape_.mixed_blocks(), blocks_->num_blocks()),
                       blocks_->num_blocks());
  }
  [[nodiscard]] std::string identity() const override {
    return fmt::format("block {}x{}", shape_.streams, shape_.pool_blocks);
  }
  [[nodiscard]] std::uint64_t span_steps(std::uint64_t global_batch, RankShare) const override {
    const std::uint64_t pool_rows = (std::uint64_t{shape_.pool_blocks} + 1) * blocks_->max_block_rows();
    const std::uint64_t longest = std::min(pool_rows, shares_.length(0) + 1);
    return std::min(longest * shape_.streams / global_batch + 2, (num_samples() + global_batch - 1) / global_batch + 1);
  }
  [[nodiscard]] std::unique_ptr<Cursor> cursor(const Walk& walk) const override;

  [[nodiscard]] std::uint64_t rotation(std::uint64_t epoch) const {
    const std::uint64_t blocks = blocks_->num_blocks();
    return blocks == 0 ? 0 : KeyedRandom(RandomKey::of({seed_, epoch, key_use::kRotation})).below(blocks);
  }
  [[nodiscard]] std::vector<Stream> streams(std::uint64_t epoch) const {
    std::vector<Stream> streams;
    streams.reserve(shape_.streams);
    std::uint64_t begin = 0;
    for (std::uint32_t v = 0; v < shape_.streams; ++v) {
      const std::uint64_t end = begin + shares_.length(v);
      streams.emplace_back(segment(epoch, v, begin, end), first_pool(v), shape_.pool_blocks,
                           RandomKey::of({seed_, epoch, key_use::kPool, v}));
      begin = end;
    }
    return streams;
  }
  [[nodiscard]] std::uint64_t own_parts(std::uint32_t world_size) const override {
    return owns_whole_streams(shares_, world_size) ? shape_.streams : 0;
  }
  [[nodiscard]] OrderTraits traits() const override {
    return {.foresees_uses = true,
            .mixed_samples = std::min(shape_.mixed_blocks() * blocks_->max_block_rows(), num_samples())};
  }
  [[nodiscard]] std::uint64_t memory_bytes(RankShare share) const override {
    const std::uint64_t part = streams_of(share, shape_.streams).count();
    const std::uint64_t pool_rows = std::min(shape_.pool_blocks * blocks_->max_block_rows(), shares_.length(0) + 1);
    const std::uint64_t pool_parts = std::min<std::uint64_t>(shape_.pool_blocks, blocks_->num_blocks() + 1);
    return shape_.streams * (sizeof(Stream) + 3 * sizeof(std::uint64_t)) +
           part * RowPool::max_bytes(pool_rows, pool_parts);
  }
  [[nodiscard]] std::vector<std::uint32_t> first_uses(std::uint64_t epoch, RankShare share) const override {
    std::vector<std::uint32_t> uses(blocks_->num_blocks(), kNeverUsed);
    const auto [first, last] = streams_of(share, shape_.streams);
    std::uint64_t begin = 0;
    for (std::uint32_t v = 0; v < last; ++v) {
      const std::uint64_t end = begin + shares_.length(v);
      if (v >= first) {
        const Segment blocks = segment(epoch, v, begin, end);
        std::uint64_t pool_end = first_pool(v), row = 0, pool_row = 0;
        for (std::uint64_t i = 0; i < blocks.num_parts(); ++i) {
          if (i == pool_end) pool_end += shape_.pool_blocks, pool_row = row;
          const Segment::Part part = blocks.part(i);
          const auto tick = static_cast<std::uint32_t>(static_cast<double>(pool_row) /
                                                       static_cast<double>(end - begin) * (kEpochTicks - 1));
          uses[part.block] = std::min(uses[part.block], tick);
          row += part.rows;
        }
      }
      begin = end;
    }
    return uses;
  }
  [[nodiscard]] const StreamShares& shares() const { return shares_; }
  [[nodiscard]] const BlockTable& blocks() const { return *blocks_; }

 private:
  [[nodiscard]] Segment segment(std::uint64_t epoch, std::uint32_t v, std::uint64_t begin, std::uint64_t end) const {
    return {*blocks_, rotation(epoch), begin, end, v % 2 == 1, RandomKey::of({seed_, epoch, key_use::kInnerOrder, v})};
  }
  /// Blocks of a stream's first pool.
  [[nodiscard]] std::uint64_t first_pool(std::uint32_t v) const {
    return 1 + std::uint64_t{shares_.phase(v)} * shape_.pool_blocks / shape_.streams;
  }

  std::shared_ptr<const BlockTable> blocks_;
  BlockShuffleShape shape_;
  std::uint64_t seed_;
  StreamShares shares_;
};

class BlockShuffleCursor final : public Cursor {
 public:
  BlockShuffleCursor(const BlockShuffle& sampler, const Walk& walk)
      : shares_(sampler.shares()),
        blocks_(sampler.blocks()),
        walk_(walk),
        streams_(sampler.streams(walk.epoch)),
        whole_streams_(owns_whole_streams(shares_, walk.share.world_size)) {
    const StreamRange mine = streams_of(walk.share, shares_.streams());
    first_stream_ = mine.begin, end_stream_ = mine.end;
    for (std::uint32_t s = 0; s < end_stream_; ++s) (s < first_stream_ ? line_begin_ : line_end_) += shares_.length(s);
    line_end_ += line_begin_;
    if (blocks_.num_blocks() > 0) shift_rows_ = blocks_.first_row(sampler.rotation(walk.epoch));
    const std::uint64_t position = walk.begin_of(0, blocks_.num_rows());
    for (std::uint32_t s = 0; s < shares_.streams(); ++s) given_.push_back(shares_.delivered(s, position));
    mine_.resize(shares_.streams());
  }

  void next_step(std::vector<SampleRef>& out, std::vector<BlockRows>& counted_elsewhere) override {
    const std::uint64_t total = blocks_.num_rows();
    const std::uint64_t begin = walk_.begin_of(step_, total), end = walk_.begin_of(step_ + 1, total);
    if (begin == end) return;
    if (step_++ == 0)  // what came before the walk is passed by
      for (std::uint32_t v = first_stream_; v < end_stream_; ++v) streams_[v].skip_to(given_[v], counted_elsewhere);
    if (whole_streams_) {
      offset_ = 0;
      for (std::uint32_t v = 0; v < first_stream_; ++v) offset_ += advance(v, end).count;
      std::uint64_t all = 0;
      for (std::uint32_t v = first_stream_; v < end_stream_; ++v) all += (mine_[v] = advance(v, end)).count;
      SampleRef* at = grow(out, all);
      for (std::uint32_t v = first_stream_; v < end_stream_; ++v)
        at = streams_[v].take(mine_[v].from, mine_[v].count, at, counted_elsewhere);
      return;
    }
    const ShareRange mine = share_of(walk_.share, end - begin);
    offset_ = mine.begin;
    SampleRef* next = grow(out, mine.end - mine.begin);
    std::uint64_t at = 0;  // rows of the step before stream v
    for (std::uint32_t v = 0; v < shares_.streams(); ++v) {
      const auto [from, count] = advance(v, end);
      const std::uint64_t lo = std::max(mine.begin, at), hi = std::min(mine.end, at + count);
      if (lo < hi) next = streams_[v].take(from + (lo - at), hi - lo, next, counted_elsewhere);
      at += count;
    }
  }

  [[nodiscard]] std::uint64_t offset() const override { return offset_; }
  [[nodiscard]] std::uint64_t rows_of(std::uint32_t block) const override {
    const std::uint64_t rows = blocks_.block_rows(block), total = blocks_.num_rows();
    if (walk_.share.world_size == 1) return rows;
    // The block on the line, in rows; it may be cut by the line's end.
    const std::uint64_t first = (blocks_.first_row(block) + total - shift_rows_) % total;
    const auto inside = [&](std::uint64_t begin, std::uint64_t end) {
      begin = std::max(begin, line_begin_), end = std::min(end, line_end_);
      return begin < end ? end - begin : 0;
    };
    return first + rows <= total ? inside(first, first + rows) : inside(first, total) + inside(0, first + rows - total);
  }

 private:
  struct Given {
    std::uint64_t from, count;
  };
  /// Make room for more samples at the end, to be written.
  static SampleRef* grow(std::vector<SampleRef>& out, std::uint64_t count) {
    out.resize(out.size() + count);
    return out.data() + (out.size() - count);
  }
  /// What stream `v` gives to the step that ends with sample `end`.
  Given advance(std::uint32_t v, std::uint64_t end) {
    const std::uint64_t from = given_[v];
    given_[v] = shares_.delivered(v, end);
    return {from, given_[v] - from};
  }

  const StreamShares& shares_;
  const BlockTable& blocks_;
  Walk walk_;
  std::vector<Stream> streams_;
  std::vector<std::uint64_t> given_;  // rows of each stream before the next step
  std::vector<Given> mine_;           // what each stream gives to the step at hand
  bool whole_streams_;
  std::uint32_t first_stream_ = 0, end_stream_ = 0;               // that the rank owns, or shares with its neighbours
  std::uint64_t line_begin_ = 0, line_end_ = 0, shift_rows_ = 0;  // their part of the line
  std::uint64_t step_ = 0, offset_ = 0;
};

std::unique_ptr<Cursor> BlockShuffle::cursor(const Walk& walk) const {
  return std::make_unique<BlockShuffleCursor>(*this, walk);
}

}  // namespace

std::unique_ptr<Sampler> make_block_shuffle(std::shared_ptr<const BlockTable> blocks, BlockShuffleShape shape,
                                            std::uint64_t seed) {
  return std::make_unique<BlockShuffle>(std::move(blocks), shape, seed);
}

}  // namespace headrace
