#include "dataset/opening/open_source_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "dataset/opening/sample_axes.h"

namespace headrace {
namespace {

/// An array has a list in each row here, or has not, as in the first file. \param i  Number of the file in each list.
Status check_lists(const SourceFile& file, const FieldPlan& plan, const FileLists& lists, std::size_t i) {
  for (std::size_t a = 0; a < file.arrays.size(); ++a) {
    const ArrayInfo& info = file.arrays[a]->info();
    if (plan.arrays[a].is_list != info.list.empty()) continue;
    const std::vector<std::string>& paths = lists.paths(plan.arrays[a].list);
    const auto form = [](bool is_list) { return is_list ? "a list in each row" : "one value in each row"; };
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("the field has {} here, but {} in {}", form(!info.list.empty()),
                             form(plan.arrays[a].is_list), paths[0]))
        .with_file(paths[i])
        .with_field(info.path)
        .with_hint("Files of one data set must agree; open those that differ apart.");
  }
  return {};
}

/// Every array must have the rows of the file's own ones. \param own  The first of these.
Status check_rows(const SourceFile& file, const FieldPlan& plan, std::size_t own) {
  for (std::size_t a = 0; a < file.arrays.size(); ++a) {
    if (plan.arrays[a].list != 0 || file.arrays[a]->info().rows() == file.rows) continue;
    std::string list;
    const bool lists = std::ranges::all_of(plan.arrays, &FieldPlan::Array::is_list);
    for (std::size_t b = 0; b < file.arrays.size(); ++b)
      if (plan.arrays[b].list == 0)
        list += fmt::format("\n  {}: {} {}", file.arrays[b]->info().path, file.arrays[b]->info().rows(),
                            lists ? "values" : "rows");
    if (lists)
      return Error(ErrorCode::kInvalidArgument, "the lists have different lengths:" + list)
          .with_file(file.path)
          .with_hint(
              "\nChoose lists of one length with fields=, and open others as a data set of "
              "their own.");
    return Error(ErrorCode::kInvalidArgument, "the fields have different numbers of rows:" + list)
        .with_file(file.path)
        .with_hint("\nOpen arrays of another length as a data set of their own.");
  }
  for (const CompanionFile& companion : file.companion_files)
    for (const std::uint32_t a : companion.arrays) {
      const ArrayInfo& info = file.arrays[a]->info();
      if (info.rows() == file.rows) continue;
      return Error(ErrorCode::kInvalidArgument,
                   fmt::format("the file and its data file differ in their number of rows:\n "
                               " {} of {}: {} rows\n  {} of {}: {} rows",
                               info.path, companion.path, info.rows(), file.arrays[own]->info().path, file.path,
                               file.rows))
          .with_file(companion.path)
          .with_field(info.path)
          .with_hint(
              "In FILES::PATH, row i of a file belongs to row i of the data set's file of the same place in "
              "the list: check the order of both lists.");
    }
  return {};
}

/// The type that holds the numbers of both; nullopt: there is none, or they are no whole numbers.
std::optional<DType> wider(const DType& a, const DType& b) {
  const auto is_whole = [](const DType& type) {
    return type.kind == DType::Kind::kInt || type.kind == DType::Kind::kUInt;
  };
  if (!is_whole(a) || !is_whole(b)) return std::nullopt;
  if (a.kind == b.kind) return a.itemsize < b.itemsize ? b : a;
  const std::uint32_t with_sign = a.kind == DType::Kind::kInt ? a.itemsize : b.itemsize;
  const std::uint32_t without = a.kind == DType::Kind::kInt ? b.itemsize : a.itemsize;
  if (without == sizeof(std::uint64_t)) return std::nullopt;
  return DType{DType::Kind::kInt, std::max(with_sign, 2 * without)};
}

/// What to do about a field that is of one type here and of another there.
std::string way_out(const DType& here, const DType& there) {
  constexpr std::string_view kAgree = "Files of one data set must agree";
  if (const auto type = here == there ? std::nullopt : wider(here, there))
    return fmt::format(
        "{0}: write the field as {1} in all of them, by column.cast(\"{1}\") of pyarrow or "
        "array.astype(\"{1}\") of NumPy; or leave it out: fields=.",
        kAgree, type->name());
  return fmt::format("{}: write the field anew where it differs, or leave it out: fields=.", kAgree);
}

/// Every field must be stored here as in the first file. \param i  Number of the file in each list.
Status check_fields(const SourceFile& file, const FieldPlan& plan, const FileLists& lists, std::size_t i) {
  for (std::size_t f = 0; f < plan.columns.size(); ++f) {
    const StoredColumn& field = plan.columns[f];
    const Source::ColumnPlace place = plan.places[f];
    const ArrayInfo& info = file.arrays[place.array]->info();
    const bool has_column = place.column < info.columns.size();
    std::vector<std::uint64_t> shape(info.shape.begin() + 1, info.shape.end());
    if (has_column) {
      const Column& c = info.columns[place.column];
      shape.insert(shape.end(), c.inner_shape.begin(), c.inner_shape.end());
      if (c.dtype == field.dtype && shape == field.shape) continue;
    }
    const std::vector<std::string>& paths = lists.paths(plan.arrays[place.array].list);
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("the field is {} ({}) here, but {} ({}) in {}",
                             has_column ? info.columns[place.column].dtype.name() : "another record",
                             fmt::join(shape, ", "), field.dtype.name(), fmt::join(field.shape, ", "), paths[0]))
        .with_file(paths[i])
        .with_field(info.path)
        .with_hint(way_out(has_column ? info.columns[place.column].dtype : field.dtype, field.dtype));
  }
  return {};
}

