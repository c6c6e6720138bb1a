#include "dataset/samples/joined_rows.h"

#include <fmt/format.h>

#include <vector>

#include "dataset/files/companion_files.h"
#include "dataset/recipe/refuse.h"

namespace headrace {
namespace {

std::string text_of(const StoredColumn& field) {
  std::string shape;
  for (const std::uint64_t n : field.shape) shape += fmt::format("{}{}", shape.empty() ? "" : ", ", n);
  return fmt::format("{} ({})", field.dtype.name(), shape);
}

/// Array of `part` that is the first set's array a, for each a.
std::vector<std::size_t> matching_arrays(const NamedRows& first, const NamedRows& part) {
  const Source &a = *first.rows, &b = *part.rows;
  const std::vector<StoredColumn>&fields = *a.columns, &others = *b.columns;
  if (fields.size() != others.size())
    throw refuse(fmt::format("{} has {} fields, {} has {}", first.name, fields.size(), part.name, others.size()),
                 "Choose the same fields of each with open(fields=).");
  std::vector<std::size_t> arrays(a.num_arrays(), b.num_arrays());
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (fields[f].name != others[f].name)
      throw refuse(fmt::format("field {} is '{}' in {} and '{}' in {}", f, fields[f].name, first.name, others[f].name,
                               part.name),
                   "Choose the same fields of each, in one order, with open(fields=).");
    if (fields[f].dtype != others[f].dtype || fields[f].shape != others[f].shape)
      throw refuse(fmt::format("'{}' is {} in {} and {} in {}", fields[f].name, text_of(fields[f]), first.name,
                               text_of(others[f]), part.name),
                   "A batch holds rows of all parts: their types and shapes must agree.")
          .with_field(fields[f].name);
    const Source::ColumnPlace here = a.places[f], there = b.places[f];
    std::size_t& array = arrays[here.array];
    if (here.column != there.column || (array != b.num_arrays() && array != there.array))
      throw refuse(fmt::format("'{}' is a member of a compound array in one of {} and {} only, or of another",
                               fields[f].name, first.name, part.name),
                   "Store it alike in both.")
          .with_field(fields[f].name);
    array = there.array;
  }
  return arrays;
}

}  // namespace

std::shared_ptr<Source> join_rows(std::span<const NamedRows> sets) {
  auto all = std::make_shared<Source>();
  for (const NamedRows& set : sets) {
    const std::vector<std::size_t> arrays = matching_arrays(sets[0], set);
    for (const SourceFile& file : set.rows->files) all->files.push_back(with_arrays(file, arrays));
  }
  all->columns = sets[0].rows->columns;
  all->fields = sets[0].rows->fields;
  all->places = sets[0].rows->places;
  return all;
}

}  // namespace headrace
