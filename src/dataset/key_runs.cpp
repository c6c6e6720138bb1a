#include "dataset/key_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "dataset/column_runs.h"
#include "dataset/refuse.h"

namespace headrace {
namespace {

template <class T>
T value_at(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

/// Keys are compared as whole numbers, also those stored as floats. \return  Nullopt for NaN and what is not whole.
/// Numbers from 2^63 on count on below 0: they stay apart.
class NumberKeys {
 public:
  using Key = std::int64_t;
  explicit NumberKeys(const DType& type) : type_(type) {}
  [[nodiscard]] std::optional<Key> operator()(const std::byte* at) const {
    if (type_.kind == DType::Kind::kFloat) {
      const double value = type_.itemsize == 4 ? value_at<float>(at) : value_at<double>(at);
      if (!(std::abs(value) < 0x1p63) || value != std::floor(value)) return std::nullopt;
      return static_cast<Key>(value);
    }
    const bool sign = type_.kind == DType::Kind::kInt;
    switch (type_.itemsize) {
      case 1:
        return sign ? value_at<std::int8_t>(at) : value_at<std::uint8_t>(at);
      case 2:
        return sign ? value_at<std::int16_t>(at) : value_at<std::uint16_t>(at);
      case 4:
        return sign ? value_at<std::int32_t>(at) : Key{value_at<std::uint32_t>(at)};
      default:
        return value_at<Key>(at);
    }
  }
  [[nodiscard]] std::string shown(Key key) const {
    return type_.kind == DType::Kind::kUInt ? std::to_string(static_cast<std::uint64_t>(key)) : std::to_string(key);
  }

 private:
  const DType type_;
};

/// Keys that are text, up to the zeros that fill it up.
class TextKeys {
 public:
  using Key = std::string;
  explicit TextKeys(const DType& type) : itemsize_(type.itemsize) {}
  [[nodiscard]] std::optional<Key> operator()(const std::byte* at) const {
    const auto* const text = reinterpret_cast<const char*>(at);
    return Key(text, ::strnlen(text, itemsize_));
  }
  [[nodiscard]] static std::string shown(const Key& key) { return "'" + key + "'"; }

 private:
  const std::size_t itemsize_;
};

std::uint64_t column_of(const Field& field, std::optional<std::uint64_t> column) {
  const std::vector<std::uint64_t> shape = field.dims.row_shape();
  const DType& type = field.dtype;
  const bool of_keys = type.kind == DType::Kind::kInt || type.kind == DType::Kind::kUInt ||
                       type.kind == DType::Kind::kBool || type.kind == DType::Kind::kBytes ||
                       (type.kind == DType::Kind::kFloat && type.itemsize >= 4);
  if (!of_keys)
    throw refuse(fmt::format("a key is a whole number or text, this is {}", type.name())).with_field(field.name);
  if (shape.empty() && !column) return 0;
  if (shape.size() != 1 || !column)
    throw refuse(fmt::format("a row of {} has {} values, of which one is the key", field.name, field.row_elements()),
                 fmt::format("Say which: sample_by=(\"{}\", 0).", field.path))
        .with_field(field.name);
  if (*column >= shape[0])
    throw refuse(fmt::format("{} has {} columns, and no column {}", field.name, shape[0], *column),
                 "They count from 0.")
        .with_field(field.name);
  return *column;
}

/// Throws where a key comes back. \param first_rows  Of the file's runs. \param rows  Of the file.
template <class Keys>
void check_unique(const Keys& read, const std::vector<typename Keys::Key>& keys,
                  const std::vector<std::uint64_t>& first_rows, const FileEntry& file, const std::string& field) {
  if (std::ranges::is_sorted(keys, std::less_equal<>{})) return;  // strictly ascending, as they mostly are
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(
      order, {}, [&](std::uint32_t run) -> const auto& { return keys[run]; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (keys[order[i]] != keys[order[i - 1]]) continue;
    const auto place = [&](std::uint32_t run) {
      const std::uint64_t end = run + 1 < first_rows.size() ? first_rows[run + 1] : file.rows;
      return fmt::format("rows {} to {}", first_rows[run], end - 1);
    };
    throw Error(ErrorCode::kCorruptData, fmt::format("the key {} stands at {} and comes back at {}",
                                                     read.shown(keys[order[i]]), place(order[i - 1]), place(order[i])))
        .with_file(file.path)
        .with_field(field)
        .with_hint("Rows of one sample must stand together: sort the file by its key.");
  }
}

template <class Keys>
KeyRuns find_runs(const Dataset& data, std::uint64_t offset, const std::function<bool()>& go_on) {
  const Field& field = data.fields()[0];
  const std::uint64_t width = field.row_bytes();
  const Keys read(field.dtype);
  KeyRuns found;
  std::vector<typename Keys::Key> keys;  // of the file's runs
  std::vector<std::uint64_t> first_rows;
  std::size_t file = 0;
  std::uint64_t first = 0, row = 0;  // of the file; of all
  const auto end_file = [&] {
    check_unique(read, keys, first_rows, data.files()[file], field.name);
    for (const std::uint64_t at : first_rows) found.starts.push_back(first + at);
    found.file_ends.push_back(found.starts.size());
    keys.clear();
    first_rows.clear();
    first += data.files()[file++].rows;
  };
  read_runs(data, go_on, [&](const Tensor& part) {
    const std::byte* at = part.data() + offset;
    for (std::uint64_t i = 0; i < part.rows(); ++i, ++row, at += width) {
      while (row == first + data.files()[file].rows) end_file();
      auto value = read(at);
      if (!value)
        throw Error(ErrorCode::kCorruptData, fmt::format("the key of row {} is NaN or no whole number", row - first))
            .with_file(data.files()[file].path)
            .with_field(field.name)
            .with_hint("A key is a whole number, or text.");
      if (!keys.empty() && keys.back() == *value) continue;
      keys.push_back(std::move(*value));
      first_rows.push_back(row - first);
    }
  });
  while (file < data.files().size()) end_file();
  found.starts.push_back(row);
  found.starts.shrink_to_fit();
  return found;
}

}  // namespace

KeyRuns find_key_runs(const Dataset& key, std::optional<std::uint64_t> column, const std::function<bool()>& go_on) {
  const Field& field = key.fields()[0];
  const std::uint64_t offset = column_of(field, column) * field.dtype.itemsize;
  return field.dtype.kind == DType::Kind::kBytes ? find_runs<TextKeys>(key, offset, go_on)
                                                 : find_runs<NumberKeys>(key, offset, go_on);
}

}  // namespace headrace
