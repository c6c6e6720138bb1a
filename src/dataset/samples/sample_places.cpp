// Where samples lie along the axes that they are cells of.
#include <fmt/format.h>

#include <algorithm>

#include "dataset/dataset_contents.h"
#include "dataset/recipe/refuse.h"

namespace headrace {

std::vector<std::vector<std::uint64_t>> Dataset::sample_shapes() const {
  if (!impl_->source.rows()) return {{size()}};
  std::vector<std::vector<std::uint64_t>> shapes;
  for (const SourceFile& file : impl_->source.rows()->files)
    shapes.push_back(file.axes.empty() ? std::vector<std::uint64_t>{file.rows} : file.axes);
  return shapes;
}

std::vector<std::int64_t> Dataset::sample_index(std::span<const std::uint64_t> rows) const {
  if (!impl_->source.rows()) throw refuse(fmt::format("{} have no places along axes", impl_->source.what()));
  const Source& source = *impl_->source.rows();
  const std::vector<std::vector<std::uint64_t>> shapes = sample_shapes();
  const std::size_t num_axes = shapes.empty() ? 1 : shapes[0].size();
  std::vector<std::uint64_t> first_row{0}, first_index{0};  // of each file
  for (std::size_t f = 0; f < shapes.size(); ++f) {
    if (shapes[f].size() != num_axes)
      throw refuse("the parts of the mixture were opened with different sample_axes",
                   "Ask each part for the places of its own samples.");
    first_row.push_back(first_row.back() + source.files[f].rows);
    first_index.push_back(first_index.back() + shapes[f][0]);
  }
  const RowSet* const chosen = source.chosen.get();
  std::vector<std::int64_t> index(rows.size() * num_axes);
  std::size_t file = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] >= size())
      throw Error(ErrorCode::kInvalidArgument, fmt::format("row {} was asked for; there are {}", rows[i], size()));
    const std::uint64_t row = chosen ? (*chosen)[rows[i]] : rows[i];
    if (row < first_row[file] || row >= first_row[file + 1])
      file = static_cast<std::size_t>(std::ranges::upper_bound(first_row, row) - first_row.begin()) - 1;
    std::uint64_t left = row - first_row[file];
    for (std::size_t d = num_axes; d-- > 1; left /= shapes[file][d])
      index[i * num_axes + d] = static_cast<std::int64_t>(left % shapes[file][d]);
    index[i * num_axes] = static_cast<std::int64_t>(first_index[file] + left);
  }
  return index;
}

}  // namespace headrace
