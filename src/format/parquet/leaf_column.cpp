#include "format/parquet/leaf_column.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text/utf8.h"

namespace headrace::parquet {
namespace {

using Kind = Meaning::Kind;

constexpr std::uint32_t kMostDecimalBytes = 16;

std::string unit_words(const Meaning& meaning) {
  const char* const unit = meaning.unit == Meaning::Unit::kMillis   ? "milliseconds"
                           : meaning.unit == Meaning::Unit::kMicros ? "microseconds"
                                                                    : "nanoseconds";
  if (meaning.kind == Kind::kTime) return fmt::format("{} since midnight", unit);
  return fmt::format("{} since 1970{}", unit, meaning.utc ? " (UTC)" : "");
}

void as_decimal(LeafColumn& column, Conversion conversion) {
  column.conversion = conversion;
  column.dtype = {DType::Kind::kFloat, 8};
  column.stored_as = fmt::format("decimals of {} digits behind the point", column.meaning.scale);
}

void resolve_int32(LeafColumn& column) {
  column.dtype = {DType::Kind::kInt, 4};
  const Meaning& meaning = column.meaning;
  if (meaning.kind == Kind::kDecimal) as_decimal(column, Conversion::kDecimalNumber);
  if (meaning.kind == Kind::kDate) column.units = "days since 1970-01-01";
  if (meaning.kind == Kind::kTime) column.units = unit_words(meaning);
  if (meaning.kind != Kind::kInteger) return;
  if (meaning.bits != 8 && meaning.bits != 16 && meaning.bits != 32) {
    column.refusal = fmt::format("integers of {} bits, stored in 32", meaning.bits);
    return;
  }
  column.dtype = {meaning.is_signed ? DType::Kind::kInt : DType::Kind::kUInt, meaning.bits / 8};
  if (meaning.bits < 32) column.conversion = Conversion::kNarrow;
}

void resolve_int64(LeafColumn& column) {
  column.dtype = {DType::Kind::kInt, 8};
  const Meaning& meaning = column.meaning;
  if (meaning.kind == Kind::kDecimal) as_decimal(column, Conversion::kDecimalNumber);
  if (meaning.kind == Kind::kTime || meaning.kind == Kind::kTimestamp) column.units = unit_words(meaning);
  if (meaning.kind == Kind::kInteger && meaning.bits != 64)
    column.refusal = fmt::format("integers of {} bits, stored in 64", meaning.bits);
  else if (meaning.kind == Kind::kInteger && !meaning.is_signed)
    column.dtype.kind = DType::Kind::kUInt;
}

void resolve_bytes(LeafColumn& column) {
  const bool fixed = column.physical == PhysicalType::kFixedLenByteArray;
  const Meaning& meaning = column.meaning;
  if (meaning.kind == Kind::kDecimal) {
    as_decimal(column, Conversion::kDecimalBytes);
    if (fixed && column.value_bytes > kMostDecimalBytes)
      column.refusal = fmt::format("decimals of {} bytes, more than {}", column.value_bytes, kMostDecimalBytes);
    if (fixed && column.value_bytes == 0) column.refusal = "decimals of no bytes";
  } else if (!fixed) {
    column.dtype = {DType::Kind::kBytes, 1};
    column.no_numbers = true;
    column.refusal = meaning.kind == Kind::kText ? "text of any length; only columns of numbers are read"
                                                 : "bytes of any length; only columns of numbers are read";
  } else if (meaning.kind == Kind::kFloat16) {
    column.dtype = {DType::Kind::kFloat, 2};
    if (column.value_bytes != 2) column.refusal = fmt::format("float16 of {} bytes", column.value_bytes);
  } else {
    column.dtype = {DType::Kind::kUInt, 1};
    column.width = std::max<std::uint32_t>(column.value_bytes, 1);
    column.is_row_of_bytes = true;
    if (column.value_bytes == 0) column.refusal = "values of no bytes";
  }
}

/// Set how the column is delivered, or why not.
void resolve(LeafColumn& column, bool in_map) {
  switch (column.physical) {
    case PhysicalType::kBoolean:
      column.dtype = {DType::Kind::kBool, 1};
      break;
    case PhysicalType::kInt32:
      column.value_bytes = 4;
      resolve_int32(column);
      break;
    case PhysicalType::kInt64:
      column.value_bytes = 8;
      resolve_int64(column);
      break;
    case PhysicalType::kInt96:
      column.value_bytes = 12;
      column.conversion = Conversion::kInt96;
      column.dtype = {DType::Kind::kInt, 8};
      column.units = "nanoseconds since 1970";
      break;
    case PhysicalType::kFloat:
      column.value_bytes = 4;
      column.dtype = {DType::Kind::kFloat, 4};
      break;
    case PhysicalType::kDouble:
      column.value_bytes = 8;
      column.dtype = {DType::Kind::kFloat, 8};
      break;
    case PhysicalType::kByteArray:
    case PhysicalType::kFixedLenByteArray:
      resolve_bytes(column);
      break;
  }
  column.no_numbers = column.no_numbers || (column.repetition_levels > 0 && in_map) || column.repetition_levels > 1;
  if (column.repetition_levels > 0 && in_map)
    column.refusal = "a map; only values and lists of values are read";
  else if (column.repetition_levels > 1)
    column.refusal = "a list of lists; only lists of values are read";
}

/// How many names from a list's group on down make it a list and name nothing, by the specification's rules for the
/// lists of old writers too: 0, `list` is none; 1, its child is the element; 2, its child's child is.
int list_names(const SchemaNode& list, const SchemaNode& child, const SchemaNode* grandchild) {
  if (list.meaning.kind != Kind::kList || list.children != 1 || child.repetition != Repetition::kRepeated) return 0;
  if (!child.is_group || child.children != 1 || child.name == "array" || child.name == list.name + "_tuple") return 1;
  return grandchild == nullptr || grandchild->repetition == Repetition::kRepeated ? 1 : 2;
}

struct Walk {
  const std::vector<SchemaNode>& schema;
  std::vector<LeafColumn>& leaves;
  std::size_t at = 0;

