// Join: what a table says of the number that a row has: positions of sensors by the sensor's number.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include "base/memory/unplanned_memory.h"
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
  /// Errors: kInvalidArgument  a key is there twice; kOutOfBudget.
  static Result<KeyRows> make(const Transform& transform, PageBuffer keys, std::size_t count) {
    KeyRows made;
    made.keys_ = {reinterpret_cast<const std::int64_t*>(keys.data()), count};
    made.memory_ = std::move(keys);
    const auto [least, most] = std::ranges::minmax(made.keys_);
    const std::uint64_t range = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least);
    // By key - first_ where keys lie close together, else by a hash of the key: no more places than that would take.
    constexpr std::uint64_t kSmall = 4096, kPlacesPerKey = 4;
    made.is_dense_ = range < std::max(kSmall, kPlacesPerKey * count);
    made.first_ = least;
    const std::uint64_t places = made.is_dense_ ? range + 1 : std::bit_ceil(2 * std::uint64_t{count});
    HEADRACE_ASSIGN(made.places_memory_, unplanned_memory(MemoryTag::kIndex, places * sizeof(std::uint32_t)));
    made.places_ = {reinterpret_cast<std::uint32_t*>(made.places_memory_.data()), static_cast<std::size_t>(places)};
    std::ranges::fill(made.places_, kNoRow);
    for (std::uint32_t row = 0; row < count; ++row) {
      std::uint32_t& place = made.places_[made.place_of(made.keys_[row])];
      if (place != kNoRow)
        return transform_error(transform, fmt::format("the table has two rows for the key {}", made.keys_[row]),
                               "A table that is joined has one row for each key.");
      place = row;
    }
    return made;
  }
  [[nodiscard]] std::uint32_t row_of(std::int64_t key) const {
    if (is_dense_ && static_cast<std::uint64_t>(key) - static_cast<std::uint64_t>(first_) >= places_.size())
      return kNoRow;
    return places_[place_of(key)];
  }

 private:
  /// Return the place that a key has, or would have.
  [[nodiscard]] std::size_t place_of(std::int64_t key) const {
    if (is_dense_)
      return static_cast<std::size_t>(static_cast<std::uint64_t>(key) - static_cast<std::uint64_t>(first_));
    std::uint64_t hash = static_cast<std::uint64_t>(key) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 32;
    for (std::size_t place = hash & (places_.size() - 1);; place = (place + 1) & (places_.size() - 1))
      if (places_[place] == kNoRow || keys_[places_[place]] == key) return place;
  }

  bool is_dense_ = false;
  std::int64_t first_ = 0;
  PageBuffer memory_, places_memory_;
  std::span<const std::int64_t> keys_;
  std::span<std::uint32_t> places_;  // rows, at least half of them none where keys are hashed
};

/// A column of the table, and what keys have that are not in the table.
struct JoinedColumn {
  NumberColumn values;
  std::array<std::byte, 8> otherwise{};
};

template <std::size_t kBytes>
void look_up(const JoinedColumn& column, const std::uint32_t* rows, std::size_t count, std::byte* out) {
  const std::byte* const values = column.values.bytes().data();
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* const from = rows[i] == kNoRow ? column.otherwise.data() : values + std::size_t{rows[i]} * kBytes;
    std::memcpy(out + i * kBytes, from, kBytes);
  }
}

