// PieceGeometries: where the bytes of rows lie in the pieces that a thread has met.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "catalog/row_geometry.h"

namespace headrace {

/// Keeps what takes longer to work out than to look up, for no more than some thousand columns of pieces: thousands of
/// files, or of chunks across a row, would take more memory than all batches. No budget counts it, so it stays small.
/// Threads: one at a time.
class PieceGeometries {
 public:
  static constexpr std::size_t kMost = 4096;

  /// Return what `make` returned for the pieces at `across` of an array, calling it where that is not known (any more).
  /// It stays valid until the next call. \param array  Whatever is an array of its own, by address.
  template <class Make>
  const std::vector<RowGeometry>& get(const void* array, std::uint32_t across, Make&& make) {
    const Key key{array, across};
    if (const auto known = geometries_.find(key); known != geometries_.end()) return known->second;
    std::vector<RowGeometry> made = make();
    if (size_ + made.size() > kMost) {  // a block's pieces are met together: what comes next is hardly here
      geometries_.clear();
      size_ = 0;
    }
    size_ += made.size();
    return geometries_.emplace(key, std::move(made)).first->second;
  }
  /// Return how many geometries are kept.
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Key {
    const void* array;
    std::uint32_t across;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return std::hash<const void*>()(key.array) * 31 + key.across * std::size_t{0x9e3779b97f4a7c15};
    }
  };
  std::unordered_map<Key, std::vector<RowGeometry>, Hash> geometries_;
  std::size_t size_ = 0;
};

}  // namespace headrace
