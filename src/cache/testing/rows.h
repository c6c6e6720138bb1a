// Rows for the tests of this layer: every byte says which row of which field it belongs to.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "cache/row_layout.h"
#include "cache/row_store.h"

namespace headrace::testing_rows {

inline std::byte byte_at(std::size_t field, std::uint64_t offset, std::uint64_t seed = 0) {
  const std::uint64_t x = (offset + 1) * 0x9E3779B97F4A7C15u + field * 0xD1B54A32D192ED03u + seed;
  return static_cast<std::byte>((x ^ (x >> 29)) >> 24 & 0xFF);
}

/// Two fields: "image", float32 (3, 5), and "label", int64; blocks of `block_rows`, the last one shorter.
inline RowLayout layout_of(std::uint64_t rows, std::uint64_t block_rows) {
  RowLayout layout;
  layout.fields = {{"image", "data/image", {DType::Kind::kFloat, 4}, {3, 5}},
                   {"label", "label", {DType::Kind::kInt, 8}, {}}};
  for (std::uint64_t start = 0; start < rows; start += block_rows) layout.block_starts.push_back(start);
  layout.block_starts.push_back(rows);
  return layout;
}

inline std::vector<std::vector<std::byte>> rows_of(const RowLayout& layout, std::uint64_t block,
                                                   std::uint64_t seed = 0) {
  std::vector<std::vector<std::byte>> rows(layout.fields.size());
  for (std::size_t field = 0; field < rows.size(); ++field) {
    const ByteRange range = block_bytes(layout, field, block);
    rows[field].resize(range.size);
    for (std::uint64_t i = 0; i < range.size; ++i) rows[field][i] = byte_at(field, range.offset + i, seed);
  }
  return rows;
}

inline Status put_rows(RowStore& store, std::uint64_t block, std::uint64_t seed = 0) {
  const auto rows = rows_of(store.layout(), block, seed);
  std::vector<const std::byte*> pointers;
  for (const auto& field : rows) pointers.push_back(field.data());
  return store.put(block, pointers);
}

inline bool has_rows(const RowStore& store, std::uint64_t block, std::uint64_t seed = 0) {
  const auto rows = rows_of(store.layout(), block, seed);
  for (std::size_t field = 0; field < rows.size(); ++field)
    if (!rows[field].empty() && std::memcmp(store.field(field) + block_bytes(store.layout(), field, block).offset,
                                            rows[field].data(), rows[field].size()) != 0)
      return false;
  return true;
}

/// Fill what is not filled yet, as the callers do. \return False if something did not go as it should.
inline bool fill_all(RowStore& store, std::uint64_t seed = 0) {
  for (std::uint64_t block = 0; block < store.layout().num_blocks(); ++block) {
    const RowStore::Lookup take = store.look_up(block);
    if (take == RowStore::Lookup::kReady) continue;
    if (take != RowStore::Lookup::kFill || !put_rows(store, block, seed).ok()) return false;
    if (store.publish(block) && !store.finish().ok()) return false;
  }
  return store.complete();
}

}  // namespace headrace::testing_rows
