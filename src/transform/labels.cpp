// Relabel, Threshold, OneHot: what a model is taught, made of what is stored.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "transform/element_kernel.h"
#include "transform/kinds.h"
#include "transform/numbers.h"

namespace headrace {
namespace {

constexpr DType kInt64{DType::Kind::kInt, 8};

/// Works on double, whatever the field's type: 2^53 is more than any class.
template <class Work>
class LabelKernel final : public Kernel {
 public:
  LabelKernel(const Field& in, Work work) : in_(in), work_(std::move(work)) {}
  Status run(const KernelCall& call) const override {
    for (std::size_t i = 0; i < in_.row_elements() * call.rows; ++i) {
      double value = 0;
      load_numbers(in_.dtype, call.in[0] + i * in_.dtype.itemsize, 1, &value);
      HEADRACE_TRY(work_(value, i, call.out[0]));
    }
    return {};
  }
  [[nodiscard]] bool takes_rows() const override { return true; }

 private:
  const Field in_;
  const Work work_;
};

template <class Work>
CompiledTransform label_transform(const Field& in, const std::string& to, const DType& type, Dims dims, Work work) {
  CompiledTransform made;
  made.outputs.push_back({to, to == in.name ? in.path : "", type, std::move(dims), {}});
  made.kernel = std::make_shared<LabelKernel<Work>>(in, std::move(work));
  return made;
}

void put(std::byte* out, std::size_t i, std::int64_t value) {
  std::memcpy(out + i * sizeof(value), &value, sizeof(value));
}

/// Looks small whole numbers up in a table, which is where nearly all labels of voxels are; others in a map.
class RelabelKernel final : public Kernel {
 public:
  RelabelKernel(const Field& in, std::map<double, std::int64_t> labels, std::optional<std::int64_t> otherwise)
      : in_(in),
        labels_(std::move(labels)),
        otherwise_(otherwise),
        is_wide_(in.dtype.itemsize == 8 && is_whole(in.dtype)) {
    for (const auto& [stored, label] : labels_) {
      if (!(stored >= 0) || stored >= kMostTable || stored != std::floor(stored)) continue;
      const auto at = static_cast<std::size_t>(stored);
      table_.resize(at + 1);  // ascending
      table_[at] = {label, true};
    }
  }
  Status run(const KernelCall& call) const override {
    std::array<double, kTile> tile;
    const std::size_t elements = in_.row_elements() * call.rows;
    for (std::size_t begin = 0; begin < elements; begin += kTile) {
      const std::size_t n = std::min(kTile, elements - begin);
      load_numbers(in_.dtype, call.in[0] + begin * in_.dtype.itemsize, n, tile.data());
      for (std::size_t i = 0; i < n; ++i) {
        const double value = tile[i];
        if (value >= 0 && value < static_cast<double>(table_.size())) {
          const auto at = static_cast<std::size_t>(value);
          if (table_[at].is_named && static_cast<double>(at) == value) {
            put(call.out[0], begin + i, table_[at].label);
            continue;
          }
        }
        HEADRACE_ASSIGN(const std::int64_t label, look_up(value));
        put(call.out[0], begin + i, label);
      }
    }
    return {};
  }
  [[nodiscard]] bool takes_rows() const override { return true; }

 private:
  static constexpr double kMostTable = 1 << 16;
  static constexpr std::size_t kTile = 1024;
  struct Entry {
    std::int64_t label = 0;
    bool is_named = false;
  };

  [[nodiscard]] Result<std::int64_t> look_up(double value) const {
    if (is_wide_ && std::abs(value) >= 0x1p53)  // several integers are this double
      return Error(ErrorCode::kCorruptData, fmt::format("the stored label {:.0f} is beyond 2^53", value));
    if (std::isnan(value))  // which no map finds, and equals every key to it
      return std::move(Error(ErrorCode::kCorruptData, "the stored label is NaN, which is no label")
                           .with_hint("Correct it in the file, or leave the sample out: data.select(...)."));
    if (const auto it = labels_.find(value); it != labels_.end()) return it->second;
    if (otherwise_) return *otherwise_;
    return std::move(Error(ErrorCode::kCorruptData, fmt::format("the stored label {} has no new one", value))
                         .with_hint("Name it, or give otherwise= for all that are not named."));
  }

