#include "loader/derived_columns.h"

#include "delivery/slot_pool.h"

namespace headrace {

std::shared_ptr<const std::vector<Field>> batch_fields(const Source& source, const EnginePlan& plan) {
  auto fields = std::make_shared<std::vector<Field>>(*source.fields);
  if (plan.delivers_row_ids) fields->push_back({"_rows", "", {DType::Kind::kInt, 8}, {2}, {}});
  if (plan.tail == Tail::kPad) fields->push_back({"_weight", "", {DType::Kind::kFloat, 4}, {}, {}});
  return fields;
}

std::vector<std::shared_ptr<void>> derived_columns(const EnginePlan& plan, std::span<const SampleRef> samples,
                                                   std::uint64_t rows, std::uint64_t real_rows) {
  std::vector<std::shared_ptr<void>> columns;
  if (plan.delivers_row_ids) {
    columns.push_back(SlotPool::column(samples.size() * 2 * sizeof(std::int64_t)));
    auto* out = static_cast<std::int64_t*>(columns.back().get());
    for (const SampleRef sample : samples) {
      const BlockTable::Place place = plan.layout.table->place(sample.block);
      *out++ = place.file;
      *out++ = static_cast<std::int64_t>(place.rows.first + sample.row);
    }
  }
  if (plan.tail == Tail::kPad) {
    columns.push_back(SlotPool::column(rows * sizeof(float)));
    auto* out = static_cast<float*>(columns.back().get());
    for (std::uint64_t i = 0; i < rows; ++i) out[i] = i < real_rows ? 1.0F : 0.0F;
  }
  return columns;
}

}  // namespace headrace
