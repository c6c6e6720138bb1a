// InPlaceStore: a RowStore in memory that its fillers write to directly, whatever owns the memory.
#pragma once

#include <cstring>
#include <utility>

#include "cache/block_states.h"
#include "cache/row_layout.h"
#include "cache/row_store.h"

namespace headrace {

/// What is left to derive: field(), look_up(), writable(), charged_bytes(). Nothing needs checking: the memory was
/// filled by processes that run.
class InPlaceStore : public RowStore {
 public:
  [[nodiscard]] const RowLayout& layout() const final { return layout_; }
  [[nodiscard]] bool ready(std::uint64_t block) const final { return states_.ready(block); }
  [[nodiscard]] bool can_fill(std::uint64_t block) const override { return states_.can_fill(block); }
  bool wait(std::uint64_t block, std::chrono::nanoseconds limit) final { return states_.wait(block, limit); }
  Status put(std::uint64_t block, std::span<const std::byte* const> rows) final {
    for (std::size_t field = 0; field < layout_.fields.size(); ++field) {
      const std::uint64_t size_bytes = block_bytes(layout_, field, block).size;
      if (size_bytes != 0) std::memcpy(writable(field, block), rows[field], size_bytes);
    }
    return {};
  }
  bool publish(std::uint64_t block) final { return states_.publish(block); }
  void abandon(std::uint64_t block) final { states_.abandon(block); }
  [[nodiscard]] bool complete() const final { return states_.complete(); }
  [[nodiscard]] std::uint64_t ready_blocks() const final { return states_.ready_blocks(); }
  Status check(std::uint64_t) final { return {}; }
  [[nodiscard]] bool all_checked() const final { return true; }

 protected:
  /// \param words  The states' memory, of BlockStates::bytes_for(); it outlives the store.
  InPlaceStore(RowLayout layout, std::byte* words) : layout_(std::move(layout)), states_(words, layout_.num_blocks()) {}
  /// Claim a block as look_up() does, where there is always room.
  Lookup claim(std::uint64_t block) {
    const BlockStates::Claim claim = states_.claim(block);
    return claim == BlockStates::Claim::kReady  ? Lookup::kReady
           : claim == BlockStates::Claim::kBusy ? Lookup::kBusy
                                                : Lookup::kFill;
  }

  const RowLayout layout_;

 private:
  BlockStates states_;
};

}  // namespace headrace
