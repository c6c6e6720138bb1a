// A mixture: samples of several data sets in given proportions, each in an order of its own.
//
// The sources' orders are endless: a source whose epoch is over starts its next one, and a source that an epoch of the
// mixture leaves unfinished goes on in the next. So every row of a source comes equally often over the epochs, and
// where each source stands at any sample follows directly (weyl_shares.h).
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/random/philox.h"
#include "order/key_use.h"
#include "order/sampler.h"
#include "order/weyl_shares.h"

namespace headrace {
namespace {

constexpr std::uint64_t kAhead = 64;  // samples taken from a source at once

class Mixture final : public Sampler {
 public:
  Mixture(std::vector<MixturePart> parts, std::uint64_t num_samples, std::uint64_t seed)
      : parts_(std::move(parts)),
        num_samples_(num_samples),
        shares_(weights_of(parts_), RandomKey::of({seed, key_use::kMixtureStart}).low) {}

  [[nodiscard]] std::uint64_t num_samples() const override { return num_samples_; }
  [[nodiscard]] std::string describe() const override {
    double total = 0;
    for (const MixturePart& p : parts_) total += p.weight;
    std::string text = fmt::format("a mixture of {}:", parts_.size());
    for (const MixturePart& p : parts_)
      text += fmt::format("\n               {:.3g} % {}: {}", 100 * p.weight / total, p.name, p.sampler->describe());
    return text;
  }
  [[nodiscard]] std::string identity() const override {
    RandomKey key = RandomKey::of({num_samples_, parts_.size()});
    for (const MixturePart& p : parts_) {
      key = key.with(std::bit_cast<std::uint64_t>(p.weight)).with(p.first_block).with(p.sampler->num_samples());
      for (const char c : p.sampler->identity()) key = key.with(static_cast<unsigned char>(c));
    }
    return fmt::format("mixture {:016x}", key.low);
  }
  [[nodiscard]] std::uint64_t span_steps(std::uint64_t global_batch, RankShare share) const override {
    double total = 0;
    for (const MixturePart& p : parts_) total += p.weight;
    std::uint64_t span = 1;
    for (const MixturePart& p : parts_) {
      const double rows = p.weight / total * static_cast<double>(global_batch);
      const std::uint64_t batch = std::max<std::uint64_t>(static_cast<std::uint64_t>(rows), 1);
      const auto steps =
          static_cast<double>(p.sampler->span_steps(batch, {0, 1})) * static_cast<double>(batch) / std::max(rows, 1e-9);
      span = std::max(span, static_cast<std::uint64_t>(std::min(steps, 0x1p40)) + 2);
    }
    (void)share;
    return std::min(span, num_samples_ / global_batch + 2);
  }
  [[nodiscard]] std::uint64_t memory_bytes(RankShare) const override {
    std::uint64_t bytes = 0;  // every rank walks all sources
    for (const MixturePart& p : parts_) bytes += p.sampler->memory_bytes({0, 1}) + 2 * kAhead * sizeof(SampleRef);
    return bytes;
  }
  [[nodiscard]] OrderTraits traits() const override {
    return {.permutation = false,
            .local = std::ranges::all_of(parts_, [](const MixturePart& p) { return p.sampler->traits().local; })};
  }
  [[nodiscard]] std::unique_ptr<Cursor> cursor(const Walk& walk) const override;

  [[nodiscard]] const std::vector<MixturePart>& parts() const { return parts_; }
  [[nodiscard]] const WeylShares& shares() const { return shares_; }

 private:
  static std::vector<double> weights_of(const std::vector<MixturePart>& parts) {
    std::vector<double> weights;
    for (const MixturePart& p : parts) weights.push_back(p.weight);
    return weights;
  }

  std::vector<MixturePart> parts_;
  std::uint64_t num_samples_;
  WeylShares shares_;
};

/// One source, from some sample of its endless order on.
class SourceWalk {
 public:
  SourceWalk(const MixturePart& part, std::uint64_t position)
      : part_(&part), epoch_(position / part.sampler->num_samples()) {
    start(position % part.sampler->num_samples());
  }

