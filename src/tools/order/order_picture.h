// Which parts of the data the batches of an epoch come from, as characters and as SVG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "order/sampler.h"

namespace headrace {

/// Share of each part of the data (columns, in file order) in some batches spread over an epoch (rows).
struct OrderPicture {
  std::size_t columns = 0;
  std::vector<std::uint64_t> batches;       ///< Number of the batch that each row shows.
  std::vector<std::vector<double>> shares;  ///< [row][column], of the batch; sums to 1.

  /// Return the lines of characters: blank where nothing comes from, up to '@' for four times an equal share and more.
  [[nodiscard]] std::vector<std::string> lines() const;
  /// Return the same as a picture of its own.
  [[nodiscard]] std::string svg() const;
};

/// Draw batches of `global_batch` samples, the last of an epoch among them.
OrderPicture draw_order(const Sampler& sampler, const BlockTable& blocks, std::uint64_t global_batch,
                        std::uint64_t epoch, std::size_t rows, std::size_t columns);

}  // namespace headrace
