// Grouped: groups of consecutive rows, such as files or events, in order or shuffled, and batches of whole groups.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "order/sampler.h"
#include "order/steps/cut_steps.h"

namespace headrace {

/// Groups of consecutive rows: together all rows of a data set, none of them empty.
struct GroupTable {
  std::string by;                     ///< "file", "axis 0", or the field that is equal in a group's rows.
  std::vector<std::uint64_t> starts;  ///< First row of each group; at the end the number of all rows.
  std::vector<std::int64_t> numbers;  ///< What each group is called; ascending.
  std::uint64_t num_numbers = 0;      ///< Above all of them: groups that have no rows have numbers too.
  [[nodiscard]] std::uint64_t size() const { return numbers.size(); }
};

/// Return the files of a table as groups, by their numbers; files without rows are left out.
GroupTable groups_by_file(const BlockTable& blocks);

/// What a batch of groups holds at most.
struct GroupLimits {
  std::uint64_t items = 0;   ///< Rows, at least 1.
  std::uint64_t groups = 0;  ///< 0: as many as there is room for.
};

/// One epoch of groups. Immutable.
class GroupEpoch final : public EpochCut {
 public:
  /// \param order  Groups in the order of the epoch; empty: as they are.
  GroupEpoch(std::shared_ptr<const BlockTable> blocks, std::shared_ptr<const GroupTable> groups,
             std::vector<std::uint32_t> order, GroupLimits most);
  [[nodiscard]] std::span<const std::uint64_t> batch_ends() const override { return batch_ends_; }
  void append(PositionRange range, std::vector<SampleRef>& out) const override;
  void find_block(std::uint32_t block, std::vector<PositionRange>& out) const override;
  /// Return the row of the data set at a position.
  [[nodiscard]] std::uint64_t row_at(std::uint64_t position) const;
  /// Write the number of the group of each position of a range, and append to `offsets` where groups begin in the
  /// range, and at the end its length.
  void number(PositionRange range, std::int64_t* numbers, std::vector<std::int64_t>& offsets) const;

 private:
  /// Return the place in the epoch of the group at a position.
  [[nodiscard]] std::uint64_t place_at(std::uint64_t position) const;
  [[nodiscard]] std::uint64_t group_at(std::uint64_t place) const { return order_.empty() ? place : order_[place]; }

  const std::shared_ptr<const BlockTable> blocks_;
  const std::shared_ptr<const GroupTable> groups_;
  const std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> places_;  // of each group; empty: as they are
  std::vector<std::uint64_t> begins_;  // positions before each place, and of all
  std::vector<std::uint64_t> batch_ends_;
};

/// The order of groups, and its cuts: as many whole groups a batch as the limits allow. A group of more rows than a
/// batch holds is cut every so many; others may follow its last piece.
class Grouped final : public Sampler, public BatchCuts {
 public:
  Grouped(std::shared_ptr<const BlockTable> blocks, std::shared_ptr<const GroupTable> groups, GroupLimits most,
          bool shuffle, std::uint64_t seed);

  // As a Sampler.
  [[nodiscard]] std::uint64_t num_samples() const override { return groups_->starts.back(); }
  [[nodiscard]] std::unique_ptr<Cursor> cursor(const Walk& walk) const override;
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::uint64_t span_steps(std::uint64_t global_batch, RankShare share) const override;
  [[nodiscard]] OrderTraits traits() const override { return {.local = is_local_}; }
  [[nodiscard]] std::uint64_t memory_bytes(RankShare share) const override;

  // As BatchCuts.
  [[nodiscard]] std::shared_ptr<const EpochCut> epoch(std::uint64_t number) const override {
    return group_epoch(number);
  }
  [[nodiscard]] std::uint64_t most_batch_rows() const override;
  [[nodiscard]] std::uint64_t span_batches() const override;
  /// Return the order's identity; where batches end is no part of it: an order may be resumed with other limits.
  [[nodiscard]] std::string identity() const override;

  /// Return an epoch. Cost: O(groups), kept for the epochs asked for last. Threads: any.
  [[nodiscard]] std::shared_ptr<const GroupEpoch> group_epoch(std::uint64_t number) const;
  [[nodiscard]] const GroupTable& groups() const { return *groups_; }

 private:
  const std::shared_ptr<const BlockTable> blocks_;
  const std::shared_ptr<const GroupTable> groups_;
  [[nodiscard]] std::uint64_t most_batches(std::uint64_t rows) const;

  const GroupLimits most_;
  const std::uint64_t seed_;
  const bool shuffle_, is_local_;
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<std::uint64_t, std::shared_ptr<const GroupEpoch>>> epochs_;  // the last used at the end
};

}  // namespace headrace