class JoinKernel final : public Kernel {
 public:
  JoinKernel(Field key, KeyRows rows, bool has_otherwise, std::vector<JoinedColumn> columns)
      : key_(std::move(key)), rows_(std::move(rows)), has_otherwise_(has_otherwise), columns_(std::move(columns)) {}
  Status run(const KernelCall& call) const override {
    std::array<std::int64_t, kKeysAtOnce> keys;
    std::array<std::uint32_t, kKeysAtOnce> rows;
    const std::size_t all = key_.row_elements() * call.rows;
    for (std::size_t begin = 0; begin < all; begin += kKeysAtOnce) {
      const std::size_t n = std::min(kKeysAtOnce, all - begin);
      keys_of_rows(call.in[0] + begin * key_.dtype.itemsize, n, keys.data());
      for (std::size_t i = 0; i < n; ++i) {
        rows[i] = rows_.row_of(keys[i]);
        if (rows[i] == kNoRow && !has_otherwise_) return missing(keys[i]);
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
    const std::size_t item_bytes = column.values.dtype().itemsize;
    out += begin * item_bytes;
    switch (item_bytes) {
      case 1:
        return look_up<1>(column, rows, n, out);
      case 2:
        return look_up<2>(column, rows, n, out);
      case 4:
        return look_up<4>(column, rows, n, out);
      default:
        return look_up<8>(column, rows, n, out);
    }
  }
  [[nodiscard]] Error missing(std::int64_t key) const {
    const bool beyond = key == std::numeric_limits<std::int64_t>::max();
    return Error(ErrorCode::kCorruptData,
                 fmt::format("the table has no row for the {} {}{}", key_.name, key, beyond ? ", or one above" : ""))
        .with_hint("Add it to the table, or say otherwise= what it has then.");
  }

  const Field key_;
  const KeyRows rows_;
  const bool has_otherwise_;  // else keys that are not in the table are an error
  const std::vector<JoinedColumn> columns_;
};

/// Whole numbers of a type of numbers, as int64. \return The first that is none; NaN is none.
std::optional<std::string> put_keys(const NumberColumn& from, std::int64_t* keys) {
  const std::byte* at = from.bytes().data();
  if (from.dtype().kind == DType::Kind::kFloat) {
    std::array<double, kKeysAtOnce> some;
    for (std::size_t done = 0; done < from.size(); done += some.size()) {
      const std::size_t n = std::min(some.size(), from.size() - done);
      load_numbers(from.dtype(), at + done * from.dtype().itemsize, n, some.data());
      for (std::size_t i = 0; i < n; ++i) {
        const auto whole = WholeNumber::of(some[i]);
        const auto key = whole ? whole->as<std::int64_t>() : std::nullopt;
        if (!key) return fmt::format("{}", some[i]);
        keys[done + i] = *key;
      }
    }
    return std::nullopt;
  }
  if (from.dtype() != DType{DType::Kind::kUInt, 8}) {
    (void)cast_integers(from.dtype(), at, from.size(), kKeyType, reinterpret_cast<std::byte*>(keys));
    return std::nullopt;
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::uint64_t key = 0;
    std::memcpy(&key, at + i * sizeof(key), sizeof(key));
    if (key > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return fmt::format("{}", key);
    keys[i] = static_cast<std::int64_t>(key);
  }
  return std::nullopt;
}

/// Errors: kInvalidArgument  a key is no whole number, or there twice; kOutOfBudget.
Result<KeyRows> rows_by_key(const Transform& transform, const NumberColumn& keys) {
  HEADRACE_ASSIGN(PageBuffer memory, unplanned_memory(MemoryTag::kIndex, keys.size() * sizeof(std::int64_t)));
  if (const auto wrong = put_keys(keys, reinterpret_cast<std::int64_t*>(memory.data())))
    return transform_error(transform,
                           fmt::format("the table has the key {}, which is no whole number of 64 bits", *wrong),
                           "Keys are whole numbers, from -2^63 to 2^63 - 1.");
  return KeyRows::make(transform, std::move(memory), keys.size());
}

}  // namespace

Result<CompiledTransform> compile_join(const Transform& transform, std::span<const Field> inputs, Settings& settings) {
  HEADRACE_TRY(need_one_number_field(transform, inputs));
  const Field& key = inputs[0];
  const std::vector<NumberColumn> keys = settings.columns("keys"), values = settings.columns("values");
  const std::vector<std::string> names = settings.texts("names");
  const bool has_otherwise = settings.has("otherwise");
  const double otherwise = settings.number("otherwise", 0.0);
  HEADRACE_TRY(settings.finish());
  if (!is_whole(key.dtype))
    return transform_error(transform, fmt::format("'{}' is {}: keys are whole numbers", key.name, key.dtype.name()),
                           "T.Cast(field, \"int64\", exact=True) makes whole numbers of it.");
  const auto is_short = [&](const NumberColumn& column) { return column.size() != keys[0].size(); };
  if (keys.size() != 1 || keys[0].size() == 0 || keys[0].size() >= kNoRow || names.empty() ||
      values.size() != names.size() || std::ranges::any_of(values, is_short))
    return transform_error(transform,
                           fmt::format("{} columns of keys, {} names and {} columns do not make a table", keys.size(),
                                       names.size(), values.size()),
                           "A table has one column of keys, and a name for each other column, all of one length.");
  HEADRACE_ASSIGN(KeyRows rows, rows_by_key(transform, keys[0]));
  CompiledTransform made;
  std::vector<JoinedColumn> columns;
  for (std::size_t c = 0; c < names.size(); ++c) {
    const DType& type = values[c].dtype();
    if (!is_number(type))
      return transform_error(transform, fmt::format("'{}' is {}, no number", names[c], type.name()));
    JoinedColumn& column = columns.emplace_back(JoinedColumn{values[c], {}});
    if (has_otherwise) {
      if (const auto wrong = misfit<double>(type, std::vector{otherwise}, true))
        return transform_error(transform, fmt::format("{} of '{}' is no {}", *wrong, names[c], type.name()),
                               "Give otherwise= a number that the type has, or the column another type.");
      store_numbers(type, &otherwise, 1, column.otherwise.data());
    }
    made.outputs.push_back({names[c], "", type, key.dims, {}});
  }
  made.kernel = std::make_shared<JoinKernel>(key, std::move(rows), has_otherwise, std::move(columns));
  return made;
}

}  // namespace headrace
