#include "dataset/opening/field_selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/text/nearest_name.h"
#include "dataset/files/array_patterns.h"
#include "dataset/opening/sample_axes.h"

namespace headrace {
namespace {

constexpr std::string_view kValidSuffix = ".valid";  // FormatReader::open_array()

std::string without_slash(std::string_view path) {
  while (!path.empty() && path.front() == '/') path.remove_prefix(1);
  return std::string(path);
}
std::string group_of(const FormatReader& file, const ArrayInfo& array) {
  const auto slash = file.has_groups() ? array.path.rfind('/') : std::string::npos;
  return slash == std::string::npos ? std::string() : array.path.substr(0, slash);
}
std::string last_name(const FormatReader& file, const ArrayInfo& array) {
  return file.has_groups() ? array.path.substr(array.path.rfind('/') + 1) : array.path;
}

const ArrayInfo* find_array(const FormatReader& file, const std::string& path) {
  for (const ArrayInfo& a : file.arrays())
    if (a.path == path) return &a;
  return nullptr;
}

/// Where a field is looked for: the first file of a list.
struct Home {
  const FormatReader& file;
  std::uint32_t list = 0;
  std::string prefix = {};   ///< Prefix of its path: "FILES::".
  std::string written = {};  ///< The whole "FILES::PATH".
};

Error choose_one(const FormatReader& file) {
  if (file.arrays().empty())
    return Error(ErrorCode::kFieldMissing, "the file has no array that could be a field")
        .with_file(file.path())
        .with_hint("Run: headrace inspect " + file.path());
  std::vector<const ArrayInfo*> arrays;
  for (const ArrayInfo& a : file.arrays()) arrays.push_back(&a);
  return Error(ErrorCode::kInvalidArgument, "the file has several arrays:" + array_lines(arrays))
      .with_file(file.path())
      .with_hint("Say which one: FILES::PATH.");
}

/// Adds fields one by one and keeps track of arrays and names.
class FieldPlanner {
 public:
  FieldPlanner(FileLists& lists, const FormatReader& own, Nulls nulls) : lists_(lists), own_{own}, nulls_(nulls) {}

  /// From now on fields are such that many samples share a row of.
  void broadcast() { broadcast_ = true; }

  Status add(const std::string& name, const std::string& given_path) {
    HEADRACE_ASSIGN(bool found,
                    add_listed(own_, name, own_.file.has_groups() ? without_slash(given_path) : given_path));
    if (!found && !own_.file.has_groups()) {
      HEADRACE_ASSIGN(found, add_listed(own_, name, without_slash(given_path)));
    }
    if (found) return {};
    const auto divided = divide_path(given_path);
    if (!divided) return add_linked(own_, name, without_slash(given_path));
    return add_beside(name, divided->first, without_slash(divided->second));
  }

  /// Add "NAME.valid" for each nullable field where the caller asked for it and has not named it.
  Status add_masks() {
    for (const Masked& field : std::exchange(masked_, {})) {
      const std::string name = field.name + std::string(kValidSuffix);
      HEADRACE_TRY(check_mask_name(field.block, *field.array));
      if (!names_.contains(name)) {
        HEADRACE_TRY(add_validity(field.block, *field.array, name));
      } else if (!is_mask(name, field.block, *field.array)) {
        return Error(ErrorCode::kInvalidArgument,
                     fmt::format("the field '{}' is another one, and the mask of '{}' would be called so", name,
                                 field.name))
            .with_file(field.block.file.path())
            .with_field(name)
            .with_hint("Give it another name, or open the data with nulls=\"fill\".");
      }
    }
    return {};
  }

  Result<FieldPlan> take() {
    if (!plan_.arrays.empty() && std::ranges::find(plan_.arrays, 0u, &FieldPlan::Array::list) == plan_.arrays.end())
      return Error(ErrorCode::kInvalidArgument, "no field comes from the data set's own files")
          .with_file(own_.file.path())
          .with_hint("Open the files of FILES::PATH themselves, or choose a field of these as well.");
    return std::move(plan_);
  }

