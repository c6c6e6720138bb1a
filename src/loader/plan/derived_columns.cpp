#include "loader/plan/derived_columns.h"

#include <algorithm>
#include <optional>

#include "delivery/slot_pool.h"

namespace headrace {
namespace {

constexpr std::int64_t kGroupOfRepeats = -1;  // what GroupTotals passes over

/// Rows of each sample in the map's ragged group.
std::vector<std::uint64_t> lengths_of(const SampleMap& map, std::span<const SampleRef> samples) {
  const std::span<const UnitGroup> groups = map.groups();
  const auto ragged = std::ranges::find(groups, UnitGroup::Rows::kRagged, &UnitGroup::rows);
  std::vector<std::uint64_t> lengths;
  map.lengths(samples, static_cast<std::size_t>(ragged - groups.begin()), lengths);
  return lengths;
}

/// Write 1 for each element of a box that lies in its volume, and 0 for those past its end.
void write_valid(const BoxMap& boxes, const BoxPlace& place, std::uint8_t* out) {
  const CellGrid& grid = boxes.volumes()[place.volume].grids[0];
  const Axes& box = boxes.box();
  Axes inside{};
  for (std::size_t a = 0; a < grid.rank; ++a) inside[a] = std::min(box[a], grid.shape[a] - place.start[a]);
  const std::size_t last = grid.rank - 1;
  Axes at{};
  for (;;) {
    bool there = true;
    for (std::size_t a = 0; a < last; ++a) there = there && at[a] < inside[a];
    const std::uint64_t own = there ? inside[last] : 0;
    std::fill_n(out, own, std::uint8_t{1});
    std::fill_n(out + own, box[last] - own, std::uint8_t{0});
    out += box[last];
    std::size_t a = last;
    while (a > 0 && ++at[a - 1] == box[a - 1]) at[--a] = 0;
    if (a == 0) return;
  }
}

}  // namespace

std::shared_ptr<const std::vector<Field>> batch_fields(const SampleSource& source, const EnginePlan& plan) {
  auto fields = std::make_shared<std::vector<Field>>(*source.fields());
  if (plan.padding) {
    fields->push_back({"mask", "", {DType::Kind::kBool, 1}, Dims({Dims::kRagged}), {}});
    fields->push_back({"lengths", "", {DType::Kind::kInt, 8}, {}, {}});
  }
  if (plan.delivers_valid) {
    std::vector<std::uint64_t> box;
    for (std::size_t a = 0; a < plan.boxes->rank(0); ++a) box.push_back(plan.boxes->box()[a]);
    for (const Source* const array : source.stored())
      fields->push_back({(*array->columns)[0].name + ".valid", "", {DType::Kind::kBool, 1}, Dims(box), {}});
  }
  if (plan.delivers_row_ids && plan.boxes) {
    fields->push_back({"_volume", "", {DType::Kind::kInt, 8}, {}, {}});
    fields->push_back({"_start", "", {DType::Kind::kInt, 8}, {plan.boxes->rank(0)}, {}});
  } else if (plan.delivers_row_ids) {
    fields->push_back({"_rows", "", {DType::Kind::kInt, 8}, {2}, {}});
  }
  if (plan.delivers_weights) fields->push_back({"_weight", "", {DType::Kind::kFloat, 4}, {}, {}});
  if (plan.groups)
    for (const char* const name : {"_group", "_group.offsets"})
      fields->push_back({name, "", {DType::Kind::kInt, 8}, {}, {}});
  return fields;
}

std::uint64_t derived_bytes(const EnginePlan& plan, std::uint64_t samples) {
  const std::uint64_t of_rows = plan.boxes ? 1 + plan.boxes->rank(0) : 2;
  const std::uint64_t numbers = (plan.delivers_row_ids ? of_rows : 0) + (plan.groups ? 2 : 0);
  return samples * (numbers * sizeof(std::int64_t) + (plan.delivers_weights ? sizeof(float) : 0));
}

SampleOrigin origin_of(const EnginePlan& plan, SampleRef sample) {
  if (const auto at = plan.map ? plan.map->file_row_of(sample) : std::nullopt) return {at->file, at->row};
  const std::optional<RowRange> rows = plan.map ? plan.map->rows_of(sample) : std::nullopt;
  if (!rows) {
    const BlockTable::FileRows place = plan.blocks->place(sample.block);
    return {place.file, place.rows.first + sample.row};
  }
  const BlockTable::RowPlace at = plan.map_rows->find(rows->first);
  const BlockTable::FileRows place = plan.map_rows->place(at.block);
  return {place.file, place.rows.first + at.row_in_block};
}

std::vector<DerivedColumn> derived_columns(const EnginePlan& plan, std::span<const SampleRef> samples,
                                           std::uint64_t rows, const Step& step, std::uint64_t epoch) {
  std::vector<DerivedColumn> columns;
  const auto add = [&](std::uint64_t length, std::uint64_t row_bytes) {
    columns.push_back({SlotPool::column(length * row_bytes), length});
    return columns.back().memory.get();
  };
  if (plan.padding) {
    const std::vector<std::uint64_t> own = lengths_of(*plan.map, samples);
    const std::uint64_t width = own.empty() ? 0 : *std::ranges::max_element(own);
    auto* mask = static_cast<std::uint8_t*>(add(samples.size(), width));
    columns.back().width = width;
    for (const std::uint64_t length : own) {
      std::fill_n(mask, length, std::uint8_t{1});
      std::fill_n(mask + length, width - length, std::uint8_t{0});
      mask += width;
    }
    std::ranges::copy(own, static_cast<std::int64_t*>(add(samples.size(), sizeof(std::int64_t))));
  }
  if (plan.delivers_valid) {
    const BoxMap& boxes = *plan.boxes;
    const std::uint64_t elements = boxes.box_elements(0);
    auto* const valid = static_cast<std::uint8_t*>(add(samples.size(), elements));
    for (std::size_t i = 0; i < samples.size(); ++i)
      write_valid(boxes, boxes.place_of(samples[i], {epoch, plan.seed}), valid + i * elements);
    for (std::size_t g = 1; g < boxes.groups().size(); ++g)  // arrays of a volume have one shape
      std::copy_n(valid, samples.size() * elements, static_cast<std::uint8_t*>(add(samples.size(), elements)));
  }
  if (plan.delivers_row_ids && plan.boxes) {
    const std::size_t rank = plan.boxes->rank(0);
    auto* volume = static_cast<std::int64_t*>(add(samples.size(), sizeof(std::int64_t)));
    auto* start = static_cast<std::int64_t*>(add(samples.size(), rank * sizeof(std::int64_t)));
    for (const SampleRef sample : samples) {
      const BoxPlace place = plan.boxes->place_of(sample, {epoch, plan.seed});
      *volume++ = plan.boxes->volumes()[place.volume].file;
      for (std::size_t a = 0; a < rank; ++a) *start++ = static_cast<std::int64_t>(place.start[a]);
    }
  } else if (plan.delivers_row_ids) {
    auto* out = static_cast<std::int64_t*>(add(samples.size(), 2 * sizeof(std::int64_t)));
    for (const SampleRef sample : samples) {
      const SampleOrigin origin = origin_of(plan, sample);
      *out++ = origin.file;
      *out++ = static_cast<std::int64_t>(origin.row);
    }
  }
  if (plan.delivers_weights) {
    auto* out = static_cast<float*>(add(rows, sizeof(float)));
    for (std::uint64_t i = 0; i < rows; ++i) out[i] = i < step.real_rows ? 1.0F : 0.0F;
  }
  if (plan.groups) {
    const PositionRange mine{step.first_position, step.first_position + rows};
    auto* const numbers = static_cast<std::int64_t*>(add(rows, sizeof(std::int64_t)));
    std::vector<std::int64_t> offsets;
    plan.groups->group_epoch(epoch)->number(mine, numbers, offsets);
    std::fill(numbers + std::min(step.real_rows, rows), numbers + rows, kGroupOfRepeats);
    auto* const out = static_cast<std::int64_t*>(add(offsets.size(), sizeof(std::int64_t)));
    std::copy(offsets.begin(), offsets.end(), out);
  }
  return columns;
}

}  // namespace headrace
