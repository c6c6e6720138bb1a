#include "assembly/mapped_source.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "assembly/copying/transform_finisher.h"

namespace headrace {
namespace {

constexpr std::uint64_t kSamplesAtOnce = 4096;

/// Bytes of a row of each group.
std::vector<std::uint64_t> row_bytes_of(const MappedSource& mapped) {
  std::vector<std::uint64_t> bytes;
  for (std::size_t g = 0; g < mapped.groups.size(); ++g)
    bytes.push_back(mapped.groups[g].source->row_bytes() * (mapped.boxes ? mapped.boxes->box_elements(g) : 1));
  return bytes;
}

/// Bytes that a sample takes.
struct Weights {
  std::uint64_t fixed_bytes = 0;         ///< Whatever its length.
  std::vector<std::uint64_t> row_bytes;  ///< For each row of a ragged group, by group.
};

Weights weights_of(const MappedSource& mapped) {
  Weights weights{0, row_bytes_of(mapped)};
  const std::span<const UnitGroup> groups = mapped.map->groups();
  for (std::size_t g = 0; g < groups.size(); ++g)
    if (groups[g].rows == UnitGroup::Rows::kFixed)
      weights.fixed_bytes += groups[g].rows_per_sample * weights.row_bytes[g];
  return weights;
}

/// The same of samples that go through a program: its ragged fields are those of the first group.
Weights weights_of(const MappedSource& mapped, const Program& program) {
  Weights weights{0, std::vector<std::uint64_t>(mapped.groups.size())};
  for (const std::vector<Field>* const fields : {&program.fields(), &program.staged_fields()})
    for (const Field& field : *fields)
      (field.dims.is_ragged() ? weights.row_bytes[0] : weights.fixed_bytes) += field.row_bytes();
  return weights;
}

bool is_ragged(const MappedSource& mapped) {
  return std::ranges::any_of(mapped.map->groups(),
                             [](const UnitGroup& group) { return group.rows == UnitGroup::Rows::kRagged; });
}

Weights weights_in_slot(const MappedSource& mapped) {
  return mapped.program ? weights_of(mapped, *mapped.program) : weights_of(mapped);
}

/// Return the bytes of each sample. \param rows  Room for lengths.
void weigh(const MappedSource& mapped, const Weights& weights, std::span<const SampleRef> samples,
           std::vector<std::uint64_t>& rows, std::vector<std::uint64_t>& bytes) {
  const std::span<const UnitGroup> groups = mapped.map->groups();
  bytes.assign(samples.size(), weights.fixed_bytes);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].rows == UnitGroup::Rows::kFixed) continue;
    rows.clear();
    mapped.map->lengths(samples, g, rows);
    for (std::size_t i = 0; i < rows.size(); ++i) bytes[i] += rows[i] * weights.row_bytes[g];
  }
}

/// Calls `take` with the bytes of each sample, in the order of the shuffle blocks.
template <class Take>
void for_each_sample(const MappedSource& mapped, const Weights& weights, Take take) {
  const BlockTable& blocks = *mapped.map->shuffle_blocks();
  std::vector<SampleRef> samples;
  std::vector<std::uint64_t> rows, bytes;
  for (std::uint32_t block = 0; block < blocks.num_blocks(); ++block)
    for (std::uint64_t first = 0; first < blocks.block_rows(block); first += kSamplesAtOnce) {
      samples.clear();
      for (std::uint64_t i = first; i < std::min(first + kSamplesAtOnce, blocks.block_rows(block)); ++i)
        samples.push_back({block, static_cast<std::uint32_t>(i)});
      weigh(mapped, weights, samples, rows, bytes);
      std::ranges::for_each(bytes, take);
    }
}

SampleSizes measure(const MappedSource& mapped, const Weights& weights) {
  const std::span<const UnitGroup> groups = mapped.map->groups();
  const std::uint64_t fixed_bytes = weights.fixed_bytes;
  SampleSizes sizes{static_cast<double>(fixed_bytes), 0, fixed_bytes, 0, fixed_bytes};
  for (std::size_t g = 0; g < groups.size(); ++g)
    if (groups[g].rows == UnitGroup::Rows::kRagged) sizes.ragged_row_bytes += weights.row_bytes[g];
  const std::uint64_t samples = mapped.map->shuffle_blocks()->num_rows();
  if (!is_ragged(mapped) || samples == 0) return sizes;
  sizes.most_bytes = 0;
  double sum = 0, squares = 0;
  std::uint64_t number = 0;
  for_each_sample(mapped, weights, [&](std::uint64_t n) {
    sum += static_cast<double>(n);
    squares += static_cast<double>(n) * static_cast<double>(n);
    if (n > sizes.most_bytes) sizes.most_bytes = n, sizes.largest = number;
    ++number;
  });
  const auto count = static_cast<double>(samples);
  sizes.mean_bytes = sum / count;
  sizes.deviation_bytes = std::sqrt(std::max(0.0, squares / count - sizes.mean_bytes * sizes.mean_bytes));
  return sizes;
}

