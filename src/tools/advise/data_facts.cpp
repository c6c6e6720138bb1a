// What a forecast needs to know of the data, summed over all that its samples are made of.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "loader/engine/access.h"
#include "tools/advise/forecast.h"

namespace headrace {
namespace {

/// Return the bytes of all decoded rows, or of all voxels.
std::uint64_t decoded_bytes_of(const SampleSource& source, const Dataset& dataset) {
  const MappedSource* const mapped = source.mapped();
  if (mapped == nullptr) return dataset.size() * dataset.sample_bytes();
  std::uint64_t bytes = 0;
  for (const SourceGroup& group : mapped->groups)
    if (!mapped->boxes)
      bytes += group.layout.table->num_rows() * group.source->row_bytes();
    else
      for (const SourceFile& file : group.source->files)
        for (const auto& array : file.arrays) bytes += array->info().rows() * array->info().row_record_bytes();
  return bytes;
}

/// Is an array of a group's first file decoded in pieces that are more than what is asked for?
bool decodes_whole(const SampleSource& source, std::size_t group, const ArrayReader& array) {
  const MappedSource* const mapped = source.mapped();
  if (mapped != nullptr && mapped->boxes) return cells_are_decoded(mapped->boxes->volumes()[0].grids[group], array);
  return !array.info().chunk_shape.empty();
}

}  // namespace

DataFacts facts_of(const Dataset& dataset, const EnginePlan& plan) {
  const SampleSource& source = source_of(dataset);
  DataFacts facts;
  facts.rows = dataset.size();
  facts.epoch_samples = plan.sampler->num_samples();
  facts.sample_bytes = dataset.sample_bytes();
  facts.decoded_bytes = decoded_bytes_of(source, dataset);
  facts.is_mapped = source.mapped() != nullptr;
  facts.has_cells = facts.is_mapped && source.mapped()->boxes != nullptr;
  facts.varies = facts.is_mapped && source.mapped()->sizes.deviation_bytes > 0;
  facts.redraws = facts.is_mapped && (plan.draws_samples() || source.mixture() || !plan.sampler->traits().permutation);
  double chunked = 0, all = 0, leading = 0;
  std::set<std::string> codecs;
  const std::vector<const Source*> groups = source.stored();
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const SourceFile& file : groups[g]->files)
      for (const auto& array : file.arrays) {
        facts.stored_bytes += array->info().stored_bytes;
        if (const auto files = array->chunk_files(); files.ok() && *files) facts.stored_bytes += (*files)->bytes;
      }
    for (const auto& array : groups[g]->files[0].arrays) {
      const ArrayInfo& info = array->info();
      const double bytes = static_cast<double>(info.rows()) * static_cast<double>(info.row_record_bytes());
      all += bytes;
      if (decodes_whole(source, g, *array)) chunked += bytes;
      leading = std::max(leading, bytes);
      codecs.insert(info.codec_text());
      facts.slow_path = facts.slow_path || is_slow(info);
    }
  }
  if (all > 0) facts.chunked_share = chunked / all, facts.leading_share = leading / all;
  facts.codecs = fmt::format("{}", fmt::join(codecs, " / "));
  return facts;
}

}  // namespace headrace
