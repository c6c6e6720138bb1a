// BlockFiller: a block on its way from its decoder to where decoded blocks stay (DecodedCache).
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "assembly/block_layout.h"
#include "assembly/kept/decoded_cache.h"
#include "assembly/kept/keep_policy.h"
#include "assembly/window/copy_digest.h"
#include "base/memory/page_buffer.h"
#include "base/stage_clock.h"
#include "cache/blocks/block_form.h"
#include "catalog/row_geometry.h"

namespace headrace {

/// A block to serve.
struct BlockTask {
  std::uint64_t block = 0;  ///< For the cache.
  std::uint32_t file = 0;
  RowRange rows;                   ///< In the file.
  bool first = true;               ///< Count this decode as needed, not as amplification.
  std::uint64_t next_use = 0;      ///< Next use of the block, after this one; see BlockCache.
  KeepPolicy::Moment moment = {};  ///< By which it is decided whether the block is kept.
};

/// One thread's. At most one block at a time is under way. Threads: one.
class BlockFiller {
 public:
  BlockFiller(const BlockForm& form, const BlockLayout& layout, StageClock& clock)
      : form_(form), layout_(layout), clock_(clock) {}
  ~BlockFiller() { abandon(); }
  BlockFiller(const BlockFiller&) = delete;
  BlockFiller& operator=(const BlockFiller&) = delete;

  /// Let the caller fill the block of `task`: fill, then finish() or abandon(). \return False, and the block is
  /// abandoned, where there is no memory for it.
  bool begin_in_store(DecodedCache& decoded_cache, RowStore& store, const BlockTask& task);
  bool begin_in_cache(DecodedCache& decoded_cache, const BlockTask& task);
  [[nodiscard]] bool active() const { return where_ != kNowhere; }

  /// Return where a piece can be decoded to, so that its rows need not be moved: those of one field, whole, and of this
  /// block only. Empty where that is not so.
  [[nodiscard]] std::span<std::byte> place(std::span<const std::size_t> fields, const RowGeometry& geometry,
                                           const Piece& piece) const;
  /// Keep the rows of one decoded piece. \param first_row  Number of the block's first row.
  void fill(std::span<const std::size_t> fields, std::span<const RowGeometry> geometries, const RowsAt& decoded,
            std::uint64_t first_row);
  /// Finish: every row was filled.
  void finish();
  /// Give up the block, which was not decoded whole: another thread may fill it.
  void abandon();

  /// Scratch of one thread.
  struct Need {
    std::uint64_t dense_bytes = 0;  ///< For a block, decoded.
    std::uint64_t coded_bytes = 0;  ///< And encoded.
  };
  static Need need(const BlockForm& form, const BlockLayout& layout);
  void release() { dense_.reset(), coded_.reset(); }
  /// Return the nanoseconds that keeping took since this was last asked: fresh memory, copies, encoding.
  std::uint64_t take_keep_ns() { return std::exchange(keep_ns_, 0); }
  /// Return what is allocated now, as a budget counts it.
  [[nodiscard]] std::uint64_t scratch_bytes() const { return dense_.charged_bytes() + coded_.charged_bytes(); }

 private:
  enum Where : std::uint8_t { kNowhere, kStore, kCache };
  bool use_scratch(bool encodes);
  void put_block();

  const BlockForm& form_;
  const BlockLayout& layout_;
  StageClock& clock_;
  DecodedCache* decoded_cache_ = nullptr;
  RowStore* store_ = nullptr;  // kStore: this one
  BlockTask task_;
  Where where_ = kNowhere;
  bool in_place_ = false;           // the store's own memory, not scratch
  std::vector<std::byte*> fields_;  // where the block's first row of each field goes
  PageBuffer dense_, coded_;
  std::uint64_t keep_ns_ = 0;
};

}  // namespace headrace
