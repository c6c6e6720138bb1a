#include "dataset/recipe/field_forms.h"

#include <charconv>
#include <set>
#include <span>
#include <utility>

namespace headrace {
namespace {

constexpr std::uint64_t kWordRows = 64;  // rows that a word of a selection's bitmap stands for
constexpr std::uint64_t kShortRun = 3;   // rows; so many are written as a run
using ChosenRun = std::pair<std::uint64_t, std::uint64_t>;

Status read_choices(const Value& value, const At& at, std::string_view words,
                    const std::function<Status(std::string name, const Value& path, const At& here)>& add) {
  std::set<std::string> names;
  const auto add_once = [&](const std::string& name, const Value& path, const At& here, int line) -> Status {
    if (!names.insert(name).second)
      return refused({{}, false, line}, at, fmt::format("the field '{}' is given twice", name));
    return add(name, path, here);
  };
  if (const ValueMap* const map = value.map()) {
    for (const ValueEntry& entry : *map) HEADRACE_TRY(add_once(entry.key, entry.value, At{&at, entry.key}, entry.line));
  } else if (const ValueList* const list = value.list()) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      std::string name;
      const At here{&at, fmt::format("[{}]", i)};
      HEADRACE_TRY(ValueCodec<std::string>::read((*list)[i], here, {}, name));
      HEADRACE_TRY(add_once(name, (*list)[i], here, (*list)[i].line));
    }
  } else {
    return unexpected(value, at, words);
  }
  return names.empty() ? Status(refused(value, at, "no field is chosen")) : Status();
}

void pack_texts(PackedWriter& out, const std::string& name, const std::string& path) {
  out.text(name);
  out.text(path);
}

std::vector<ChosenRun> runs_of(const RowSet& rows) {
  std::vector<ChosenRun> runs;
  for (std::size_t w = 0; w < rows.words().size(); ++w) {
    const std::uint64_t word = rows.words()[w];
    for (std::uint64_t bit = 0; word != 0 && bit < kWordRows; ++bit) {
      if ((word >> bit & 1) == 0) continue;
      const std::uint64_t row = w * kWordRows + bit;
      if (runs.empty() || runs.back().second != row) runs.emplace_back(row, row);
      ++runs.back().second;
    }
  }
  return runs;
}

/// Rows [first, end), each `step`-th.
struct Stretch {
  std::uint64_t first = 0, end = 0, step = 1;
  /// Return how many runs of rows that follow each other it is.
  [[nodiscard]] std::uint64_t num_runs() const { return step == 1 ? 1 : (end - first - 1) / step + 1; }
};

/// "3", "10:20", "10:20:2", or a number.
Result<Stretch> read_stretch(const Value& value, const At& at) {
  const std::string* const text = value.text();
  if (!text || text->find(':') == std::string::npos) {
    HEADRACE_ASSIGN(const std::uint64_t row, read_whole(value, at, {}));
    return Stretch{row, row + 1};
  }
  Stretch run;
  const char *place = text->data(), *const end = place + text->size();
  std::size_t parts = 0;
  for (std::uint64_t* const number : {&run.first, &run.end, &run.step}) {
    const auto [stop, error] = std::from_chars(place, end, *number);
    if (error != std::errc()) break;
    ++parts;
    place = stop;
    if (place == end || *place != ':') break;
    ++place;
  }
  if (parts < 2 || place != end || text->ends_with(':') || run.first >= run.end || run.step == 0)
    return unexpected(value, at, "a sample number, or a run \"first:end\" or \"first:end:step\"");
  return run;
}

/// Add rows that come after all of `runs`.
void add_stretch(std::vector<ChosenRun>& runs, const Stretch& stretch) {
  const auto add = [&](std::uint64_t first, std::uint64_t end) {
    if (!runs.empty() && runs.back().second == first)
      runs.back().second = end;
    else
      runs.emplace_back(first, end);
  };
  if (stretch.step == 1) return add(stretch.first, stretch.end);
  for (std::uint64_t i = 0; i < stretch.num_runs(); ++i) {
    const std::uint64_t row = stretch.first + i * stretch.step;
    add(row, row + 1);
  }
}

}  // namespace

using FieldList = std::vector<FieldChoice>;
Status ValueCodec<FieldList>::read(const Value& value, const At& at, const Bounds& bounds, FieldList& to) {
  to.clear();
  if (value.is_none()) return {};
  return read_choices(value, at, words(bounds), [&](std::string name, const Value& path, const At& here) -> Status {
    FieldChoice choice{std::move(name), {}};
    HEADRACE_TRY(ValueCodec<std::string>::read(path, here, {}, choice.path));
    to.push_back(std::move(choice));
    return {};
  });
}
Value ValueCodec<FieldList>::write(const FieldList& from) {
  ValueMap map;
  for (const FieldChoice& one : from) map.push_back({one.name, {one.path.empty() ? one.name : one.path}, 0});
  return map.empty() ? Value{} : Value{std::move(map)};
}
void ValueCodec<FieldList>::pack(PackedWriter& out, const FieldList& from) {
  out.number(from.size());
  for (const FieldChoice& one : from) pack_texts(out, one.name, one.path);
}
void ValueCodec<FieldList>::unpack(PackedReader& in, const Bounds&, FieldList& to) {
  to.clear();
  for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
    const std::string_view name = in.text(), path = in.text();
    to.push_back({std::string(name), std::string(path)});
  }
}

