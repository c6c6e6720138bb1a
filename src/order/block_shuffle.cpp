// The block shuffle: cut the line and fold it.
//
//  1. All blocks lie on a line in file order, rotated by a random block each epoch, so that streams are strata of the
//     files.
//  2. The line is cut into V pieces whose lengths are the streams' exact shares of an epoch (stream_shares.h). Which
//     piece is whose scatters streams that follow each other over the line (line_places.h).
//  3. Even pieces are read forwards, odd ones backwards: the block on a cut is used by its two streams at the same
//  time,
//     both at their start or both at their end. Blocks between the cuts come in random order.
//  4. Each stream drains pools of K blocks whose rows are permuted as one (row_pool.h); first pools are shorter, each
//     by another amount, so that pools do not end together.
//
// Every row comes once; a block's rows come within one pool's time; nothing of size O(rows) or O(blocks) is kept.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/random/philox.h"
#include "order/key_use.h"
#include "order/line_places.h"
#include "order/row_stream.h"
#include "order/sampler.h"
#include "order/stream_shares.h"

namespace headrace {
namespace {

/// Streams that follow each other.
struct StreamRange {
  std::uint32_t begin, end;
};

/// Do the ranks' shares of every step fall on borders of streams? Then each owns whole streams: the phases of its group
/// are one residue class modulo the world size.
bool owns_whole_streams(const StreamShares& shares, std::uint32_t world_size) {
  if (shares.streams() % world_size != 0) return false;
  const std::uint32_t group = shares.streams() / world_size;
  for (std::uint32_t v = 0; v < shares.streams(); ++v)
    if (shares.phase(v) % world_size != shares.phase(v / group * group) % world_size) return false;
  return true;
}

/// Return the streams from which a rank takes samples. Where it does not own whole streams, these follow each other all
/// the same, about, for phases are spread evenly over the streams.
StreamRange streams_of(const Walk& walk, const StreamShares& shares) {
  constexpr std::uint64_t kMostVisits = 1 << 18;  // a millisecond
  const std::uint64_t streams = shares.streams(), rank = walk.share.rank, world = walk.share.world_size;
  std::uint64_t begin = rank * streams / world, end = ((rank + 1) * streams + world - 1) / world;
  if (world == 1 || owns_whole_streams(shares, walk.share.world_size))
    return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
  const std::uint64_t batch = walk.global_batch, period = streams / std::gcd(streams, batch);
  const ShareRange mine = share_of(walk.share, batch);
  if (mine.begin == mine.end) return {0, static_cast<std::uint32_t>(streams)};
  if (period * std::min(streams, batch) <= kMostVisits) {  // go through all steps that differ
    StreamsOfStep steps(shares);
    begin = streams, end = 0;
    const auto look = [&](std::uint64_t first, std::uint64_t samples, ShareRange part) {
      std::uint64_t at = 0;
      steps.visit(first, first + samples, [&](std::uint32_t stream, std::uint64_t, std::uint64_t count) {
        if (at < part.end && at + count > part.begin) {
          begin = std::min<std::uint64_t>(begin, stream);
          end = std::max<std::uint64_t>(end, stream + 1);
        }
        at += count;
      });
    };
    for (std::uint64_t step = 0; step < period; ++step) look(walk.position + step * batch, batch, mine);
    if (const std::uint64_t rest = (shares.rows() - std::min(walk.position, shares.rows())) % batch; rest > 0)
      look(shares.rows() - rest, rest, share_of(walk.share, rest));
    return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
  }
  // As many more, or less, of the samples of a step may be of the streams before any one of them: at each digit the
  // reversal is off by less than a radix.
  std::uint64_t samples = 1;
  for (const std::uint32_t radix : stream_radices(shares.streams())) samples += radix - 1;
  const std::uint64_t beside = std::max(samples, samples * streams / batch) + 1;
  return {static_cast<std::uint32_t>(begin - std::min(begin, beside)),
          static_cast<std::uint32_t>(std::min(end + beside, streams))};
}

/// What a stream gives to the step at hand: rows [from, from + count) of it.
struct Given {
  std::uint32_t stream;
  std::uint64_t from, count;
};

class BlockShuffle final : public Sampler {
 public:
  BlockShuffle(std::shared_ptr<const BlockTable> blocks, BlockShuffleShape shape, std::uint64_t seed)
      : blocks_(std::move(blocks)),
        shape_(shape),
        seed_(seed),
        shares_(shape.streams, blocks_->num_rows()),
        pieces_(shares_) {}

