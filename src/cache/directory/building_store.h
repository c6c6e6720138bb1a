// BuildingStore: the RowStore over a cache that is being built (build_files.h).
#pragma once

#include <memory>

#include "cache/block_states.h"
#include "cache/directory/build_files.h"

namespace headrace {

class BuildingStore final : public RowStore {
 public:
  /// \param name  Of the folder now, in `directory`; the lock that `files` hold is shared.
  BuildingStore(Folder directory, std::string name, CachePlan plan, BuildFiles files);

  [[nodiscard]] const RowLayout& layout() const override { return plan_.layout; }
  [[nodiscard]] const std::byte* field(std::size_t field) const override { return files_.rows.field(field); }
  [[nodiscard]] bool random_access() const override { return files_.rows.random_access(); }
  void will_need(std::uint64_t block, RowRange rows) const override {
    files_.rows.will_need(plan_.layout, block, rows);
  }
  Lookup look_up(std::uint64_t block) override;
  [[nodiscard]] bool ready(std::uint64_t block) const override { return states_.ready(block); }
  [[nodiscard]] bool can_fill(std::uint64_t block) const override { return states_.can_fill(block); }
  bool wait(std::uint64_t block, std::chrono::nanoseconds limit) override { return states_.wait(block, limit); }
  /// Return null: a store to a mapped page that finds the disk full would end in SIGBUS.
  [[nodiscard]] std::byte* writable(std::size_t, std::uint64_t) override { return nullptr; }
  Status put(std::uint64_t block, std::span<const std::byte* const> rows) override;
  bool publish(std::uint64_t block) override { return states_.publish(block); }
  void abandon(std::uint64_t block) override { states_.abandon(block); }
  [[nodiscard]] bool complete() const override { return states_.complete(); }
  [[nodiscard]] std::uint64_t ready_blocks() const override { return states_.ready_blocks(); }
  Status finish() override;
  /// Do nothing: what a former run left is verified by look_up(): a ready block was.
  Status check(std::uint64_t) override { return {}; }
  [[nodiscard]] bool all_checked() const override { return true; }
  [[nodiscard]] std::uint64_t charged_bytes() const override { return 0; }

 private:
  [[nodiscard]] bool is_in_place(std::uint64_t block) const;
  Status check_sources() const;
  Status commit();
  [[nodiscard]] std::atomic<std::uint32_t>& checksum(std::size_t field, std::uint64_t block) const {
    return checksums_[field * plan_.layout.num_blocks() + block];
  }

  const Folder directory_;
  const std::string name_;
  const CachePlan plan_;
  const BuildFiles files_;
  BlockStates states_;
  std::atomic<std::uint32_t>* const checksums_;
};

}  // namespace headrace
