#include "dataset/samples/meta_spans.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/text/number_text.h"
#include "dataset/recipe/refuse.h"
#include "dataset/samples/span_lister.h"
#include "dataset/samples/whole_numbers.h"

namespace headrace {
namespace {

constexpr std::uint64_t kRowsAtOnce = 1 << 18;
constexpr std::uint32_t kOtherFile = ~std::uint32_t{0};

struct Span {
  std::uint64_t first, end;  // rows of its file
  std::uint32_t file;
};

/// Names of files by a number, and which of the data's files they are.
class FileNumbers {
 public:
  FileNumbers(const Dataset& data, const std::string& pattern) : data_(data) {
    for (const FileEntry& file : data.files()) {
      paths_.push_back(std::filesystem::absolute(file.path).lexically_normal().string());
      folders_.insert(std::filesystem::path(file.path).parent_path());
    }
    const std::size_t open = pattern.find('{'), close = pattern.find('}');
    if (open == std::string::npos || close == std::string::npos || close < open ||
        pattern.find('{', open + 1) != std::string::npos)
      throw refuse(fmt::format("file_template is '{}': one {{…}} in it stands for the file's number", pattern),
                   "Such as file_template=\"batch_{batch_id}.parquet\".");
    before_ = pattern.substr(0, open);
    after_ = pattern.substr(close + 1);
    // "{batch_id:04}": digits to fill up to, as in Python's formats.
    const std::string inside = pattern.substr(open + 1, close - open - 1);
    const std::size_t colon = inside.find(':');
    if (colon == std::string::npos) return;
    std::string_view format = std::string_view(inside).substr(colon + 1);
    if (format.ends_with('d')) format.remove_suffix(1);
    const auto [end, error] = std::from_chars(format.data(), format.data() + format.size(), digits_);
    if (error != std::errc() || end != format.data() + format.size() || !format.starts_with('0') || digits_ > 20)
      throw refuse(fmt::format("file_template is '{}': '{}' is no format of a number", pattern, inside),
                   "Such as {batch_id}, or {batch_id:04} for four digits.");
  }
  [[nodiscard]] std::string name(std::int64_t number) const {
    return fmt::format("{}{:0{}}{}", before_, number, digits_, after_);
  }

  /// Return the file of a number; kOtherFile: it is there, but not among the data's. Nullopt: it is not there.
  std::optional<std::uint32_t> find(std::int64_t number) {
    const auto known = known_.find(number);
    if (known != known_.end()) return known->second;
    return known_[number] = look(name(number));
  }

 private:
  [[nodiscard]] std::optional<std::uint32_t> look(const std::string& text) const {
    namespace fs = std::filesystem;
    const fs::path name = fs::path(text).lexically_normal();
    std::optional<std::uint32_t> found;
    const std::string whole = name.is_absolute() ? name.string() : "/" + name.string();
    for (std::size_t f = 0; f < paths_.size(); ++f) {
      if (name.is_absolute() ? paths_[f] != whole : !paths_[f].ends_with(whole)) continue;
      if (found)
        throw refuse(fmt::format("{} may be {} or {}", text, data_.files()[*found].path, data_.files()[f].path),
                     "Let file_template begin with the folder.");
      found = static_cast<std::uint32_t>(f);
    }
    if (found) return found;
    std::error_code ignored;
    for (const fs::path& folder : folders_)
      if (fs::exists(folder / name, ignored)) return kOtherFile;
    return std::nullopt;
  }

  const Dataset& data_;
  std::vector<std::string> paths_;           // of its files, absolute
  std::set<std::filesystem::path> folders_;  // that they are in
  std::string before_, after_;
  int digits_ = 0;
  std::map<std::int64_t, std::optional<std::uint32_t>> known_;
};

class MetaReader {
 public:
  MetaReader(const Dataset& data, const Dataset& meta, const MetaColumns& columns)
      : data_(data), meta_(meta), columns_(columns) {
    if (!columns.file_template.empty()) numbers_.emplace(data, columns.file_template);
  }

  MetaSpans read(const std::function<bool()>& go_on) {
    check();
    spans_.reserve(meta_.size());
    for (std::uint64_t row = 0; row < meta_.size(); row += kRowsAtOnce) {
      const Batch some = meta_.slice(row, std::min(kRowsAtOnce, meta_.size() - row), go_on);
      add(row, whole_numbers(some.array(0)), whole_numbers(some.array(1)),
          numbers_ ? whole_numbers(some.array(2)) : std::vector<std::int64_t>());
    }
    return list();
  }

 private:
  [[nodiscard]] Error wrong(std::uint64_t row, std::string text, std::string hint = {}) const {
    std::uint64_t before = 0;
    std::size_t f = 0;
    while (f + 1 < meta_.files().size() && row - before >= meta_.files()[f].rows) before += meta_.files()[f++].rows;
    if (hint.empty())
      hint = columns_.last
                 ? "A span has the rows first to last of its file, both included; one without rows ends before "
                   "it begins (last = first - 1)."
                 : "A span has the rows from first on, up to end, which is not one of them.";
    return Error(ErrorCode::kCorruptData, fmt::format("row {}: {}", row - before, text))
        .with_file(meta_.files()[f].path)
        .with_field(meta_.fields()[0].name)
        .with_hint(hint);
  }
  [[nodiscard]] Error outside(std::uint64_t row, std::int64_t first, std::int64_t last, std::uint32_t file) const {
    const __int128 most = __int128{last} - (columns_.last ? 0 : 1);
    return wrong(row, fmt::format("its sample has the rows {} to {} of {}, which has {} rows", first, most, path(file),
                                  data_.files()[file].rows));
  }
  [[nodiscard]] const std::string& path(std::uint32_t file) const { return data_.files()[file].path; }

