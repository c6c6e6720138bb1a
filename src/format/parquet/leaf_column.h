// LeafColumn: what a column of a Parquet file is delivered as, or why it is not.
#pragma once

#include <headrace/dtype.h>

#include <cstdint>
#include <string>
#include <vector>

#include "format/parquet/file_metadata.h"

namespace headrace::parquet {

/// What is done to a value of a physical type to make an element.
enum class Conversion : std::uint8_t {
  kNone,           ///< Nothing: its bytes are the element's.
  kNarrow,         ///< Integers of 1 or 2 bytes are stored in 4.
  kDecimalNumber,  ///< An integer of 4 or 8 bytes, scaled.
  kDecimalBytes,   ///< A big-endian integer of any number of bytes, scaled.
  kInt96,          ///< Nanoseconds of a day and its Julian number, to nanoseconds since 1970.
};

struct LeafColumn {
  /// Names from the root down, joined by points: "hits.time". What only makes lists has no name in it.
  std::string path;
  std::size_t index = 0;  ///< Among the leaves of the schema.
  PhysicalType physical = PhysicalType::kInt32;
  std::uint32_t value_bytes = 0;  ///< A value as it is stored; 0: they differ.
  Meaning meaning;
  Conversion conversion = Conversion::kNone;
  DType dtype;                          ///< Type of the elements of a row of its array.
  std::uint32_t width = 1;              ///< Elements a row of its array.
  bool is_row_of_bytes = false;         ///< A row is an array of bytes: of a kFixedLenByteArray without a meaning.
  std::uint32_t definition_levels = 0;  ///< Nodes on its path that can be null or repeated.
  std::uint32_t repetition_levels = 0;  ///< Nodes on its path that are repeated.
  std::uint32_t element_level = 0;      ///< Lists: the definition level from which on an entry is an element.
  std::size_t list_node = 0;            ///< Lists: the node of the schema that is repeated; 0, the root: no list.
  std::string list;                     ///< Lists: a name for that node that no other has.
  std::string refusal;                  ///< Why it cannot be read; empty: it can.
  bool no_numbers = false;              ///< It is refused for its kind, which is known: text, maps, lists of lists.
  std::string units;      ///< What whole numbers count: "days since 1970-01-01"; empty: they are just numbers.
  std::string stored_as;  ///< What elements were made of, where that is no number of their type; else empty.

  [[nodiscard]] std::uint32_t row_bytes() const { return dtype.itemsize * width; }
  /// Return whether its pages have definition levels, as all those of lists do.
  [[nodiscard]] bool is_nullable() const { return definition_levels > 0; }
  /// Return whether the rows of its array are the elements of one list a row of the file.
  [[nodiscard]] bool is_list() const { return list_node > 0; }
};

/// Return the leaves of a schema, in its order. Names that the schema needs to say that something is a list are left
/// out of their paths: "photons.list.element" is "photons", and "hits.list.element.time" is "hits.time". \param file
/// Whose tree parse_file_metadata() has checked.
std::vector<LeafColumn> leaf_columns(const FileMetadata& file);

}  // namespace headrace::parquet
