// print(dataset): what a sample is, and which path will decode it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <headrace/bytes.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "catalog/packing.h"
#include "dataset/dataset_contents.h"

namespace headrace {
namespace {

constexpr std::uint64_t kCostlyBytes = 64 << 10;  // some tens of microseconds: less is not worth a line

}  // namespace

std::string Dataset::describe() const {
  using Row = std::array<std::string, 7>;
  const bool of_volumes = impl_->source.mapped() && impl_->source.mapped()->boxes;
  std::vector<Row> table{
      {"field", "type", "sample shape", "bytes", of_volumes ? "chunk" : "chunk rows", "codec", "read by"}};
  std::vector<std::string> notes;
  for (std::size_t f = 0; f < fields().size(); ++f) {
    const Field& field = fields()[f];
    const FieldStorage& s = storage()[f];
    const ColumnPlace column = impl_->source.column_of(f);
    if (!column.source) {
      table.push_back({field.name, field.dtype.name(), field.dims.text(), format_bytes(field.row_bytes()), "any row",
                       "none", s.read_path});
      continue;
    }
    const ArrayInfo& info = column.info();
    const std::string chunk = of_volumes              ? Dims(s.chunk_shape).text()
                              : s.chunk_shape.empty() ? "any row"
                                                      : fmt::format("{}", info.rows_for_one());
    table.push_back({field.name, field.dtype.name(), field.dims.text(), format_bytes(field.row_bytes()),
                     chunk + (s.uniform ? "" : " *"), s.codec, s.read_path});
    if (field.name != field.path) notes.push_back(fmt::format("{} is {} in the files", field.name, field.path));
    if (!s.reason.empty())
      notes.push_back(fmt::format("{} is {} one call at a time: {}", field.name,
                                  s.read_path == "converted" ? "converted" : "read", s.reason));
    if (!s.uniform) notes.push_back(fmt::format("* {} is stored differently in some files", field.name));
    const std::uint64_t decoded_bytes = info.rows_for_one() * info.distinct_row_bytes();
    if (!of_volumes && !s.chunk_shape.empty() && decoded_bytes >= kCostlyBytes &&
        (s.read_path == "native" || s.read_path == "converted"))
      notes.push_back(fmt::format("one random row of {} decodes a {} of {}: take slices, or a Loader", field.name,
                                  info.page_rows > 0 ? "page" : "chunk", format_bytes(decoded_bytes)));
    if (info.repeats > 1)
      notes.push_back(fmt::format("{} has one value for {} samples{}", field.name, info.repeats,
                                  files().size() > 1 ? " of the first file" : ""));
  }
  Row::size_type columns = table[0].size();
  std::vector<std::size_t> width(columns, 0);
  for (const Row& row : table)
    for (std::size_t c = 0; c < columns; ++c) width[c] = std::max(width[c], row[c].size());
  std::string text = fmt::format("{} samples of {} in {} file{}", size(), format_bytes(sample_bytes()), files().size(),
                                 files().size() == 1 ? "" : "s");
  if (impl_->source.rows()) text += fmt::format(", blocks of {} rows", block_rows());
  text += '\n';
  if (const MappedSource* const mapped = impl_->source.mapped(); mapped && impl_->blocks->is_chosen()) {
    // Rows that belong to no sample are runs of the map as well, which are never chosen.
    const std::uint64_t runs = impl_->blocks->num_stored_rows();
    const std::uint64_t samples = mapped->maker ? mapped->maker->sample_number(runs) : runs;
    if (samples != size()) text += fmt::format("  selected from {} {}\n", samples, impl_->source.what());
    if (samples == size() && samples != runs) {
      const std::uint64_t rows = mapped->groups[0].layout.table->num_rows();
      const std::vector<std::uint64_t> own = lengths();
      text += fmt::format("  {} of {} rows belong to no sample\n",
                          rows - std::accumulate(own.begin(), own.end(), std::uint64_t{0}), rows);
    }
  }
  if (const Source* const source = impl_->source.rows()) {
    if (!source->files.empty() && !source->files[0].axes.empty())
      text += fmt::format("  samples are cells of the axes ({}){}\n", fmt::join(source->files[0].axes, ", "),
                          files().size() > 1 ? " in the first file" : "");
    if (source->chosen) text += fmt::format("  selected from {} rows\n", impl_->blocks->num_stored_rows());
    if (source->mixture)
      for (const SourceMixture::MixedFiles& part : source->mixture->parts)
        text += fmt::format("  {:.3g} % of the samples are drawn from {}\n", 100 * part.weight, part.name);
  }
  if (const Program* const program = impl_->source.program())
    for (const Transform& transform : program->transforms()) notes.push_back("through " + transform.text());
  if (impl_->node && (impl_->node->below || impl_->node->verb->name() != "files"))
    text += fmt::format("  made of {}\n", text_of(*impl_->node));
  for (const Row& row : table) {
    std::string line = " ";
    for (std::size_t c = 0; c < columns; ++c) line += fmt::format(" {:<{}}", row[c], width[c] + 1);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  notes.insert(notes.end(), notices().begin(), notices().end());
  const bool as_stored = impl_->source.rows() && !impl_->source.rows()->program;
  for (std::size_t f = 0; as_stored && f < impl_->attributes.size(); ++f)
    if (const auto packing = packing_of(impl_->attributes[f]))
      notes.push_back(fmt::format("{} is packed, as its attributes say; ds.map({}) unpacks it", fields()[f].name,
                                  unpacking_text(fields()[f].name, *packing)));
  constexpr std::size_t kLeftOutShown = 8;
  for (std::size_t i = 0; i < std::min(left_out().size(), kLeftOutShown); ++i)
    notes.push_back(fmt::format("left out: {}: {}", left_out()[i].path, left_out()[i].reason));
  if (left_out().size() > kLeftOutShown)
    notes.push_back(fmt::format("left out: {} more arrays", left_out().size() - kLeftOutShown));
  for (const std::string& note : notes) text += "  " + note + "\n";
  return text;
}

}  // namespace headrace