  const Field in_;
  const std::map<double, std::int64_t> labels_;
  const std::optional<std::int64_t> otherwise_;
  const bool is_wide_;
  std::vector<Entry> table_;
};

}  // namespace

Result<CompiledTransform> compile_relabel(const Transform& transform, std::span<const Field> inputs,
                                          Settings& settings) {
  HEADRACE_TRY(need_one_number_field(transform, inputs));
  const std::vector<double> from = settings.numbers("stored"), made = settings.numbers("labels");
  const bool has_default = settings.has("otherwise");
  const std::int64_t otherwise = settings.whole("otherwise", 0, std::numeric_limits<std::int64_t>::min());
  const std::string to = settings.text("to", inputs[0].name);
  if (from.size() != made.size())
    settings.refuse(fmt::format("{} stored values, and {} labels", from.size(), made.size()));
  HEADRACE_TRY(settings.finish());
  std::map<double, std::int64_t> labels;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (std::isnan(from[i]) || made[i] != std::floor(made[i]) || std::abs(made[i]) > 0x1p53)
      return transform_error(transform, fmt::format("{} → {} is no label", from[i], made[i]));
    if (!labels.emplace(from[i], static_cast<std::int64_t>(made[i])).second)
      return transform_error(transform, fmt::format("the stored value {} is named twice", from[i]));
  }
  const std::optional<std::int64_t> rest = has_default ? std::optional(otherwise) : std::nullopt;
  CompiledTransform result;
  result.outputs.push_back({to, to == inputs[0].name ? inputs[0].path : "", kInt64, inputs[0].dims, {}});
  result.kernel = std::make_shared<RelabelKernel>(inputs[0], std::move(labels), rest);
  return result;
}

Result<CompiledTransform> compile_threshold(const Transform& transform, std::span<const Field> inputs,
                                            Settings& settings) {
  HEADRACE_TRY(need_one_number_field(transform, inputs));
  const std::vector<double> at = settings.numbers("at");
  const std::string to = settings.text("to", inputs[0].name);
  if (!std::ranges::is_sorted(at)) settings.refuse("the thresholds do not ascend");
  HEADRACE_TRY(settings.finish());
  return label_transform(inputs[0], to, kInt64, inputs[0].dims,
                         [=](double value, std::size_t i, std::byte* out) -> Status {
                           if (std::isnan(value)) return Error(ErrorCode::kCorruptData, "NaN is in no class");
                           put(out, i, std::ranges::upper_bound(at, value) - at.begin());
                           return {};
                         });
}

Result<CompiledTransform> compile_one_hot(const Transform& transform, std::span<const Field> inputs,
                                          Settings& settings) {
  HEADRACE_TRY(need_one_number_field(transform, inputs));
  const std::int64_t classes = settings.whole("classes", std::nullopt, 1, 1 << 24);
  const Result<DType> type = type_of_name(settings.text("dtype", "float32"));
  const std::string to = settings.text("to", inputs[0].name);
  if (!type.ok()) settings.refuse(type.error().message(), type.error().hint());
  HEADRACE_TRY(settings.finish());
  std::vector<std::uint64_t> shape = inputs[0].dims.row_shape();
  shape.push_back(static_cast<std::uint64_t>(classes));
  std::vector<std::byte> one(type->itemsize);
  const double value_of_one = 1;
  store_numbers(*type, &value_of_one, 1, one.data());
  return label_transform(
      inputs[0], to, *type, Dims(std::move(shape)),
      [classes, one](double value, std::size_t i, std::byte* out) -> Status {
        const auto row_bytes = static_cast<std::size_t>(classes) * one.size();
        std::memset(out + i * row_bytes, 0, row_bytes);
        if (!(value >= 0) || value >= static_cast<double>(classes) || value != std::floor(value))
          return Error(ErrorCode::kCorruptData, fmt::format("the label {} is none of {} classes", value, classes))
              .with_hint("Classes are numbered from 0; T.Relabel gives them other numbers.");
        std::memcpy(out + i * row_bytes + static_cast<std::size_t>(value) * one.size(), one.data(), one.size());
        return {};
      });
}

}  // namespace headrace