  SampleRef next(std::vector<BlockRows>& counted_elsewhere) {
    while (taken_ == ahead_.size()) {
      ahead_.clear();
      skipped_.clear();
      taken_ = 0;
      cursor_->next_step(ahead_, skipped_);
      for (const BlockRows s : skipped_) counted_elsewhere.push_back({global({s.block, 0}).block, s.rows});
      for (; given_before_ > 0; --given_before_)
        if (const SampleRef s = global(ahead_[taken_++]); rows_in(s.block) > 0)
          counted_elsewhere.push_back({s.block, 1});
      if (!ahead_.empty()) break;
      ++epoch_;
      start(0);
    }
    return global(ahead_[taken_++]);
  }
  /// How many of this block's samples are counted, here or elsewhere; the block is one of the source's own.
  [[nodiscard]] std::uint64_t rows_in(std::uint32_t block) const {
    return cursor_->rows_in(block - static_cast<std::uint32_t>(part_->first_block));
  }

 private:
  /// The order inside a step may depend on where it begins: steps are always those of a walk from the epoch's start.
  void start(std::uint64_t position) {
    given_before_ = position % kAhead;
    cursor_ = part_->sampler->cursor({epoch_, position - given_before_, kAhead, {}});
  }
  [[nodiscard]] SampleRef global(SampleRef s) const {
    return {s.block + static_cast<std::uint32_t>(part_->first_block), s.row};
  }

  const MixturePart* part_;
  std::uint64_t epoch_;
  std::unique_ptr<Cursor> cursor_;
  std::vector<SampleRef> ahead_;
  std::vector<BlockRows> skipped_;
  std::size_t taken_ = 0, given_before_ = 0;  // the latter of the step that comes next
};

class MixtureCursor final : public Cursor {
 public:
  MixtureCursor(const Mixture& mixture, const Walk& walk) : mixture_(mixture), walk_(walk) {
    const std::uint64_t at = walk.epoch * mixture.num_samples() + walk.position;
    for (std::size_t c = 0; c < mixture.parts().size(); ++c)
      sources_.emplace_back(mixture.parts()[c], mixture.shares().count_before(c, at));
  }

  void next_step(std::vector<SampleRef>& out, std::vector<BlockRows>& counted_elsewhere) override {
    const std::uint64_t total = mixture_.num_samples(), first = walk_.epoch * total;
    const std::uint64_t begin = walk_.begin_of(step_, total), end = walk_.begin_of(step_ + 1, total);
    ++step_;
    const ShareRange mine = share_of(walk_.share, end - begin);
    offset_ = mine.begin;
    for (std::uint64_t i = begin; i < end; ++i) {
      const SampleRef sample = sources_[mixture_.shares().source_of(first + i)].next(counted_elsewhere);
      const bool is_mine = i >= begin + mine.begin && i < begin + mine.end;
      if (is_mine)
        out.push_back(sample);
      else if (rows_in(sample.block) > 0)
        counted_elsewhere.push_back({sample.block, 1});
    }
  }
  [[nodiscard]] std::uint64_t offset() const override { return offset_; }
  [[nodiscard]] std::uint64_t rows_in(std::uint32_t block) const override {
    const auto& parts = mixture_.parts();
    const auto after = std::ranges::upper_bound(parts, std::uint64_t{block}, {}, &MixturePart::first_block);
    return sources_[static_cast<std::size_t>(after - parts.begin()) - 1].rows_in(block);
  }

 private:
  const Mixture& mixture_;
  Walk walk_;
  std::vector<SourceWalk> sources_;
  std::uint64_t step_ = 0, offset_ = 0;
};

std::unique_ptr<Cursor> Mixture::cursor(const Walk& walk) const {
  return std::make_unique<MixtureCursor>(*this, walk);
}

}  // namespace

std::unique_ptr<Sampler> make_mixture(std::vector<MixturePart> parts, std::uint64_t num_samples, std::uint64_t seed) {
  return std::make_unique<Mixture>(std::move(parts), num_samples, seed);
}

}  // namespace headrace