using BroadcastList = std::vector<BroadcastChoice>;
constexpr std::uint64_t kMostBroadcastAxes = 64;  // no array has more
Status ValueCodec<BroadcastList>::read(const Value& value, const At& at, const Bounds& bounds, BroadcastList& to) {
  to.clear();
  if (value.is_none()) return {};
  return read_choices(value, at, words(bounds), [&](std::string name, const Value& path, const At& here) -> Status {
    BroadcastChoice choice{std::move(name), {}};
    const ValueList* const both = path.list();
    if (both && both->size() != 2) return unexpected(path, here, "a path, or [path, axes]");
    HEADRACE_TRY(ValueCodec<std::string>::read(both ? (*both)[0] : path, here, {}, choice.path));
    if (both) HEADRACE_TRY(ValueCodec<std::uint32_t>::read((*both)[1], here, {1, kMostBroadcastAxes}, choice.axes));
    to.push_back(std::move(choice));
    return {};
  });
}
Value ValueCodec<BroadcastList>::write(const BroadcastList& from) {
  ValueMap map;
  for (const BroadcastChoice& one : from) {
    const Value path{one.path.empty() ? one.name : one.path};
    map.push_back({one.name, one.axes == 0 ? path : Value{ValueList{path, {WholeNumber(one.axes)}}}, 0});
  }
  return map.empty() ? Value{} : Value{std::move(map)};
}
void ValueCodec<BroadcastList>::pack(PackedWriter& out, const BroadcastList& from) {
  out.number(from.size());
  for (const BroadcastChoice& one : from) pack_texts(out, one.name, one.path), out.number(one.axes);
}
void ValueCodec<BroadcastList>::unpack(PackedReader& in, const Bounds&, BroadcastList& to) {
  to.clear();
  for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
    const std::string_view name = in.text(), path = in.text();
    to.push_back(
        {std::string(name), std::string(path), static_cast<std::uint32_t>(in.number_up_to(kMostBroadcastAxes))});
  }
}

using RowSetPointer = std::shared_ptr<const RowSet>;
Status ValueCodec<RowSetPointer>::read(const Value& value, const At& at, const Bounds& bounds, RowSetPointer& to) {
  const ValueList* const list = value.list();
  if (!list) return unexpected(value, at, words(bounds));
  if (list->empty()) return refused(value, at, "the list is empty");
  std::vector<ChosenRun> runs;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const At here{&at, fmt::format("[{}]", i)};
    HEADRACE_ASSIGN(const Stretch stretch, read_stretch((*list)[i], here));
    constexpr std::uint64_t kMostRows = std::uint64_t{1} << 32;  // half a GiB as a bitmap
    if (stretch.end > kMostRows)
      return refused((*list)[i], here, fmt::format("samples of a selection are below {}", kMostRows));
    if (!runs.empty() && stretch.first < runs.back().second)
      return refused((*list)[i], here,
                     fmt::format("samples must ascend: {} comes after {}", stretch.first, runs.back().second - 1));
    constexpr std::uint64_t kMostRuns = std::uint64_t{1} << 26;  // a GiB while they are read
    if (stretch.num_runs() > kMostRuns - runs.size())
      return refused((*list)[i], here, fmt::format("more than {} samples that lie apart", kMostRuns));
    add_stretch(runs, stretch);
  }
  to = std::make_shared<const RowSet>(runs.back().second, std::span<const ChosenRun>(runs));
  return {};
}
Value ValueCodec<RowSetPointer>::write(const RowSetPointer& from) {
  ValueList list;
  const std::vector<ChosenRun> runs = runs_of(*from);
  const auto is_single = [&](std::size_t i) { return i < runs.size() && runs[i].second - runs[i].first == 1; };
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto [first, end] = runs[i];
    std::size_t last = i;  // of single rows that follow each other at one distance
    const std::uint64_t step = is_single(i) && is_single(i + 1) ? runs[i + 1].first - first : 0;
    while (step != 0 && is_single(last + 1) && runs[last + 1].first - runs[last].first == step) ++last;
    if (last - i + 1 >= kShortRun) {
      list.push_back({fmt::format("{}:{}:{}", first, runs[last].second, step)});
      i = last;
    } else if (end - first >= kShortRun) {
      list.push_back({fmt::format("{}:{}", first, end)});
    } else {
      for (std::uint64_t row = first; row < end; ++row) list.push_back({WholeNumber(row)});
    }
  }
  return {std::move(list)};
}
/// The bitmap from its first word with a row to its last.
void ValueCodec<RowSetPointer>::pack(PackedWriter& out, const RowSetPointer& from) {
  out.flag(from != nullptr);
  if (!from) return;
  std::span<const std::uint64_t> words = from->words();
  std::uint64_t first = 0;
  while (!words.empty() && words.front() == 0) words = words.subspan(1), ++first;
  while (!words.empty() && words.back() == 0) words = words.first(words.size() - 1);
  std::string bytes;
  for (const std::uint64_t word : words)
    for (int byte = 0; byte < 8; ++byte) bytes.push_back(static_cast<char>(word >> 8 * byte));
  out.number(from->size_of_whole());
  out.number(first);
  out.text(bytes);
}
void ValueCodec<RowSetPointer>::unpack(PackedReader& in, const Bounds&, RowSetPointer& to) {
  to = nullptr;
  if (!in.flag()) return;
  const std::uint64_t whole = in.number(), first = in.number();
  const std::string_view bytes = in.text();
  std::vector<ChosenRun> runs;  // no list of rows: a part of a split may have billions
  if (bytes.size() % 8 != 0 || first > whole / kWordRows) in.fail();
  for (std::size_t i = 0; in.ok() && i < bytes.size(); ++i)
    for (std::uint64_t bit = 0; bit < 8; ++bit) {
      if ((static_cast<unsigned char>(bytes[i]) >> bit & 1) == 0) continue;
      const std::uint64_t row = first * kWordRows + i * 8 + bit;
      if (runs.empty() || runs.back().second != row) runs.emplace_back(row, row);
      ++runs.back().second;
    }
  if (runs.empty() || runs.back().second > whole) in.fail();
  if (in.ok()) to = std::make_shared<const RowSet>(whole, std::span<const ChosenRun>(runs));
}