 private:
  /// Add a field of other files: "FILES::PATH".
  Status add_beside(const std::string& name, const std::string& files, const std::string& path) {
    if (files.empty())
      return Error(ErrorCode::kInvalidArgument, fmt::format("no files stand before '::{}'", path))
          .with_field(name)
          .with_hint("FILES::PATH is the array PATH of FILES, a path or glob.");
    Result<std::uint32_t> list = lists_.add(files);
    if (!list.ok() && list.error().code() == ErrorCode::kNotFound) {
      const Error& error = list.error();
      return Error(error.code(), error.message())
          .with_file(error.file())
          .with_field(name)
          .with_hint(fmt::format("{} The field's path was read as FILES::PATH, since {} has no array "
                                 "'{}::{}'.",
                                 error.hint(), own_.file.path(), files, path));
    }
    if (!list.ok()) return std::move(list.error().with_field(name));
    HEADRACE_ASSIGN(const std::shared_ptr<const FormatReader> file, lists_.open(*list, 0));  // which stays open
    const Home block{*file, *list, files + "::", files + "::" + path};
    if (path.empty()) {
      if (file->arrays().size() != 1) return choose_one(*file).with_field(name);
      return add_array(block, name, file->arrays()[0]);
    }
    HEADRACE_ASSIGN(const bool found, add_listed(block, name, path));
    return found ? Status() : add_linked(block, name, path);
  }

  /// Add an array that is listed by this name, or a member of its records. \return False if there is none.
  Result<bool> add_listed(const Home& block, const std::string& name, const std::string& path) {
    if (const ArrayInfo* array = find_array(block.file, path)) {
      HEADRACE_TRY(add_array(block, name, *array));
      return true;
    }
    if (path.ends_with(kValidSuffix))
      if (const ArrayInfo* const array = find_array(block.file, path.substr(0, path.size() - kValidSuffix.size()));
          array != nullptr && block.file.open_array(path).ok()) {
        HEADRACE_TRY(add_validity(block, *array, name));
        return true;
      }
    // "array/member" or "array.member": one column of a record array.
    for (std::size_t cut = path.find_first_of("/."); cut != std::string::npos;
         cut = path.find_first_of("/.", cut + 1)) {
      const ArrayInfo* array = find_array(block.file, path.substr(0, cut));
      if (!array || !array->is_record) continue;
      for (std::size_t c = 0; c < array->columns.size(); ++c)
        if (array->columns[c].name == path.substr(cut + 1)) {
          HEADRACE_TRY(check_readable(block.file, *array));
          HEADRACE_TRY(add_column(block, *array, c, name));
          return true;
        }
      return no_member(block.file, *array, path.substr(cut + 1));
    }
    return false;
  }

  /// Say why records have no column of this name.
  static Error no_member(const FormatReader& file, const ArrayInfo& array, const std::string& member) {
    for (const LeftOut& left_out : array.left_out)
      if (left_out.path == member || left_out.path.starts_with(member + "."))
        return Error(ErrorCode::kUnsupported, left_out.reason)
            .with_file(file.path())
            .with_field(array.path + "." + member)
            .with_stage("open")
            .with_hint(left_out.hint);
    std::vector<std::string> names;
    for (const Column& column : array.columns) names.push_back(column.name);
    return Error(ErrorCode::kFieldMissing, fmt::format("its records have no member '{}'", member))
        .with_file(file.path())
        .with_field(array.path)
        .with_hint("They have: " + list_names(nearest_names(member, names)) + ".");
  }

  /// Add an array that has another name: of a link to an array that is listed once, or of the only array of a .npy
  /// file.
  Status add_linked(const Home& block, const std::string& name, const std::string& path) {
    auto opened = block.file.open_array(path);
    if (!opened.ok()) return std::move(opened.error());  // names what there is, nearest first
    if (const ArrayInfo* array = find_array(block.file, (*opened)->info().path)) {
      if (path.find('@') == std::string::npos) return add_array(block, name, *array);
      ArrayInfo sized = *array;  // its level may be another in each file
      sized.path = path;
      return add_array(block, name, sized);
    }
    return Error(ErrorCode::kInternal, fmt::format("'{}' opens but is not listed", path)).with_file(block.file.path());
  }

