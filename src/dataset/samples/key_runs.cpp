#include "dataset/samples/key_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "base/memory/heap.h"
#include "base/memory/unplanned_memory.h"
#include "base/text/number_text.h"
#include "dataset/recipe/refuse.h"
#include "dataset/samples/column_runs.h"

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

/// Runs whose key an earlier one has.
struct Returning {
  std::uint64_t count = 0;
  std::uint32_t first = 0, second = 0;  ///< Two runs of one key, the earlier first.
};

template <class Key>
Returning find_returning(const std::deque<Key>& keys) {
  Returning found;
  if (std::ranges::is_sorted(keys, std::less_equal<>{})) return found;  // strictly ascending, as they mostly are
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(
      order, {}, [&](std::uint32_t run) -> const auto& { return keys[run]; });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (keys[order[i]] == keys[order[i - 1]] && found.count++ == 0) {
      found.first = order[i - 1];
      found.second = order[i];
    }
  return found;
}

/// Something that happened at several places, of which the first is told.
struct Told {
  std::uint64_t count = 0;
  std::string first = {};
  void add(std::string text, std::uint64_t places = 1) {
    if (count == 0) first = std::move(text);
    count += places;
  }
  void put(const std::string& meaning, std::vector<std::string>& out) const {
    if (count == 0) return;
    out.push_back(first + (count > 1 ? fmt::format(" (the first of {} such places)", group_digits(count)) : "") +
                  meaning);
  }
};

/// The keys that a table of runs has, a part of it at a time.
template <class Keys>
class ExpectedKeys {
 public:
  explicit ExpectedKeys(const Dataset& table) : table_(table), read_(table.fields()[0].dtype) {}

  /// Throws where the key of a run is another.
  void check(std::uint64_t run, const typename Keys::Key& key, const std::string& shown, const std::string& file,
             const std::string& cut) {
    if (run >= table_.size()) return;  // another number of rows is an error of its own
    if (run < first_ || run >= first_ + part_.size()) load(run);
    const auto& expected = part_[run - first_];
    if (expected && *expected == key) return;
    throw refuse(fmt::format("sample {} has the key {} in {}, and row {} of the targets has {}", group_digits(run),
                             shown, file, group_digits(run), expected ? read_.shown(*expected) : std::string("none")) +
                     (cut.empty() ? "" : fmt::format("; before that, {}, and is two samples", cut)),
                 fmt::format("Targets are taken by their position. Join them by their key: targets=[\"{0}\"], then "
                             ".join(table, on=\"{0}\", fields=[...]); or sort the table.",
                             table_.fields()[0].name))
        .with_file(table_.files().empty() ? "" : table_.files()[0].path)
        .with_field(table_.fields()[0].name);
  }

 private:
  void load(std::uint64_t run) {
    constexpr std::uint64_t kPartRows = 1 << 16;
    first_ = run - run % kPartRows;
    const Batch batch = table_.slice(first_, std::min(kPartRows, table_.size() - first_), {});
    const Tensor& values = batch.array(0);
    part_.clear();
    for (std::uint64_t i = 0; i < values.rows(); ++i)
      part_.push_back(read_(values.data() + i * table_.fields()[0].row_bytes()));
  }

  const Dataset& table_;
  const Keys read_;
  std::uint64_t first_ = 0;
  std::vector<std::optional<typename Keys::Key>> part_;
};

/// True if keys of a type can be compared with those of another.
bool comparable(const Field& key, const Field& other) {
  const auto kind = [](const Field& field) { return field.dtype.kind == DType::Kind::kBytes; };
  const bool is_key = other.dtype.kind != DType::Kind::kFloat || other.dtype.itemsize >= 4;
  return kind(key) == kind(other) && is_key && !other.dims.is_ragged() && other.row_elements() == 1;
}

template <class Keys>
class RunFinder {
 public:
  RunFinder(const Dataset& data, const std::vector<FileRows>& files, const KeyRunOptions& options)
      : files_(files), field_(data.fields()[0]), options_(options), read_(field_.dtype) {
    for (const Dataset* table : options.expected)
      if (comparable(field_, table->fields()[0])) expected_.emplace_back(*table);
  }