using AscendingCodec = ValueCodec<std::vector<std::uint64_t>, Ascending>;
Status AscendingCodec::read(const Value& value, const At& at, const Bounds& bounds, std::vector<std::uint64_t>& to) {
  const ValueList* const list = value.list();
  to.clear();
  if (value.is_none()) return {};
  if (!list || list->empty()) return unexpected(value, at, words(bounds));
  for (std::size_t i = 0; i < list->size(); ++i) {
    const At here{&at, fmt::format("[{}]", i)};
    HEADRACE_ASSIGN(const std::uint64_t number, read_whole((*list)[i], here, {}));
    if (!to.empty() && number < to.back())
      return refused((*list)[i], here, fmt::format("must ascend: {} comes after {}", number, to.back()));
    to.push_back(number);
  }
  return {};
}
Value AscendingCodec::write(const std::vector<std::uint64_t>& from) {
  ValueList list;
  for (const std::uint64_t one : from) list.push_back({WholeNumber(one)});
  return list.empty() ? Value{} : Value{std::move(list)};
}
void AscendingCodec::pack(PackedWriter& out, const std::vector<std::uint64_t>& from) {
  out.number(from.size());
  std::uint64_t before = 0;
  for (const std::uint64_t one : from) out.number(one - std::exchange(before, one));
}
void AscendingCodec::unpack(PackedReader& in, const Bounds&, std::vector<std::uint64_t>& to) {
  to.clear();
  std::uint64_t before = 0;
  for (std::size_t n = in.count(); in.ok() && n > 0; --n) to.push_back(before += in.number());
}

Status for_each_named(const Value& value, const At& at, std::string_view expected,
                      const std::function<Status(const std::string& name, const Value* more, const At& here)>& take) {
  if (const ValueMap* const map = value.map()) {
    HEADRACE_TRY(check_twice(*map, at));
    for (const ValueEntry& entry : *map)
      HEADRACE_TRY(take(entry.key, entry.value.is_none() ? nullptr : &entry.value, At{&at, entry.key}));
    return {};
  }
  const ValueList* const list = value.list();
  if (!list) return value.text() ? take(*value.text(), nullptr, at) : Status(unexpected(value, at, expected));
  if (list->empty()) return refused(value, at, "the list is empty");
  for (std::size_t i = 0; i < list->size(); ++i) {
    const At here{&at, fmt::format("[{}]", i)};
    if ((*list)[i].list()) return unexpected((*list)[i], here, expected);
    HEADRACE_TRY(for_each_named((*list)[i], here, expected, take));
  }
  return {};
}

Status ValueCodec<std::string, AsSplitBy>::read(const Value& value, const At& at, const Bounds& bounds,
                                                std::string& to) {
  const auto* const number = std::get_if<WholeNumber>(&value.is);
  if (number && *number >= WholeNumber(0)) return to = number->text(), Status();
  if (!value.text() || value.text()->empty()) return unexpected(value, at, words(bounds));
  to = *value.text();
  return {};
}

}  // namespace headrace