  /// What is known of a node from those above it.
  struct Above {
    std::string path;
    std::string damage;  // why no column below has a name; empty: they have
    std::uint32_t definition = 0, repetition = 0;
    bool in_map = false;
    int unnamed = 0;            // nodes from this one on that are not named
    std::size_t list_node = 0;  // the last repeated node
    std::string list;           // its path
    std::uint32_t element_level = 0;
  };

  static void add_name(Above& here, const std::string& name) {
    here.path += (here.path.empty() ? "" : ".") + name;
    if (name.empty()) here.damage = "a column without a name";
    if (!is_utf8(name)) here.damage = "a column whose name is no UTF-8";
  }

  /// Return whether a node has a key and may have a value below it, or a group of them. The specification has it so.
  [[nodiscard]] bool has_map(std::size_t number) const {
    const auto is_pair = [&](std::size_t group) {
      return group + 1 < schema.size() && schema[group].is_group &&
             (schema[group].children == 2 || (schema[group].children == 1 && schema[group + 1].name == "key"));
    };
    return is_pair(number) || (schema[number].children == 1 && is_pair(number + 1));
  }

  void below(Above here) {
    const std::size_t number = at++;
    const SchemaNode& node = schema[number];
    if (number > 0) {
      here.definition += node.repetition == Repetition::kRequired ? 0 : 1;
      if (here.unnamed > 0)
        --here.unnamed;
      else
        add_name(here, node.name);
      if (node.repetition == Repetition::kRepeated) {
        ++here.repetition;
        here.list_node = number;
        here.list = here.path;
        here.element_level = here.definition;
      }
    }
    here.in_map = here.in_map || node.meaning.kind == Kind::kMap;
    if (node.meaning.kind == Kind::kMap && !has_map(number)) here.damage = "a map without keys and values";
    if (node.is_group) {
      if (number > 0 && here.unnamed == 0 && node.children == 1) {
        const SchemaNode& child = schema[at];
        here.unnamed = list_names(node, child, child.is_group && child.children > 0 ? &schema[at + 1] : nullptr);
      }
      for (std::uint32_t child = 0; child < node.children; ++child) below(here);
      return;
    }
    LeafColumn column;
    column.path = std::move(here.path);
    column.index = leaves.size();
    column.physical = node.physical;
    column.value_bytes = node.physical == PhysicalType::kFixedLenByteArray ? node.type_length : 0;
    column.meaning = node.meaning;
    column.definition_levels = here.definition;
    column.repetition_levels = here.repetition;
    resolve(column, here.in_map);
    if (!here.damage.empty()) {
      column.refusal = std::move(here.damage);
      column.no_numbers = false;
    }
    if (here.repetition == 1 && !here.in_map) {
      column.list_node = here.list_node;
      column.list = std::move(here.list);
      column.element_level = here.element_level;
    }
    leaves.push_back(std::move(column));
  }
};

/// Let no two lists have one name, which only columns of one name could have.
void tell_lists_apart(std::vector<LeafColumn>& leaves) {
  std::map<std::string, std::size_t> nodes;
  for (LeafColumn& column : leaves)
    while (column.is_list() && nodes.try_emplace(column.list, column.list_node).first->second != column.list_node)
      column.list += fmt::format(" (node {} of the schema)", column.list_node);
}

}  // namespace

std::vector<LeafColumn> leaf_columns(const FileMetadata& file) {
  std::vector<LeafColumn> leaves;
  Walk{file.schema, leaves}.below({});
  tell_lists_apart(leaves);
  std::map<std::string, std::size_t> seen;
  for (const LeafColumn& column : leaves) ++seen[column.path];
  for (LeafColumn& column : leaves)
    if (seen[column.path] > 1 || column.path.empty()) {
      column.no_numbers = false;
      column.refusal =
          column.path.empty() ? "a column without a name" : fmt::format("{} columns have this name", seen[column.path]);
    }
  return leaves;
}

}  // namespace headrace::parquet