  Status add_array(const Home& block, const std::string& name, const ArrayInfo& array) {
    HEADRACE_TRY(check_readable(block.file, array));
    for (const LeftOut& member : array.left_out)
      plan_.left_out.push_back({array.path + "." + member.path, member.reason, member.hint, member.is_unknown});
    for (std::size_t c = 0; c < array.columns.size(); ++c)
      HEADRACE_TRY(add_column(block, array, c, array.is_record ? name + "." + array.columns[c].name : name));
    return {};
  }

  /// Add the field that says which rows of a nullable array have a value.
  Status add_validity(const Home& block, const ArrayInfo& array, const std::string& name) {
    HEADRACE_TRY(check_readable(block.file, array));
    HEADRACE_TRY(check_mask_name(block, array));
    HEADRACE_ASSIGN(const std::shared_ptr<ArrayReader> validity,
                    block.file.open_array(array.path + std::string(kValidSuffix)));
    Home here{block.file, block.list, block.prefix, block.written.empty() ? "" : block.prefix + validity->info().path};
    return add_column(here, validity->info(), 0, name);
  }

  /// Refuse an array whose mask has the name of another one: either could be taken for the other.
  static Status check_mask_name(const Home& block, const ArrayInfo& array) {
    if (find_array(block.file, array.path + std::string(kValidSuffix)) == nullptr) return {};
    return Error(ErrorCode::kInvalidArgument, fmt::format("a column is named '{}{}', as the mask of '{}' "
                                                          "would be",
                                                          array.path, kValidSuffix, array.path))
        .with_file(block.file.path())
        .with_field(array.path)
        .with_hint("Open the data with nulls=\"fill\".");
  }

  /// True if the field of this name says which rows of the array have a value.
  [[nodiscard]] bool is_mask(const std::string& name, const Home& block, const ArrayInfo& array) const {
    for (std::size_t c = 0; c < plan_.columns.size(); ++c) {
      const FieldPlan::Array& from = plan_.arrays[plan_.places[c].array];
      if (plan_.columns[c].name == name) return from.list == block.list && from.path == array.path + ".valid";
    }
    return false;
  }

  static Status check_readable(const FormatReader& file, const ArrayInfo& array) {
    if (array.read_path == ReadPath::kUnsupported) {
      auto opened = file.open_array(array.path);  // its error knows whether it is damaged, and what would help
      Error error = opened.ok() ? Error(ErrorCode::kUnsupported, array.reason) : std::move(opened.error());
      return std::move(error.with_file(file.path()).with_field(array.path).with_stage("open"));
    }
    for (std::size_t d = 1; d < array.shape.size(); ++d)
      if (array.shape[d] == 0)
        return Error(ErrorCode::kInvalidArgument,
                     fmt::format("shape ({}) has a dimension of size 0: a sample holds nothing",
                                 fmt::join(array.shape, ", ")))
            .with_file(file.path())
            .with_field(array.path)
            .with_hint("Leave this field out with fields=.");
    return {};
  }

  Status add_column(const Home& block, const ArrayInfo& array, std::size_t column, const std::string& name) {
    if (!names_.insert(name).second)
      return Error(ErrorCode::kInvalidArgument, fmt::format("two fields are named '{}'", name))
          .with_file(block.file.path())
          .with_hint("Give every field its own name: fields={\"name\": \"path in the file\"}.");
    const Column& c = array.columns[column];
    StoredColumn field{name, block.prefix + array.path, c.dtype, {}};
    if (array.is_record)
      field.path += "/" + c.name;
    else if (!block.written.empty())
      field.path = block.written;
    field.shape.assign(array.shape.begin() + 1, array.shape.end());
    field.shape.insert(field.shape.end(), c.inner_shape.begin(), c.inner_shape.end());
    plan_.columns.push_back(std::move(field));
    const FieldPlan::Array wanted{block.list, array.path, broadcast_, 1, nulls_ != Nulls::kError, !array.list.empty()};
    auto known = std::ranges::find(plan_.arrays, wanted);
    if (known == plan_.arrays.end()) known = plan_.arrays.insert(known, wanted);
    plan_.places.push_back(
        {static_cast<std::uint32_t>(known - plan_.arrays.begin()), static_cast<std::uint32_t>(column)});
    if (array.nullable && nulls_ == Nulls::kMask) masked_.push_back({block, &array, name});
    return {};
  }

