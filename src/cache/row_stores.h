// RowStores: all rows of a data set, decoded: a RowStore for each group of columns that decode together.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cache/row_store.h"

namespace headrace {

/// At least one. Units are the blocks of all groups, numbered on from group to group, as SampleMap does. Threads: all
/// members from any thread at once.
class RowStores {
 public:
  explicit RowStores(std::vector<std::shared_ptr<RowStore>> groups) : groups_(std::move(groups)) {}

  [[nodiscard]] std::size_t size() const { return groups_.size(); }
  [[nodiscard]] RowStore& operator[](std::size_t group) const { return *groups_[group]; }
  [[nodiscard]] std::uint64_t num_units() const;
  [[nodiscard]] std::uint64_t ready_units() const;
  /// Return true if a unit may be read.
  [[nodiscard]] bool ready(std::uint64_t unit) const;
  /// Return true if every unit may be read.
  [[nodiscard]] bool complete() const;
  /// Return whether rows of all groups can be read from anywhere, at the speed of memory.
  [[nodiscard]] bool random_access() const;
  /// Return false while some ready unit was never compared with its checksum.
  [[nodiscard]] bool all_checked() const;
  /// Make what is complete last, as RowStore::finish(). Errors: the first.
  Status finish();
  /// Return the memory that this process must pay for.
  [[nodiscard]] std::uint64_t charged_bytes() const;
  /// Be the one that is charged, where the one that was is gone. \return True if that changed charged_bytes().
  bool take_charge();
  /// Be charged no longer.
  void drop_charge();

 private:
  const std::vector<std::shared_ptr<RowStore>> groups_;
};

}  // namespace headrace
