#include "assembly/padding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "transform/numbers.h"

namespace headrace {
namespace {

constexpr std::uint64_t kTaskBytes = 256 << 10;  // of rows, some tens of microseconds

class Padding final : public Finisher {
 public:
  /// An array of the slot.
  struct Array {
    std::size_t number, group;
    std::uint64_t row_bytes;
    std::vector<std::byte> element;  // of the fill; empty: zeros
  };
  Padding(std::vector<Array> arrays, double sample_bytes)
      : arrays_(std::move(arrays)),
        samples_per_task_(static_cast<std::uint32_t>(
            std::clamp(static_cast<double>(kTaskBytes) / std::max(sample_bytes, 1.0), 1.0, 4096.0))) {}
  [[nodiscard]] std::string identity() const override { return "padding"; }
  [[nodiscard]] Finishing finishing() const override { return {samples_per_task_, false}; }

  Status finish_sample(const FilledBatch& batch, std::uint32_t position) const override {
    for (const Array& array : arrays_) {
      const std::vector<std::uint64_t>& starts = batch.starts[array.group];
      const std::uint64_t first = starts[position] + batch.lengths[array.group][position];
      std::byte* const from = batch.fields[array.number] + first * array.row_bytes;
      const std::uint64_t bytes = (starts[position + 1] - first) * array.row_bytes;
      if (array.element.empty())
        std::memset(from, 0, bytes);
      else if (bytes > 0)
        repeat(array.element, from, bytes);
    }
    return {};
  }
  Status finish_batch(const FilledBatch&) const override { return {}; }

 private:
  /// What is filled already is copied to double it.
  static void repeat(const std::vector<std::byte>& element, std::byte* to, std::uint64_t bytes) {
    std::memcpy(to, element.data(), element.size());
    for (std::uint64_t done = element.size(); done < bytes; done += std::min(done, bytes - done))
      std::memcpy(to + done, to, std::min(done, bytes - done));
  }

  const std::vector<Array> arrays_;
  const std::uint32_t samples_per_task_;
};

}  // namespace

Result<std::shared_ptr<const Finisher>> make_padding(const MappedSource& mapped, double fill) {
  std::vector<Padding::Array> arrays;
  std::size_t number = 0;
  for (std::size_t g = 0; g < mapped.groups.size(); ++g)
    for (const StoredColumn& column : *mapped.groups[g].source->columns) {
      const std::size_t own = number++;
      if (mapped.map->groups()[g].rows != UnitGroup::Rows::kRagged) continue;
      std::vector<std::byte> element(column.dtype.itemsize);
      const bool zero = fill == 0 && !std::signbit(fill);
      if (!zero && (!is_number(column.dtype) || !has_number(column.dtype, fill)))
        return std::move(
            Error(ErrorCode::kInvalidArgument,
                  fmt::format("fill={}: a {} of the field '{}' cannot be that", fill, column.dtype.name(), column.name))
                .with_field(column.name)
                .with_hint("0 suits every type; the mask tells the rows that are there."));
      if (!zero) store_numbers(column.dtype, &fill, 1, element.data());
      arrays.push_back({own, g, column.row_bytes(), zero ? std::vector<std::byte>() : std::move(element)});
    }
  if (arrays.empty())
    return std::move(Error(ErrorCode::kInvalidArgument, "layout='padded' fills up ragged samples: no field is ragged")
                         .with_file(mapped.groups[0].source->files[0].path)
                         .with_hint("Leave layout= out: the samples have one length already."));
  return std::shared_ptr<const Finisher>(std::make_shared<Padding>(std::move(arrays), mapped.sizes.mean_bytes));
}

}  // namespace headrace