/// Open an array as the plan has it.
Result<std::shared_ptr<ArrayReader>> open_planned(const FormatReader& reader, const FieldPlan::Array& planned) {
  HEADRACE_ASSIGN(std::shared_ptr<ArrayReader> array, reader.open_array(planned.path));
  if (!planned.filled || !array->info().nullable) return array;
  HEADRACE_ASSIGN(std::shared_ptr<ArrayReader> filled, array->filled());
  return filled != nullptr ? filled : array;
}

}  // namespace

Result<OpenedFile> open_unchecked(FileLists& lists, std::size_t file, const FieldPlan& plan) {
  OpenedFile made{{lists.paths(0)[file], 0, {}, {}}, {}};
  SourceFile& out = made.file;
  out.arrays.resize(plan.arrays.size());
  for (std::uint32_t list = 0; list < lists.num_lists(); ++list) {
    HEADRACE_ASSIGN(const std::shared_ptr<const FormatReader> reader, lists.open(list, file));
    CompanionFile companion{lists.paths(list)[file], reader->file().fingerprint(), {}};
    std::vector<std::shared_ptr<ArrayReader>> opened;
    for (std::uint32_t a = 0; a < plan.arrays.size(); ++a) {
      if (plan.arrays[a].list != list) continue;
      HEADRACE_ASSIGN(out.arrays[a], open_planned(*reader, plan.arrays[a]));
      opened.push_back(out.arrays[a]);
      companion.arrays.push_back(a);
    }
    lists.learn(list, file, *reader, opened);
    if (list == 0)
      out.fingerprint = companion.fingerprint, made.attributes = reader->attributes();
    else
      out.companion_files.push_back(std::move(companion));
  }
  return made;
}

Result<OpenedFile> open_source_file(FileLists& lists, std::size_t file, const FieldPlan& plan) {
  HEADRACE_ASSIGN(OpenedFile made, open_unchecked(lists, file, plan));
  SourceFile& out = made.file;
  const auto own = std::ranges::find(plan.arrays, 0u, &FieldPlan::Array::list);
  if (own == plan.arrays.end()) return made;
  const auto first = static_cast<std::size_t>(own - plan.arrays.begin());
  HEADRACE_TRY(check_lists(out, plan, lists, file));
  HEADRACE_TRY(merge_axes(out, plan));
  out.rows = out.arrays[first]->info().rows();
  HEADRACE_TRY(check_rows(out, plan, first));
  HEADRACE_TRY(check_fields(out, plan, lists, file));
  return made;
}

Result<SourceFile> open_arrays(const FileLists& lists, const FormatReader& reader, std::size_t file,
                               const FieldPlan& plan) {
  SourceFile out{lists.paths(0)[file], 0, {}, {}};
  out.fingerprint = reader.file().fingerprint();
  for (const FieldPlan::Array& array : plan.arrays) {
    HEADRACE_ASSIGN(out.arrays.emplace_back(), open_planned(reader, array));
  }
  out.rows = out.arrays[0]->info().rows();
  HEADRACE_TRY(check_rows(out, plan, 0));
  HEADRACE_TRY(check_fields(out, plan, lists, file));
  return out;
}

}  // namespace headrace