  void check() const {
    for (const Field& field : meta_.fields())
      if ((field.dtype.kind != DType::Kind::kInt && field.dtype.kind != DType::Kind::kUInt) ||
          !field.dims.row_shape().empty())
        throw refuse(fmt::format("the fields of a table of spans must be whole numbers, one a row; this field is {} {}",
                                 field.dtype.name(), field.dims.text()))
            .with_file(meta_.files()[0].path)
            .with_field(field.name);
    if (!numbers_ && data_.files().size() > 1 && meta_.files().size() != data_.files().size())
      throw refuse(
          fmt::format("the table does not say which of the {} files has the rows of a sample", data_.files().size()),
          "Give file= and file_template=, or as many tables as there are files.")
          .with_file(meta_.files()[0].path);
  }

  /// The file of a row of the table where there is no template.
  std::uint32_t file_of(std::uint64_t row) {
    if (data_.files().size() == 1) return 0;
    while (row - table_first_ >= meta_.files()[table_].rows) table_first_ += meta_.files()[table_++].rows;
    return static_cast<std::uint32_t>(table_);
  }

  void add(std::uint64_t first_row, const std::vector<std::int64_t>& first, const std::vector<std::int64_t>& last,
           const std::vector<std::int64_t>& number) {
    for (std::size_t i = 0; i < first.size(); ++i) {
      const std::uint64_t row = first_row + i;
      const std::optional<std::uint32_t> file = numbers_ ? numbers_->find(number[i]) : file_of(row);
      if (!file)
        throw wrong(row,
                    fmt::format("its sample is in {}, which is neither among the opened files nor in their folders",
                                numbers_->name(number[i])),
                    "This name is made from file_template and the file's number.");
      if (*file == kOtherFile) {
        ++other_;
        continue;
      }
      const std::uint64_t rows_of_file = data_.files()[*file].rows;
      const std::int64_t least = columns_.last ? -1 : 0;  // of what stands for the end
      if (first[i] < 0 || last[i] < least || (last[i] > 0 && static_cast<std::uint64_t>(last[i]) > rows_of_file))
        throw outside(row, first[i], last[i], *file);
      const auto begin = static_cast<std::uint64_t>(first[i]), end = static_cast<std::uint64_t>(last[i] - least);
      if (end < begin || end > rows_of_file) throw outside(row, first[i], last[i], *file);
      spans_.push_back({begin, end, *file});
      rows_.push_back(row);
    }
  }

  MetaSpans list() {
    const auto key = [&](std::size_t i) { return std::tuple(spans_[i].file, spans_[i].first, spans_[i].end); };
    std::vector<std::size_t> order(spans_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto before = [&](std::size_t a, std::size_t b) { return key(a) < key(b); };
    const bool sorted = std::ranges::is_sorted(order, before);
    if (!sorted) std::ranges::stable_sort(order, before);
    SpanLister lister(data_);
    MetaSpans made;
    std::uint32_t file = 0;
    std::uint64_t end = 0;
    std::size_t last = 0;  // of those with rows
    for (const std::size_t i : order) {
      Span span = spans_[i];
      for (; file < span.file; ++file) lister.end_file(), end = 0;
      if (span.first == span.end) span.first = span.end = std::max(span.first, end);  // no rows: it stands anywhere
      if (span.first < end)
        throw wrong(rows_[i],
                    fmt::format("its sample has the rows {} to {} of {}, of which the sample of row {} has some too",
                                span.first, span.end - 1, path(file), rows_[last]));
      lister.add_span(span.first, span.end);
      if (span.end > span.first) last = i;
      end = span.end;
    }
    for (; file < data_.files().size(); ++file) lister.end_file();
    made.rows_left_out = lister.rows_left_out();
    made.list = lister.take();
    if (!sorted || other_ > 0) {
      made.meta_rows.reserve(order.size());
      for (const std::size_t i : order) made.meta_rows.push_back(rows_[i]);
    }
    return made;
  }

  const Dataset &data_, &meta_;
  const MetaColumns& columns_;
  std::optional<FileNumbers> numbers_;
  std::vector<Span> spans_;
  std::vector<std::uint64_t> rows_;  // of the table, for each of spans_
  std::uint64_t other_ = 0;
  std::size_t table_ = 0;
  std::uint64_t table_first_ = 0;
};

}  // namespace

MetaSpans read_meta_spans(const Dataset& data, const Dataset& meta, const MetaColumns& columns,
                          const std::function<bool()>& go_on) {
  return MetaReader(data, meta, columns).read(go_on);
}

}  // namespace headrace
