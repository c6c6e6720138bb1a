// What a batch has in blocks of a store that is still being filled: threads that gather batches at the same time share
// the decoding.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "cache/row_store.h"

namespace headrace {

/// Serve items, each what a batch has in one block: first those in blocks that no other thread decodes, from a place
/// that differs from batch to batch, as batches at one time want nearly the same blocks; then the others. While a block
/// of these is waited for, some behind it are decoded: an order that goes through the files wants them next.
/// \param sequence  Number of the batch. \param busy  Scratch. \param block_of  Return the block of an item. \param
/// serve  Serve an item, decoding its block into the store where it is not there. \param ahead  Decode a block into the
/// store, if some sample may want it.
template <class Item, class BlockOf, class Serve, class Ahead>
void serve_missing(const RowStore& store, std::span<Item> items, std::uint64_t sequence, std::vector<Item>& busy,
                   const BlockOf& block_of, const Serve& serve, const Ahead& ahead,
                   const std::atomic<bool>& cancelled) {
  constexpr double kGolden = 0.6180339887498949;
  constexpr std::uint64_t kDecodedBehind = 16;
  const double turn = kGolden * static_cast<double>(sequence);
  const auto begin = static_cast<std::ptrdiff_t>((turn - std::floor(turn)) * static_cast<double>(items.size()));
  std::rotate(items.begin(), items.begin() + begin, items.end());
  busy.clear();
  for (const Item& item : items)
    if (store.can_fill(block_of(item)))
      serve(item);
    else
      busy.push_back(item);
  for (const Item& item : busy) {
    const std::uint64_t block = block_of(item),
                        last = std::min(block + kDecodedBehind, store.layout().num_blocks() - 1);
    for (std::uint64_t next = block + 1; next <= last && !store.ready(block) && !cancelled; ++next)
      if (store.can_fill(next)) ahead(next);
    serve(item);
  }
}

}  // namespace headrace
