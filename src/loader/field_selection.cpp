#include "loader/field_selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

namespace headrace {
namespace {

std::string without_slash(std::string_view path) {
  while (!path.empty() && path.front() == '/') path.remove_prefix(1);
  return std::string(path);
}
std::string group_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}
std::string last_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

const ArrayInfo* find_array(const FormatReader& file, const std::string& path) {
  for (const ArrayInfo& a : file.arrays())
    if (a.path == path) return &a;
  return nullptr;
}

/// Adds fields one by one and keeps track of arrays and names.
class FieldPlanner {
 public:
  explicit FieldPlanner(const FormatReader& file) : file_(file) {}

  Status add(const std::string& name, const std::string& given_path) {
    const std::string path = without_slash(given_path);
    if (const ArrayInfo* array = find_array(file_, path)) return add_array(name, *array);
    // "array/member" or "array.member": one column of a record array.
    for (std::size_t cut = path.find_first_of("/."); cut != std::string::npos;
         cut = path.find_first_of("/.", cut + 1)) {
      const ArrayInfo* array = find_array(file_, path.substr(0, cut));
      if (!array || !array->is_record) continue;
      for (std::size_t c = 0; c < array->columns.size(); ++c)
        if (array->columns[c].name == path.substr(cut + 1)) {
          HEADRACE_TRY(check_readable(*array));
          return add_column(*array, c, name);
        }
    }
    auto opened = file_.open_array(path);
    if (!opened.ok()) return std::move(opened.error());  // names what there is, nearest first
    // It exists under another name: a link to an array that is listed once.
    if (const ArrayInfo* array = find_array(file_, (*opened)->info().path)) return add_array(name, *array);
    return Error(ErrorCode::kInternal, fmt::format("'{}' opens but is not listed", path)).with_file(file_.path());
  }

  FieldPlan take() { return std::move(plan_); }

 private:
  Status add_array(const std::string& name, const ArrayInfo& array) {
    HEADRACE_TRY(check_readable(array));
    for (std::size_t c = 0; c < array.columns.size(); ++c)
      HEADRACE_TRY(add_column(array, c, array.is_record ? name + "." + array.columns[c].name : name));
    return {};
  }

  Status check_readable(const ArrayInfo& array) const {
    if (array.read_path == ReadPath::kUnsupported) {
      auto opened = file_.open_array(array.path);  // its error knows whether it is damaged, and what would help
      Error error = opened.ok() ? Error(ErrorCode::kUnsupported, array.reason) : std::move(opened.error());
      return std::move(error.with_file(file_.path()).with_field(array.path).with_stage("open"));
    }
    for (std::size_t d = 1; d < array.shape.size(); ++d)
      if (array.shape[d] == 0)
        return std::move(Error(ErrorCode::kInvalidArgument,
                               fmt::format("shape ({}) has a dimension of size 0: a sample holds nothing",
                                           fmt::join(array.shape, ", ")))
                             .with_file(file_.path())
                             .with_field(array.path)
                             .with_hint("Leave this field out with fields=."));
    return {};
  }

  Status add_column(const ArrayInfo& array, std::size_t column, const std::string& name) {
    if (!names_.insert(name).second)
      return std::move(Error(ErrorCode::kInvalidArgument, fmt::format("two fields are named '{}'", name))
                           .with_file(file_.path())
                           .with_hint("Give every field its own name: fields={\"name\": \"path in the file\"}."));
    const Column& c = array.columns[column];
    StoredColumn field{name, array.is_record ? array.path + "/" + c.name : array.path, c.dtype, {}};
    field.shape.assign(array.shape.begin() + 1, array.shape.end());
    field.shape.insert(field.shape.end(), c.inner_shape.begin(), c.inner_shape.end());
    plan_.columns.push_back(std::move(field));
    auto known = std::find(plan_.array_paths.begin(), plan_.array_paths.end(), array.path);
    if (known == plan_.array_paths.end()) known = plan_.array_paths.insert(known, array.path);
    plan_.places.push_back(
        {static_cast<std::uint32_t>(known - plan_.array_paths.begin()), static_cast<std::uint32_t>(column)});
    return {};
  }

  const FormatReader& file_;
  FieldPlan plan_;
  std::set<std::string> names_;
};

Error choose_yourself(const FormatReader& file, std::string_view what, const std::vector<const ArrayInfo*>& arrays) {
  std::string list;
  for (const ArrayInfo* a : arrays) list += fmt::format("\n  {} ({})", a->path, fmt::join(a->shape, ", "));
  return std::move(Error(ErrorCode::kInvalidArgument, fmt::format("{}:{}", what, list))
                       .with_file(file.path())
                       .with_hint("\nSay which arrays are the fields: fields={\"x\": \"path in the file\", ...}."));
}

/// Every array with the common number of rows in the root, or in the only group.
Result<std::vector<const ArrayInfo*>> default_arrays(const FormatReader& file) {
  std::vector<const ArrayInfo*> readable, root;
  std::set<std::string> groups;
  std::optional<Error> refusal;
  for (const ArrayInfo& a : file.arrays()) {
    if (a.read_path == ReadPath::kUnsupported) {
      auto opened =
          file.open_array(a.path);  // unreadable arrays are left out, but damage is never passed over in silence
      if (!opened.ok() && opened.error().code() == ErrorCode::kCorruptData) return std::move(opened.error());
      if (!opened.ok() && file.arrays().size() == 1) refusal = std::move(opened.error());
      continue;
    }
    readable.push_back(&a);
    groups.insert(group_of(a.path));
    if (group_of(a.path).empty()) root.push_back(&a);
  }
  if (refusal) return std::move(*refusal);  // of the only array: say why
  if (readable.empty())
    return std::move(Error(ErrorCode::kFieldMissing, "the file has no array that could be a field")
                         .with_file(file.path())
                         .with_hint("Run: headrace inspect " + file.path()));
  if (root.empty() && groups.size() > 1)
    return choose_yourself(file, "the file's arrays lie in several groups", readable);
  const std::vector<const ArrayInfo*>& chosen = root.empty() ? readable : root;
  for (const ArrayInfo* a : chosen)
    if (a->rows() != chosen[0]->rows())
      return choose_yourself(file, "the file's arrays have different numbers of rows", chosen);
  return chosen;
}

}  // namespace

Result<FieldPlan> plan_fields(const FormatReader& file, const std::vector<FieldChoice>& choices) {
  FieldPlanner planner(file);
  if (choices.empty()) {
    HEADRACE_ASSIGN(const std::vector<const ArrayInfo*> arrays, default_arrays(file));
    for (const ArrayInfo* a : arrays) HEADRACE_TRY(planner.add(last_name(a->path), a->path));
  }
  for (const FieldChoice& c : choices) {
    if (c.name.empty()) return Error(ErrorCode::kInvalidArgument, "a field has an empty name").with_file(file.path());
    HEADRACE_TRY(planner.add(c.name, c.path.empty() ? c.name : c.path));
  }
  return planner.take();
}

}  // namespace headrace