/// Extents of a sample of a group's column.
Dims dims_of(const MappedSource& mapped, std::size_t group, const StoredColumn& column) {
  std::vector<std::uint64_t> extents;
  if (mapped.boxes) {
    for (std::size_t axis = 0; axis < mapped.boxes->rank(group); ++axis)
      extents.push_back(mapped.boxes->box(group)[axis]);
    return Dims(std::move(extents));
  }
  const UnitGroup& unit = mapped.map->groups()[group];
  if (unit.rows == UnitGroup::Rows::kRagged)
    extents.push_back(Dims::kRagged);
  else if (!unit.is_row)
    extents.push_back(unit.rows_per_sample);
  extents.insert(extents.end(), column.shape.begin(), column.shape.end());
  return Dims(std::move(extents));
}

}  // namespace

std::uint64_t SampleSizes::largest_batch_bytes(std::uint64_t samples) const {
  const auto n = static_cast<double>(samples);
  const double likely = n * mean_bytes + 8 * std::sqrt(n) * deviation_bytes + static_cast<double>(most_bytes);
  const double most = n * static_cast<double>(most_bytes);
  return static_cast<std::uint64_t>(std::min(likely, most));
}

std::uint64_t largest_run_bytes(const MappedSource& mapped, std::uint64_t samples) {
  samples = std::min(samples, mapped.map->shuffle_blocks()->num_rows());
  if (!is_ragged(mapped) || samples == 0) return samples * mapped.sizes.most_bytes;
  std::vector<std::uint64_t> last(samples);  // a ring of the samples in the run
  std::uint64_t sum = 0, most = 0, number = 0;
  for_each_sample(mapped, weights_in_slot(mapped), [&](std::uint64_t bytes) {
    std::uint64_t& oldest = last[number++ % samples];
    sum += bytes - oldest;
    oldest = bytes;
    most = std::max(most, sum);
  });
  return most;
}

std::uint64_t bytes_of(const MappedSource& mapped, std::span<const std::uint64_t> samples) {
  if (!is_ragged(mapped)) return samples.size() * mapped.sizes.most_bytes;
  const Weights weights = weights_in_slot(mapped);
  const BlockTable& blocks = *mapped.map->shuffle_blocks();
  std::vector<SampleRef> some;
  std::vector<std::uint64_t> rows, bytes;
  std::uint64_t sum = 0;
  for (std::size_t first = 0; first < samples.size(); first += kSamplesAtOnce) {
    some.clear();
    for (const std::uint64_t sample : samples.subspan(first, std::min(kSamplesAtOnce, samples.size() - first))) {
      const BlockTable::RowPlace at = blocks.find(sample);
      some.push_back({static_cast<std::uint32_t>(at.block), at.row_in_block});
    }
    weigh(mapped, weights, some, rows, bytes);
    sum = std::accumulate(bytes.begin(), bytes.end(), sum);
  }
  return sum;
}

Result<std::shared_ptr<MappedSource>> make_mapped_source(std::shared_ptr<const SampleMap> map,
                                                         std::shared_ptr<const BoxMap> boxes,
                                                         std::vector<SourceGroup> groups, std::string identity) {
  for (const SourceGroup& group : groups) {
    if (group.source->program || group.source->finisher)  // slots are sized by stored columns
      return Error(ErrorCode::kUnsupported, "windows, spans and patches cannot be made of transformed rows")
          .with_file(group.source->files[0].path)
          .with_hint("Make them of the stored rows, and transform the samples: map() comes last.");
    // Maps speak of stored rows; of chosen ones they would mean others.
    if (group.source->chosen)
      return Error(ErrorCode::kUnsupported, "windows, spans and patches cannot be made of selected rows yet")
          .with_file(group.source->files[0].path)
          .with_hint("Make them of the whole data set.");
  }
  auto mapped = std::make_shared<MappedSource>(
      MappedSource{nullptr, std::move(map), std::move(boxes), std::move(groups), std::move(identity), {}});
  mapped->sizes = measure(*mapped, weights_of(*mapped));
  mapped->stored_sample_bytes = static_cast<std::uint64_t>(mapped->sizes.mean_bytes);
  std::vector<Field> fields;
  for (std::size_t g = 0; g < mapped->groups.size(); ++g)
    for (const StoredColumn& column : *mapped->groups[g].source->columns)
      fields.push_back({column.name, column.path, column.dtype, dims_of(*mapped, g, column), {}});
  mapped->fields = std::make_shared<const std::vector<Field>>(std::move(fields));
  return mapped;
}

void set_program(MappedSource& mapped, std::shared_ptr<const Program> program) {
  mapped.fields = std::make_shared<const std::vector<Field>>(program->fields());
  mapped.sizes = measure(mapped, weights_of(mapped, *program));
  mapped.finisher = make_transform_finisher(program, mapped.sizes.mean_rows());
  mapped.program = std::move(program);
}

}  // namespace headrace
