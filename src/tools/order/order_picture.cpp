#include "tools/order/order_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace headrace {
namespace {
constexpr double kFullShades = 4;  // times an equal share
}

OrderPicture draw_order(const Sampler& sampler, const BlockTable& blocks, std::uint64_t global_batch,
                        std::uint64_t epoch, std::size_t rows, std::size_t columns) {
  OrderPicture picture;
  const std::uint64_t total = blocks.num_rows();
  const std::uint64_t steps = (sampler.num_samples() + global_batch - 1) / global_batch;
  picture.columns = std::min<std::size_t>(columns, std::max<std::uint64_t>(total, 1));
  const std::size_t shown = std::min<std::uint64_t>(rows, steps);
  for (std::size_t r = 0; r < shown; ++r) {
    const std::uint64_t step = shown == 1 ? 0 : r * (steps - 1) / (shown - 1);
    std::vector<SampleRef> samples;
    std::vector<BlockRows> passed;
    sampler.cursor({epoch, step * global_batch, global_batch, {}})->next_step(samples, passed);
    std::vector<double> share(picture.columns, 0);
    for (const SampleRef s : samples) {
      const std::uint64_t row = blocks.first_row(s.block) + s.row;
      share[static_cast<std::size_t>(row * picture.columns / total)] += 1 / static_cast<double>(samples.size());
    }
    picture.batches.push_back(step);
    picture.shares.push_back(std::move(share));
  }
  return picture;
}

std::vector<std::string> OrderPicture::lines() const {
  constexpr std::string_view kShades = " .:-=+*#%@";
  std::vector<std::string> out;
  for (const auto& row : shares) {
    std::string line;
    for (const double share : row) {
      const double shade = share * static_cast<double>(columns) / kFullShades * static_cast<double>(kShades.size() - 1);
      const auto i = share > 0 ? std::max<std::size_t>(1, static_cast<std::size_t>(shade)) : 0;
      line += kShades[std::min(i, kShades.size() - 1)];
    }
    out.push_back(std::move(line));
  }
  return out;
}

std::string OrderPicture::svg() const {
  constexpr int kCell = 8, kLeft = 70, kTop = 30;
  const auto width = kLeft + kCell * static_cast<int>(columns) + 10;
  const auto height = kTop + kCell * static_cast<int>(shares.size()) + 10;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" font-family=\"sans-serif\" "
      "font-size=\"11\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"20\">where batches come from: the data in file order, left to right</text>\n",
      width, height, kLeft);
  for (std::size_t r = 0; r < shares.size(); ++r) {
    const int y = kTop + kCell * static_cast<int>(r);
    if (r % 4 == 0) out += fmt::format("<text x=\"5\" y=\"{}\">batch {}</text>\n", y + kCell, batches[r]);
    for (std::size_t c = 0; c < columns; ++c) {
      const double shade = std::min(shares[r][c] * static_cast<double>(columns) / kFullShades, 1.0);
      if (shade <= 0) continue;
      out +=
          fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#1f4e79\" fill-opacity=\"{:.2f}\"/>\n",
                      kLeft + kCell * static_cast<int>(c), y, kCell, kCell, std::max(shade, 0.05));
    }
  }
  return out + "</svg>\n";
}

}  // namespace headrace