  [[nodiscard]] std::uint64_t num_samples() const override { return blocks_->num_rows(); }
  [[nodiscard]] std::string describe() const override {
    return fmt::format("block shuffle: {} of {} blocks at any time, in {} stream{} of {} each",
                       std::min(shape_.mixed_blocks(), blocks_->num_blocks()), blocks_->num_blocks(), shape_.streams,
                       shape_.streams == 1 ? "" : "s", shape_.pool_blocks);
  }
  [[nodiscard]] std::string identity() const override { return block_order_text(shape_); }
  [[nodiscard]] std::uint64_t span_steps(std::uint64_t global_batch, RankShare) const override {
    const std::uint64_t pool_rows = std::uint64_t{shape_.pool_blocks} * blocks_->max_block_rows();
    const std::uint64_t longest = std::min(pool_rows, shares_.length(0) + 1);
    return std::min(longest * shape_.streams / global_batch + 2, (num_samples() + global_batch - 1) / global_batch + 1);
  }
  [[nodiscard]] std::unique_ptr<Cursor> cursor(const Walk& walk) const override;

  [[nodiscard]] std::uint64_t rotation(std::uint64_t epoch) const {
    const std::uint64_t blocks = blocks_->num_blocks();
    return blocks == 0 ? 0 : KeyedRandom(RandomKey::of({seed_, epoch, key_use::kRotation})).below(blocks);
  }
  [[nodiscard]] std::vector<RowStream> streams(std::uint64_t epoch) const {
    std::vector<RowStream> streams;
    streams.reserve(shape_.streams);
    for (std::uint32_t v = 0; v < shape_.streams; ++v)
      streams.emplace_back(segment(epoch, v), first_pool(v), shape_.pool_blocks,
                           RandomKey::of({seed_, epoch, key_use::kPool, v}));
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
    const std::uint64_t part = own_parts(share.world_size) == 0 ? shape_.streams : shape_.streams / share.world_size;
    const std::uint64_t pool_rows = std::min(shape_.pool_blocks * blocks_->max_block_rows(), shares_.length(0) + 1);
    const std::uint64_t pool_parts = std::min<std::uint64_t>(shape_.pool_blocks, blocks_->num_blocks() + 1);
    return shape_.streams * (sizeof(RowStream) + sizeof(std::uint32_t) + sizeof(Given)) +
           LinePieces::bytes_of(shape_.streams) + StreamsOfStep::bytes_of(shape_.streams) +
           part * RowPool::max_bytes(pool_rows, pool_parts);
  }
  [[nodiscard]] std::vector<std::uint32_t> first_uses(std::uint64_t epoch, RankShare share) const override {
    std::vector<std::uint32_t> uses(blocks_->num_blocks(), kNeverUsed);
    const auto [first, last] = streams_of({.epoch = epoch, .global_batch = shape_.streams, .share = share}, shares_);
    for (std::uint32_t v = first; v < last; ++v) {
      const LineSegment blocks = segment(epoch, v);
      const auto rows = static_cast<double>(shares_.length(v));
      std::uint64_t pool_end = first_pool(v), row = 0, pool_row = 0;
      for (std::uint64_t i = 0; i < blocks.num_parts(); ++i) {
        if (i == pool_end) pool_end += shape_.pool_blocks, pool_row = row;
        const LineSegment::BlockPart part = blocks.part(i);
        const auto tick = static_cast<std::uint32_t>(static_cast<double>(pool_row) / rows * (kEpochTicks - 1));
        uses[part.block] = std::min(uses[part.block], tick);
        row += part.rows;
      }
    }
    return uses;
  }
  [[nodiscard]] const StreamShares& shares() const { return shares_; }
  [[nodiscard]] const LinePieces& pieces() const { return pieces_; }
  [[nodiscard]] const BlockTable& blocks() const { return *blocks_; }

 private:
  [[nodiscard]] LineSegment segment(std::uint64_t epoch, std::uint32_t v) const {
    const std::uint32_t place = pieces_.place(v);
    return {*blocks_,
            rotation(epoch),
            pieces_.begin(place),
            pieces_.begin(place + 1),
            place % 2 == 1,
            RandomKey::of({seed_, epoch, key_use::kInnerOrder, v})};
  }
  /// Blocks of a stream's first pool.
  [[nodiscard]] std::uint64_t first_pool(std::uint32_t v) const {
    return 1 + std::uint64_t{shares_.phase(v)} * shape_.pool_blocks / shape_.streams;
  }

