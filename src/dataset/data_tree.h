// How a data set was made, as a value: a tree of verbs with files at its leaves. It is what a data set is pickled as,
// and what its printed form says of it. What a data set consists of now is its Source; resolve() makes one out of the
// other.
#pragma once

#include <headrace/dataset/dataset.h>
#include <headrace/dataset/mix.h>
#include <headrace/dataset/volumes.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "catalog/row_set.h"

namespace headrace {

/// open(): absolute paths, and every field by its name and path.
struct FilesNode {
  std::vector<std::string> paths;
  OpenOptions options;
};
/// select() of one data set.
struct RowsNode {
  std::shared_ptr<const RowSet> rows;  ///< Chosen rows of the data set below.
};
/// choose() of one data set.
struct FieldsNode {
  std::vector<std::string> names;
};
/// map() of one data set.
struct MapNode {
  std::vector<Transform> transforms;
};
/// mix() of several.
struct MixNode {
  std::vector<std::string> names;
  std::vector<double> weights;  ///< As given; 0: as many as it has rows.
  MixOptions options;
};

/// windows() of one data set.
struct WindowsNode {
  std::uint64_t length = 0, stride = 0, lookahead = 0;
  bool across_files = false;
};

/// spans() of the first data set that it is of. The second has the key, the offsets or
/// the table of spans, the last the targets.
struct SpansNode {
  enum Kind : std::uint8_t { kKey, kOffsets, kList, kMeta };
  Kind kind = kKey;
  std::uint64_t key_column = 0;  ///< And one more: which column of the key; 0: it has one.
  /// For kList, which has no second data set.
  std::shared_ptr<const std::vector<std::uint64_t>> offset_list = {};
  bool meta_has_last = true;       ///< For kMeta, as SpanOptions has it.
  std::string file_template = {};  ///< For kMeta.
};

/// open_volumes() and patches() of them.
struct PatchesNode {
  FilesNode volumes;
  PatchOptions options;
};

/// open_tokens(), as rows or as documents: absolute paths of the files of tokens, and what was said of them.
struct TokensNode {
  std::vector<std::string> paths;
  std::string dtype = {};
  std::uint64_t vocab_size = 0;
  bool documents = false;
};

/// Immutable. A new verb is a new alternative here, and a case in each function of data_tree.cpp.
struct DataNode {
  std::variant<FilesNode, RowsNode, FieldsNode, MixNode, MapNode, WindowsNode, SpansNode, PatchesNode, TokensNode> what;
  std::vector<std::shared_ptr<const DataNode>> of;  ///< What the verb was applied to.
};

/// Return the tree on one line: "3 files → 400 rows → fields x, y".
std::string text_of(const DataNode& node);

/// Return the tree as bytes that node_of_recipe() reads.
std::string recipe_of(const DataNode& node);
/// Errors: kInvalidArgument for anything that recipe_of() does not write.
Result<std::shared_ptr<const DataNode>> node_of_recipe(std::string_view recipe);

/// Open the files and apply the verbs. Throws what they throw, and kInvalidArgument where rows were selected that the
/// files do not hold any more.
Dataset resolve(const DataNode& node);

}  // namespace headrace
