#include "assembly/copying/padding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/memory/fill_elements.h"
#include "transform/numbers.h"

namespace headrace {
namespace {

class Padding final : public Finisher {
 public:
  /// An array of the slot.
  struct Array {
    std::size_t number;
    std::uint64_t row_bytes;
    std::vector<std::byte> element;  // of the fill; empty: zeros
  };
  Padding(std::vector<Array> arrays, std::size_t group, double sample_bytes, std::shared_ptr<const Finisher> before)
      : arrays_(std::move(arrays)),
        group_(group),
        before_(std::move(before)),
        finishing_{static_cast<std::uint32_t>(
                       std::clamp(static_cast<double>(kFinishingTaskBytes) / std::max(sample_bytes, 1.0), 1.0, 4096.0)),
                   before_ && before_->finishing().batch} {}
  [[nodiscard]] std::string identity() const override { return "padding"; }
  [[nodiscard]] Finishing finishing() const override { return finishing_; }

  Status finish_sample(const FilledBatch& batch, std::uint32_t position) const override {
    if (before_ && before_->finishing().samples_per_task > 0) HEADRACE_TRY(before_->finish_sample(batch, position));
    const std::vector<std::uint64_t>& starts = batch.starts[group_];
    const std::uint64_t first = starts[position] + batch.lengths[group_][position];
    for (const Array& array : arrays_) {
      std::byte* const from = batch.fields[array.number] + first * array.row_bytes;
      const std::uint64_t bytes = (starts[position + 1] - first) * array.row_bytes;
      fill_elements(array.element, array.element.size(), {from, bytes});
    }
    return {};
  }
  Status finish_batch(const FilledBatch& batch) const override {
    return before_ && before_->finishing().batch ? before_->finish_batch(batch) : Status();
  }

 private:
  const std::vector<Array> arrays_;
  const std::size_t group_;  // of the map, whose samples differ in length
  const std::shared_ptr<const Finisher> before_;
  const Finishing finishing_;
};

}  // namespace

Result<std::shared_ptr<const Finisher>> make_padding(const MappedSource& mapped, double fill) {
  std::vector<Padding::Array> arrays;
  const std::vector<Field>& fields = *mapped.fields;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const auto& [name, path, dtype, dims, device] = fields[f];
    if (!dims.is_ragged()) continue;
    std::vector<std::byte> element(dtype.itemsize);
    const bool zero = fill == 0 && !std::signbit(fill);
    if (!zero && (!is_number(dtype) || !has_number(dtype, fill)))
      return Error(
                 ErrorCode::kInvalidArgument,
                 fmt::format("fill={} is not a value of type {}, the type of the field '{}'", fill, dtype.name(), name))
          .with_field(name)
          .with_hint("0 fits every type; the mask tells real rows from filled ones.");
    if (!zero) store_numbers(dtype, &fill, 1, element.data());
    arrays.push_back({f, fields[f].row_bytes(), zero ? std::vector<std::byte>() : std::move(element)});
  }
  if (arrays.empty())
    return Error(ErrorCode::kInvalidArgument, "layout='padded' fills up ragged samples: no field is ragged")
        .with_file(mapped.groups[0].source->files[0].path)
        .with_hint("Leave layout= out: the samples have one length already.");
  const auto groups = mapped.map->groups();
  const auto ragged = std::ranges::find(groups, UnitGroup::Rows::kRagged, &UnitGroup::rows) - groups.begin();
  return std::shared_ptr<const Finisher>(std::make_shared<Padding>(std::move(arrays), static_cast<std::size_t>(ragged),
                                                                   mapped.sizes.mean_bytes, mapped.finisher));
}

}  // namespace headrace