  KeyRuns find(const Dataset& data, std::uint64_t offset) {
    const std::uint64_t width = field_.row_bytes();
    std::uint64_t row = 0;
    read_runs(data, options_.go_on, [&](const Tensor& part) {
      const std::byte* at = part.data() + offset;
      for (std::uint64_t i = 0; i < part.rows(); ++i, ++row, at += width) {
        while (row == first_ + files_[file_].rows) end_file();
        auto key = read_(at);
        if (!key)
          throw Error(ErrorCode::kCorruptData, fmt::format("the key of row {} is NaN or no whole number", row - first_))
              .with_file(files_[file_].path)
              .with_field(field_.name)
              .with_hint("A key is a whole number, or text.");
        if (keys_.empty() || keys_.back() != *key) begin_run(std::move(*key), row - first_);
      }
    });
    while (file_ < files_.size()) end_file();
    found_.starts.push_back(row);
    found_.starts.shrink_to_fit();
    cut_.put(
        fmt::format(": a {0} ends with its file, so there are two of the key. If it is one {0} in two pieces, write "
                    "the files anew so that none is cut",
                    options_.what),
        found_.notices);
    back_.put(fmt::format(": each run is a {} of its own. Sort the rows if they belong together", options_.what),
              found_.notices);
    return std::move(found_);
  }

 private:
  using Key = typename Keys::Key;
  /// While the runs are compared: a key, its place among the sorted ones, and where it begins, in memory that doubles.
  static constexpr std::uint64_t kRunBytes = sizeof(Key) + 4 + 2 * sizeof(std::uint64_t);

  void begin_run(Key key, std::uint64_t row) {
    if (keys_.empty() && last_key_ && *last_key_ == key)
      cut_.add(fmt::format("the key {} ends {} and begins {}", read_.shown(key), files_[last_file_].path,
                           files_[file_].path));
    for (ExpectedKeys<Keys>& expected : expected_)
      expected.check(found_.starts.size(), key, read_.shown(key), files_[file_].path, cut_.first);
    if (Status taken = memory_.add(kRunBytes); !taken.ok())
      throw Error(taken.error())
          .with_file(files_[file_].path)
          .with_field(field_.name)
          .with_hint(fmt::format("After {} rows there were {} runs of equal keys already. Sort the rows by their key, "
                                 "or give Headrace more memory.",
                                 group_digits(first_ + row), group_digits(found_.starts.size())));
    keys_.push_back(std::move(key));
    found_.starts.push_back(first_ + row);
  }

  void end_file() {
    const FileRows& file = files_[file_];
    if (const Returning runs = find_returning(keys_); runs.count > 0) tell_returning(runs, file);
    found_.file_ends.push_back(found_.starts.size());
    if (!keys_.empty()) {
      last_key_ = std::move(keys_.back());
      last_file_ = file_;
    }
    keys_.clear();
    first_ += file.rows;
    ++file_;
  }

  void tell_returning(const Returning& runs, const FileRows& file) {
    const std::span<const std::uint64_t> starts = std::span(found_.starts).last(keys_.size());
    const auto place = [&](std::uint32_t run) {
      const std::uint64_t first = starts[run] - first_;
      const std::uint64_t end = run + 1 < starts.size() ? starts[run + 1] - first_ : file.rows;
      return end - first == 1 ? fmt::format("row {}", first) : fmt::format("rows {} to {}", first, end - 1);
    };
    std::string text = fmt::format("the key {} stands at {} and comes back at {}", read_.shown(keys_[runs.first]),
                                   place(runs.first), place(runs.second));
    if (options_.returning == ReturningKey::kNoticed)
      return back_.add(fmt::format("{} › {}: {}", file.path, field_.name, text), runs.count);
    throw Error(ErrorCode::kCorruptData, std::move(text))
        .with_file(file.path)
        .with_field(field_.name)
        .with_hint("Rows of one sample must stand together: sort the file by its key.");
  }

  const std::vector<FileRows>& files_;
  const Field& field_;
  const KeyRunOptions& options_;
  const Keys read_;
  std::vector<ExpectedKeys<Keys>> expected_;
  KeyRuns found_;
  GrowingReservation memory_{MemoryTag::kIndex, kBeyondBudgetBytes};
  std::deque<Key> keys_;  ///< Those of the file's runs, the last of those found.
  std::size_t file_ = 0, last_file_ = 0;
  std::uint64_t first_ = 0;      ///< First row of the file.
  std::optional<Key> last_key_;  ///< That of the last run of the last file with rows.
  Told cut_, back_;
};

}  // namespace

KeyRuns find_key_runs(const Dataset& key, const std::vector<FileRows>& files, const KeyRunOptions& options) {
  const Field& field = key.fields()[0];
  const std::uint64_t offset = column_of(field, options.column) * field.dtype.itemsize;
  KeyRuns found = field.dtype.kind == DType::Kind::kBytes
                      ? RunFinder<TextKeys>(key, files, options).find(key, offset)
                      : RunFinder<NumberKeys>(key, files, options).find(key, offset);
  trim_heap();  // of what keys took while they were compared
  return found;
}

}  // namespace headrace
