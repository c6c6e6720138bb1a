// Relabel, Threshold, OneHot: what a model is taught, made of what is stored.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "transform/element_kernel.h"
#include "transform/exact_numbers.h"
#include "transform/kinds.h"
#include "transform/numbers.h"

namespace headrace {
namespace {

constexpr DType kInt64{DType::Kind::kInt, 8};
constexpr std::size_t kTile = 1024;  // numbers that are read at once

template <class Number>
bool is_nan(Number value) {
  if constexpr (std::is_floating_point_v<Number>) return std::isnan(value);
  return false;
}

/// Calls `work` with each number, in the type that holds it exactly.
template <class Number, class Work>
class LabelKernel final : public Kernel {
 public:
  LabelKernel(const Field& in, Work work) : in_(in), work_(std::move(work)) {}
  Status run(const KernelCall& call) const override {
    std::array<Number, kTile> tile;
    const std::size_t elements = in_.row_elements() * call.rows;
    for (std::size_t begin = 0; begin < elements; begin += kTile) {
      const std::size_t n = std::min(kTile, elements - begin);
      load_exact(in_.dtype, call.in[0] + begin * in_.dtype.itemsize, n, tile.data());
      for (std::size_t i = 0; i < n; ++i) HEADRACE_TRY(work_(tile[i], begin + i, call.out[0]));
    }
    return {};
  }
  [[nodiscard]] bool takes_rows() const override { return true; }

 private:
  const Field in_;
  const Work work_;
};

template <class Number, class Work>
CompiledTransform label_transform(const Field& in, const std::string& to, const DType& type, Dims dims, Work work) {
  CompiledTransform made;
  made.outputs.push_back({to, to == in.name ? in.path : "", type, std::move(dims), {}});
  made.kernel = std::make_shared<LabelKernel<Number, Work>>(in, std::move(work));
  return made;
}

void put(std::byte* out, std::size_t i, std::int64_t value) {
  std::memcpy(out + i * sizeof(value), &value, sizeof(value));
}

/// Looks small whole numbers up in a table, which is where nearly all labels of voxels are; others in a map.
template <class Number>
class RelabelWork {
 public:
  RelabelWork(std::map<Number, std::int64_t> labels, std::optional<std::int64_t> otherwise)
      : labels_(std::move(labels)), otherwise_(otherwise) {
    for (const auto& [stored, label] : labels_) {
      if (!(stored >= 0) || stored >= Number{kMostTable} || !is_place(stored)) continue;
      const auto at = static_cast<std::size_t>(stored);
      table_.resize(at + 1);  // ascending
      table_[at] = {label, true};
    }
  }
  Status operator()(Number value, std::size_t i, std::byte* out) const {
    if (value >= 0 && value < static_cast<Number>(table_.size()) && is_place(value)) {
      const Entry& entry = table_[static_cast<std::size_t>(value)];
      if (entry.is_named) return put(out, i, entry.label), Status();
    }
    HEADRACE_ASSIGN(const std::int64_t label, look_up(value));
    put(out, i, label);
    return {};
  }

 private:
  static constexpr std::uint16_t kMostTable = 1 << 15;
  struct Entry {
    std::int64_t label = 0;
    bool is_named = false;
  };

  static bool is_place(Number value) {
    if constexpr (std::is_floating_point_v<Number>)
      return static_cast<Number>(static_cast<std::size_t>(value)) == value;  // of a value that is in the table's range
    return true;
  }

  [[nodiscard]] Result<std::int64_t> look_up(Number value) const {
    if (is_nan(value))  // which no map finds, and equals every key to it
      return Error(ErrorCode::kCorruptData, "the stored label is NaN, which is no label")
          .with_hint("Correct it in the file, or leave the sample out: data.select(...).");
    if (const auto it = labels_.find(value); it != labels_.end()) return it->second;
    if (otherwise_) return *otherwise_;
    return Error(ErrorCode::kCorruptData, fmt::format("the stored label {} has no new one", value))
        .with_hint("Name it, or give otherwise= for all that are not named.");
  }

  std::map<Number, std::int64_t> labels_;
  std::optional<std::int64_t> otherwise_;
  std::vector<Entry> table_;
};

std::string text_of(const ExactNumber& number) {
  if (const auto* whole = std::get_if<WholeNumber>(&number)) return whole->text();
  const double value = std::get<double>(number);
  const std::optional<WholeNumber> whole = WholeNumber::of(value);
  return whole ? whole->text() : fmt::format("{}", value);
}

bool is_nan_of(const ExactNumber& number) {
  return std::holds_alternative<double>(number) && std::isnan(std::get<double>(number));
}

}  // namespace

Result<CompiledTransform> compile_relabel(const Transform& transform, std::span<const Field> inputs,
                                          Settings& settings) {
  HEADRACE_TRY(need_one_number_field(transform, inputs));
  const std::vector<ExactNumber> from = settings.exact_numbers("stored"), made = settings.exact_numbers("labels");
  const bool has_default = settings.has("otherwise");
  const std::int64_t otherwise = settings.whole("otherwise", 0, std::numeric_limits<std::int64_t>::min());
  const std::string to = settings.text("to", inputs[0].name);
  if (from.size() != made.size())
    settings.refuse(fmt::format("{} stored values, and {} labels", from.size(), made.size()));
  HEADRACE_TRY(settings.finish());
  const std::optional<std::int64_t> rest = has_default ? std::optional(otherwise) : std::nullopt;
  return with_exact(inputs[0].dtype, [&]<class Number>(Number) -> Result<CompiledTransform> {
    std::map<Number, std::int64_t> labels;
    std::set<ExactNumber> named;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::optional<std::int64_t> label = same_number<std::int64_t>(made[i]);
      if (is_nan_of(from[i]) || !label)
        return transform_error(transform, fmt::format("{} → {} is no label", text_of(from[i]), text_of(made[i])));
      if (!named.insert(from[i]).second)
        return transform_error(transform, fmt::format("the stored value {} is named twice", text_of(from[i])));
      if (const auto stored = same_number<Number>(from[i])) labels.emplace(*stored, *label);  // others are not there
    }
    return label_transform<Number>(inputs[0], to, kInt64, inputs[0].dims, RelabelWork<Number>(std::move(labels), rest));
  });
}

Result<CompiledTransform> compile_threshold(const Transform& transform, std::span<const Field> inputs,
                                            Settings& settings) {
  HEADRACE_TRY(need_one_number_field(transform, inputs));
  const std::vector<ExactNumber> at = settings.exact_numbers("at");
  const std::string to = settings.text("to", inputs[0].name);
  if (std::ranges::any_of(at, is_nan_of) || !std::ranges::is_sorted(at))
    settings.refuse("the thresholds do not ascend");
  HEADRACE_TRY(settings.finish());
  return with_exact(inputs[0].dtype, [&]<class Number>(Number) -> CompiledTransform {
    std::vector<Number> least;  // that reaches each threshold
    for (const ExactNumber& one : at)
      if (const auto reaches = least_from<Number>(one)) least.push_back(*reaches);  // no value reaches the others
    return label_transform<Number>(inputs[0], to, kInt64, inputs[0].dims,
                                   [=](Number value, std::size_t i, std::byte* out) -> Status {
                                     if (is_nan(value)) return Error(ErrorCode::kCorruptData, "NaN is in no class");
                                     put(out, i, std::ranges::upper_bound(least, value) - least.begin());
                                     return {};
                                   });
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
  return label_transform<double>(
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
