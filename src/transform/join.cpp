// Join: what a table says of the number that a row has: positions of sensors by the sensor's number.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "transform/element_kernel.h"
#include "transform/kinds.h"
#include "transform/numbers.h"

namespace headrace {
namespace {

constexpr DType kKeyType{DType::Kind::kInt, 8};
constexpr std::size_t kKeysAtOnce = 512;
constexpr std::uint32_t kNoRow = ~std::uint32_t{0};

/// Which row of the table has a key. Immutable.
class KeyRows {
 public:
  explicit KeyRows(const std::vector<std::int64_t>& keys) {
    const auto [least, most] = std::ranges::minmax(keys);
    const std::uint64_t range = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least);
    constexpr std::uint64_t kSmall = 4096, kPlacesPerKey = 8;  // of 4 bytes: less than a hash table has
    if (range < std::max(kSmall, kPlacesPerKey * keys.size())) {
      first_ = least;
      rows_.assign(static_cast<std::size_t>(range) + 1, kNoRow);
    }
    for (std::uint32_t row = 0; row < keys.size(); ++row)
      if (rows_.empty())
        by_key_.emplace(keys[row], row);
      else
        rows_[static_cast<std::size_t>(keys[row] - first_)] = row;
  }
  [[nodiscard]] std::uint32_t row_of(std::int64_t key) const {
    if (!rows_.empty()) {
      const std::uint64_t place = static_cast<std::uint64_t>(key) - static_cast<std::uint64_t>(first_);
      return place < rows_.size() ? rows_[static_cast<std::size_t>(place)] : kNoRow;
    }
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? kNoRow : found->second;
  }

 private:
  std::int64_t first_ = 0;
  std::vector<std::uint32_t> rows_;  // by key - first_, where keys lie close together
  std::unordered_map<std::int64_t, std::uint32_t> by_key_;
};

/// A column of the table, as a batch has it; behind its rows what keys have that are not in the table.
struct JoinedColumn {
  std::size_t item_bytes = 1;
  std::vector<std::byte> values;
};

template <std::size_t kBytes>
void look_up(const std::byte* values, const std::uint32_t* rows, std::size_t count, std::byte* out) {
  for (std::size_t i = 0; i < count; ++i) std::memcpy(out + i * kBytes, values + rows[i] * kBytes, kBytes);
}

class JoinKernel final : public Kernel {
 public:
  JoinKernel(Field key, KeyRows rows, std::uint32_t absent, std::vector<JoinedColumn> columns)
      : key_(std::move(key)), rows_(std::move(rows)), absent_(absent), columns_(std::move(columns)) {}
  Status run(const KernelCall& call) const override {
    std::array<std::int64_t, kKeysAtOnce> keys;
    std::array<std::uint32_t, kKeysAtOnce> rows;
    const std::size_t all = key_.row_elements() * call.rows;
    for (std::size_t begin = 0; begin < all; begin += kKeysAtOnce) {
      const std::size_t n = std::min(kKeysAtOnce, all - begin);
      keys_of_rows(call.in[0] + begin * key_.dtype.itemsize, n, keys.data());
      for (std::size_t i = 0; i < n; ++i) {
        rows[i] = rows_.row_of(keys[i]);
        if (rows[i] != kNoRow) continue;
        if (absent_ == kNoRow) return missing(keys[i]);
        rows[i] = absent_;
      }
      for (std::size_t c = 0; c < columns_.size(); ++c) put(columns_[c], rows.data(), n, call.out[c], begin);
    }
    return {};
  }
  [[nodiscard]] bool takes_rows() const override { return true; }