  std::shared_ptr<const BlockTable> blocks_;
  BlockShuffleShape shape_;
  std::uint64_t seed_;
  StreamShares shares_;
  LinePieces pieces_;
};

class BlockShuffleCursor final : public Cursor {
 public:
  BlockShuffleCursor(const BlockShuffle& sampler, const Walk& walk)
      : shares_(sampler.shares()),
        pieces_(sampler.pieces()),
        blocks_(sampler.blocks()),
        walk_(walk),
        streams_(sampler.streams(walk.epoch)),
        step_streams_(shares_),
        mine_(streams_of(walk, shares_)),
        whole_streams_(owns_whole_streams(shares_, walk.share.world_size)) {
    if (blocks_.num_blocks() > 0) shift_rows_ = blocks_.first_row(sampler.rotation(walk.epoch));
  }

  void next_step(std::vector<SampleRef>& out, std::vector<BlockRows>& counted_elsewhere) override {
    const std::uint64_t total = blocks_.num_rows();
    const std::uint64_t begin = walk_.begin_of(step_, total), end = walk_.begin_of(step_ + 1, total);
    if (begin == end) return;
    if (step_++ == 0)  // what came before the walk is passed by
      for (std::uint32_t v = mine_.begin; v < mine_.end; ++v)
        streams_[v].skip_to(shares_.delivered(v, begin), counted_elsewhere);
    given_.clear();
    step_streams_.visit(begin, end, [&](std::uint32_t stream, std::uint64_t from, std::uint64_t count) {
      given_.push_back({stream, from, count});
    });
    const ShareRange mine = whole_streams_ ? rows_of_own_streams() : share_of(walk_.share, end - begin);
    offset_ = mine.begin;
    out.resize(out.size() + (mine.end - mine.begin));
    SampleRef* next = out.data() + (out.size() - (mine.end - mine.begin));
    std::uint64_t at = 0;  // rows of the step before the stream's
    for (const Given& given : given_) {
      const std::uint64_t lo = std::max(mine.begin, at), hi = std::min(mine.end, at + given.count);
      if (lo < hi) next = streams_[given.stream].take(given.from + (lo - at), hi - lo, next, counted_elsewhere);
      at += given.count;
    }
  }

  [[nodiscard]] std::uint64_t offset() const override { return offset_; }
  [[nodiscard]] std::uint64_t rows_in(std::uint32_t block) const override {
    const std::uint64_t rows = blocks_.block_rows(block), total = blocks_.num_rows();
    if (walk_.share.world_size == 1) return rows;
    // The block on the line, in rows; it may be cut by the line's end.
    const std::uint64_t first = (blocks_.first_row(block) + total - shift_rows_) % total;
    if (first + rows <= total) return own_rows(first, first + rows);
    return own_rows(first, total) + own_rows(0, first + rows - total);
  }

 private:
  /// Return which rows of the step come from the streams that the rank has.
  [[nodiscard]] ShareRange rows_of_own_streams() const {
    ShareRange rows{0, 0};
    for (const Given& given : given_) {
      if (given.stream < mine_.begin) rows.begin += given.count;
      if (given.stream < mine_.end) rows.end += given.count;
    }
    return rows;
  }
  /// Return how many rows [begin, end) of the line are of streams that the rank has, or shares with its neighbours.
  [[nodiscard]] std::uint64_t own_rows(std::uint64_t begin, std::uint64_t end) const {
    std::uint64_t own = 0;
    for (std::uint32_t place = pieces_.find(begin); begin < end; ++place) {
      const std::uint64_t piece_end = std::min(end, pieces_.begin(place + 1));
      const std::uint32_t stream = pieces_.stream(place);
      if (stream >= mine_.begin && stream < mine_.end) own += piece_end - begin;
      begin = piece_end;
    }
    return own;
  }

  const StreamShares& shares_;
  const LinePieces& pieces_;
  const BlockTable& blocks_;
  Walk walk_;
  std::vector<RowStream> streams_;
  StreamsOfStep step_streams_;
  StreamRange mine_;
  std::vector<Given> given_;
  bool whole_streams_;
  std::uint64_t shift_rows_ = 0;  // of the line's start
  std::uint64_t step_ = 0, offset_ = 0;
};

std::unique_ptr<Cursor> BlockShuffle::cursor(const Walk& walk) const {
  return std::make_unique<BlockShuffleCursor>(*this, walk);
}

}  // namespace

std::string block_order_text(BlockShuffleShape shape) {
  return fmt::format("mix {}x{}", shape.streams, shape.pool_blocks);
}

std::unique_ptr<Sampler> make_block_shuffle(std::shared_ptr<const BlockTable> blocks, BlockShuffleShape shape,
                                            std::uint64_t seed) {
  return std::make_unique<BlockShuffle>(std::move(blocks), shape, seed);
}

}  // namespace headrace