  FileLists& lists_;
  const Home own_;
  FieldPlan plan_;
  std::set<std::string> names_;
  bool broadcast_ = false;
  const Nulls nulls_;
  struct Masked {
    Home block;
    const ArrayInfo* array;
    std::string name;
  };
  std::vector<Masked> masked_;
};

Error choose_yourself(const FormatReader& file, std::string_view what, const std::vector<const ArrayInfo*>& arrays) {
  std::string hint = "\nSay which arrays are the fields: fields={\"x\": \"path in the file\", ...}.";
  if (is_array_for_each_sample(arrays))
    hint += fmt::format(
        " Where every sample or recording is a group or an array of its own, a '*' stands for their names: "
        "fields={{\"x\": \"{}\"}} opens all of them as samples, fields={{\"x\": \"{}\"}} the rows of one.",
        path_pattern(arrays[0]->path), arrays[0]->path);
  return Error(ErrorCode::kInvalidArgument, fmt::format("{}:{}", what, array_lines(arrays)))
      .with_file(file.path())
      .with_hint(hint);
}

/// Which arrays are fields where the caller did not say so, and why others are not.
struct DefaultArrays {
  std::vector<const ArrayInfo*> chosen;
  std::vector<LeftOut> left_out;
};

bool holds_nothing(const ArrayInfo& array) {
  return std::find(array.shape.begin() + 1, array.shape.end(), 0u) != array.shape.end();
}

/// Return the number of rows that more than half of the arrays have. nullopt: there is none, or an array is longer, or
/// shorter by less than half: it may belong to the samples, so that leaving it out would hide a mistake.
std::optional<std::uint64_t> common_rows(const std::vector<const ArrayInfo*>& arrays) {
  std::uint64_t most = 0;
  for (const ArrayInfo* a : arrays) most = std::max(most, a->rows());
  const auto with = std::ranges::count_if(arrays, [&](const ArrayInfo* a) { return a->rows() == most; });
  const bool some_nearly =
      std::ranges::any_of(arrays, [&](const ArrayInfo* a) { return a->rows() != most && a->rows() > most / 2; });
  return 2 * static_cast<std::size_t>(with) > arrays.size() && !some_nearly ? std::optional(most) : std::nullopt;
}

/// Every array with the common number of rows in the root, or in the only group.
Result<DefaultArrays> default_arrays(const FormatReader& file) {
  std::vector<const ArrayInfo*> readable, root, lists;
  std::set<std::string> groups;
  std::optional<Error> refusal;
  DefaultArrays out;
  out.left_out = file.passed_over();
  for (const ArrayInfo& a : file.arrays()) {
    if (a.read_path == ReadPath::kUnsupported) {
      auto opened =
          file.open_array(a.path);  // unreadable arrays are left out, but damage is never passed over in silence
      if (!opened.ok() && opened.error().code() == ErrorCode::kCorruptData) return std::move(opened.error());
      if (!opened.ok() && file.arrays().size() == 1) refusal = std::move(opened.error());
      out.left_out.push_back({a.path, a.reason, "", !a.no_numbers});
      continue;
    }
    if (holds_nothing(a) && file.arrays().size() > 1) {
      out.left_out.push_back(
          {a.path, fmt::format("its shape ({}) has a dimension of size 0", fmt::join(a.shape, ", "))});
      continue;
    }
    if (!a.list.empty()) {  // whose number of values says nothing of the file's rows
      lists.push_back(&a);
      continue;
    }
    readable.push_back(&a);
    groups.insert(group_of(file, a));
    if (group_of(file, a).empty()) root.push_back(&a);
  }
  if (refusal) return std::move(*refusal);  // of the only array: say why
  out.chosen = lists;
  if (readable.empty() && !lists.empty()) return out;
  if (readable.empty())
    return Error(ErrorCode::kFieldMissing, "the file has no array that could be a field")
        .with_file(file.path())
        .with_hint("Run: headrace inspect " + file.path());
  if (root.empty() && groups.size() > 1)
    return choose_yourself(file, "the file's arrays lie in several groups", readable);
  if (!root.empty())
    for (const ArrayInfo* a : readable)
      if (!group_of(file, *a).empty())
        out.left_out.push_back({a->path, "it lies in a group, and the fields are the arrays of the root"});
  const std::vector<const ArrayInfo*>& alike = root.empty() ? readable : root;
  const std::optional<std::uint64_t> rows = common_rows(alike);
  if (!rows) return choose_yourself(file, "the file's arrays have different numbers of rows", alike);
  for (const ArrayInfo* a : alike) {
    if (a->rows() == *rows)
      out.chosen.push_back(a);
    else
      out.left_out.push_back({a->path, fmt::format("it has {} rows, and the fields have {}", a->rows(), *rows)});
  }
  std::ranges::sort(out.chosen);  // as the file has them
  return out;
}

/// Samples that are cells of several axes, and values that they share, say nothing of which arrays are fields.
Status check_named(const FormatReader& file, const OpenOptions& options) {
  if (options.sample_axes <= 1 && options.broadcast.empty()) return {};
  std::vector<const ArrayInfo*> arrays;
  for (const ArrayInfo& a : file.arrays()) arrays.push_back(&a);
  return choose_yourself(file, "sample_axes and broadcast need fields that are chosen; the file has", arrays);
}

}  // namespace

bool has_lists(const FieldPlan& plan) {
  return std::ranges::any_of(plan.arrays, &FieldPlan::Array::is_list);
}

Result<FieldPlan> plan_fields(FileLists& lists, const OpenOptions& options) {
  HEADRACE_ASSIGN(const std::shared_ptr<const FormatReader> own, lists.open(0, 0));
  const FormatReader& file = *own;
  FieldPlanner planner(lists, file, options.nulls);
  const auto add = [&](const std::string& name, const std::string& path) -> Status {
    if (name.empty()) return Error(ErrorCode::kInvalidArgument, "a field has an empty name").with_file(file.path());
    return planner.add(name, path.empty() ? name : path);
  };
  std::vector<LeftOut> left_out;
  if (options.fields.empty()) {
    HEADRACE_TRY(check_named(file, options));
    HEADRACE_ASSIGN(DefaultArrays arrays, default_arrays(file));
    for (const ArrayInfo* a : arrays.chosen) HEADRACE_TRY(planner.add(last_name(file, *a), a->path));
    left_out = std::move(arrays.left_out);
  }
  for (const FieldChoice& c : options.fields) HEADRACE_TRY(add(c.name, c.path));
  HEADRACE_TRY(planner.add_masks());
  planner.broadcast();
  for (const BroadcastChoice& c : options.broadcast) HEADRACE_TRY(add(c.name, c.path));
  HEADRACE_ASSIGN(FieldPlan plan, planner.take());
  plan.left_out.insert(plan.left_out.end(), left_out.begin(), left_out.end());
  std::ranges::sort(plan.left_out, {}, &LeftOut::path);
  if (has_lists(plan) && (options.sample_axes > 1 || !options.broadcast.empty()))
    return Error(ErrorCode::kInvalidArgument,
                 "a row of lists is a sample; sample_axes= and broadcast= make samples of cells")
        .with_file(file.path())
        .with_hint("Leave the lists out of fields=, or open them as a data set of their own.");
  HEADRACE_TRY(plan_axes(lists, options, plan));
  return plan;
}

}  // namespace headrace