 private:
  /// As int64; what is beyond becomes its largest, which is in no table.
  void keys_of_rows(const std::byte* from, std::size_t n, std::int64_t* keys) const {
    if (key_.dtype != DType{DType::Kind::kUInt, 8}) {
      (void)cast_integers(key_.dtype, from, n, kKeyType, reinterpret_cast<std::byte*>(keys));
      return;
    }
    for (std::size_t i = 0; i < n; ++i) {
      std::uint64_t key = 0;
      std::memcpy(&key, from + i * sizeof(key), sizeof(key));
      keys[i] = static_cast<std::int64_t>(std::min<std::uint64_t>(key, std::numeric_limits<std::int64_t>::max()));
    }
  }
  static void put(const JoinedColumn& column, const std::uint32_t* rows, std::size_t n, std::byte* out,
                  std::size_t begin) {
    out += begin * column.item_bytes;
    switch (column.item_bytes) {
      case 1:
        return look_up<1>(column.values.data(), rows, n, out);
      case 2:
        return look_up<2>(column.values.data(), rows, n, out);
      case 4:
        return look_up<4>(column.values.data(), rows, n, out);
      default:
        return look_up<8>(column.values.data(), rows, n, out);
    }
  }
  [[nodiscard]] Error missing(std::int64_t key) const {
    const bool beyond = key == std::numeric_limits<std::int64_t>::max();
    return std::move(Error(ErrorCode::kCorruptData, fmt::format("the table has no row for the {} {}{}", key_.name, key,
                                                                beyond ? ", or one above" : ""))
                         .with_hint("Add it to the table, or say otherwise= what it has then."));
  }

  const Field key_;
  const KeyRows rows_;
  const std::uint32_t absent_;  // row for keys that are not in the table; kNoRow: they are an error
  const std::vector<JoinedColumn> columns_;
};

/// Return the keys of the table. Errors: kInvalidArgument  one is no whole number, or there twice.
Result<std::vector<std::int64_t>> keys_of_table(const Transform& transform, const std::vector<double>& keys) {
  std::vector<std::int64_t> whole;
  for (const double key : keys) {
    if (key != std::floor(key) || std::abs(key) > 0x1p53)  // also NaN
      return transform_error(transform, fmt::format("the table has the key {}, which is no whole number", key),
                             "Keys are whole numbers, up to 2^53.");
    whole.push_back(static_cast<std::int64_t>(key));
  }
  std::vector<std::int64_t> sorted = whole;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    return transform_error(transform, fmt::format("the table has two rows for the key {}", *twice),
                           "A table that is joined has one row for each key.");
  return whole;
}

}  // namespace

Result<CompiledTransform> compile_join(const Transform& transform, std::span<const Field> inputs, Settings& settings) {
  HEADRACE_TRY(need_one_number_field(transform, inputs));
  const Field& key = inputs[0];
  const std::vector<double> table_keys = settings.numbers("keys"), values = settings.numbers("values");
  const std::vector<std::string> names = settings.texts("names"), dtypes = settings.texts("dtypes");
  const bool has_default = settings.has("otherwise");
  const double otherwise = settings.number("otherwise", 0.0);
  HEADRACE_TRY(settings.finish());
  if (!is_whole(key.dtype))
    return transform_error(transform, fmt::format("'{}' is {}: keys are whole numbers", key.name, key.dtype.name()),
                           "T.Cast(field, \"int64\", exact=True) makes whole numbers of it.");
  if (table_keys.empty() || names.empty() || dtypes.size() != names.size() ||
      values.size() != table_keys.size() * names.size())
    return transform_error(transform, fmt::format("{} keys, {} names, {} types and {} values do not make a table",
                                                  table_keys.size(), names.size(), dtypes.size(), values.size()));
  HEADRACE_ASSIGN(const std::vector<std::int64_t> keys, keys_of_table(transform, table_keys));
  CompiledTransform made;
  std::vector<JoinedColumn> columns;
  for (std::size_t c = 0; c < names.size(); ++c) {
    const Result<DType> type = type_of_name(dtypes[c]);
    if (!type.ok()) return transform_error(transform, type.error().message(), type.error().hint());
    std::vector<double> column(values.begin() + static_cast<std::ptrdiff_t>(c * keys.size()),
                               values.begin() + static_cast<std::ptrdiff_t>((c + 1) * keys.size()));
    if (has_default) column.push_back(otherwise);
    if (const auto wrong = misfit<double>(*type, column, true))
      return transform_error(transform, fmt::format("{} of '{}' is no {}", *wrong, names[c], type->name()),
                             "Give otherwise= a number that the type has, or the column another type.");
    JoinedColumn joined{type->itemsize, std::vector<std::byte>(column.size() * type->itemsize)};
    store_numbers(*type, column.data(), column.size(), joined.values.data());
    columns.push_back(std::move(joined));
    made.outputs.push_back({names[c], "", *type, key.dims, {}});
  }
  const auto absent = has_default ? static_cast<std::uint32_t>(keys.size()) : kNoRow;
  made.kernel = std::make_shared<JoinKernel>(key, KeyRows(keys), absent, std::move(columns));
  return made;
}

}  // namespace headrace
