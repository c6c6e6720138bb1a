#include "dataset/samples/span_list.h"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "base/text/number_text.h"
#include "dataset/recipe/refuse.h"
#include "dataset/samples/span_lister.h"
#include "dataset/samples/whole_numbers.h"

namespace headrace {

SpanList read_offsets(const Dataset& data, const Dataset& offsets, const std::function<bool()>& go_on) {
  const Field& field = offsets.fields()[0];
  if ((field.dtype.kind != DType::Kind::kInt && field.dtype.kind != DType::Kind::kUInt) ||
      !field.dims.row_shape().empty())
    throw refuse(
        fmt::format("offsets are whole numbers, one a row; this is {} {}", field.dtype.name(), field.dims.text()))
        .with_field(field.name);
  SpanLister lister(data);
  std::uint64_t first_offset = 0;
  for (std::size_t f = 0; f < data.files().size(); ++f) {
    const std::uint64_t rows = data.files()[f].rows, count = offsets.files()[f].rows;
    const std::vector<std::int64_t> values = whole_numbers(offsets.slice(first_offset, count, go_on).array(0));
    const auto wrong = [&](std::string text) {
      return Error(ErrorCode::kCorruptData, std::move(text))
          .with_file(offsets.files()[f].path)
          .with_field(field.name)
          .with_hint("Offsets are the row where each sample begins, and at last the end.");
    };
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] < 0 || static_cast<std::uint64_t>(values[i]) > rows)
        throw wrong(fmt::format("offset {} is {}: the file has {} rows", i, values[i], rows));
      if (i > 0 && values[i] < values[i - 1])
        throw wrong(fmt::format("offset {} is {}, below the {} before it", i, values[i], values[i - 1]));
    }
    lister.add_file(std::span(values));
    first_offset += count;
  }
  return lister.take();
}

SpanList divide_offsets(const Dataset& data, const std::vector<std::uint64_t>& offsets) {
  constexpr std::string_view kHint =
      "Offsets count rows through all files: where each sample begins, and at last the end.";
  SpanLister lister(data);
  std::vector<std::uint64_t> own;  // of a file, as rows of it
  std::size_t next = 0;            // sample
  std::uint64_t first = 0;         // row of the file
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i] > data.size())
      throw refuse(fmt::format("offset {} is {}: there are {} rows", i, offsets[i], group_digits(data.size())), kHint);
    if (i > 0 && offsets[i] < offsets[i - 1])
      throw refuse(fmt::format("offset {} is {}, below the {} before it", i, offsets[i], offsets[i - 1]), kHint);
  }
  for (std::size_t f = 0; f < data.files().size(); ++f) {
    const FileEntry& file = data.files()[f];
    const std::uint64_t end = first + file.rows;
    const bool last = f + 1 == data.files().size();
    own.clear();
    for (; next + 1 < offsets.size() && (offsets[next] < end || last); ++next) {
      if (offsets[next + 1] > end)
        throw refuse(fmt::format("sample {} has rows {} to {}, of which the last are another file's", next,
                                 offsets[next], offsets[next + 1] - 1),
                     "A sample lies in one file: this one ends with row " + std::to_string(end - 1) + ".")
            .with_file(file.path);
      if (own.empty()) own.push_back(offsets[next] - first);
      own.push_back(offsets[next + 1] - first);
    }
    lister.add_file(std::span(std::as_const(own)));
    first = end;
  }
  return lister.take();
}

SpanList join_spans(std::span<const SpanList* const> lists) {
  SpanList all;
  std::vector<std::uint64_t> starts;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> named;  // runs of runs
  std::uint64_t rows = 0;
  for (const SpanList* const list : lists) {
    const std::uint64_t runs = starts.size();
    for (const std::uint64_t start : std::span(*list->starts).first(list->starts->size() - 1))
      starts.push_back(rows + start);
    rows += list->starts->back();
    for (const std::uint64_t end : list->file_ends) all.file_ends.push_back(runs + end);
    for (std::uint64_t i = 0; list->named && i < list->named->size(); ++i) {
      const std::uint64_t run = runs + (*list->named)[i];
      if (!named.empty() && named.back().second == run)
        ++named.back().second;
      else
        named.emplace_back(run, run + 1);
    }
    if (!list->named) named.emplace_back(runs, starts.size());
    if (all.notice.empty()) all.notice = list->notice;
  }
  const std::uint64_t runs = starts.size();
  starts.push_back(rows);
  all.starts = std::make_shared<const std::vector<std::uint64_t>>(std::move(starts));
  all.is_array_each = lists[0]->is_array_each;
  all.are_rows = lists[0]->are_rows;
  for (const SpanList* const list : lists)
    if (list->named && !all.named) all.named = std::make_shared<const RowSet>(runs, std::span(std::as_const(named)));
  return all;
}

}  // namespace headrace
