// Options of the verbs that are no struct of a public header: what stands in a tree for each of them.
#pragma once

#include <headrace/mix.h>
#include <headrace/split.h>
#include <headrace/windows.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "catalog/row_set.h"
#include "dataset/recipe/data_tree.h"

namespace headrace {

/// open(): paths and globs; in a tree that was opened absolute paths, and every field by its name and path.
struct FilesNode {
  std::vector<std::string> paths;
  OpenOptions options;
};
const Spec& spec_of(const FilesNode*);
/// Return true if an array has a '*' in its path, which would stand for others.
inline bool has_star(const FieldChoice& field) {
  return field.path.find('*') != std::string::npos;
}

/// Note where the FILES of each "FILES::PATH" begin, if that is not noted yet: beside `run_file`, or where the program
/// is. \param known  What is FILES; null: whatever stands before a "::", which does no harm where it is not.
void note_companions(FilesNode& files, const std::string& run_file, const std::set<std::string>* known = nullptr);

/// open_volumes().
struct VolumeNode {
  struct Arrays {
    std::vector<FieldChoice> arrays;
    std::map<std::string, std::vector<std::string>> companion_files = {};
  };
  std::vector<std::string> paths;
  Arrays volume;
};
const Spec& spec_of(const VolumeNode::Arrays*);
const Spec& spec_of(const VolumeNode*);

void note_companions(VolumeNode& volume, const std::string& run_file, const std::set<std::string>* known = nullptr);

/// open_tokens().
struct TokensNode {
  std::vector<std::string> paths;
  TokenOptions tokens;
};
const Spec& spec_of(const TokenOptions*);
const Spec& spec_of(const TokensNode*);
/// As open_tokens() with `options`; the tree says what was `said` before.
Tokens open_tokens_again(const std::vector<std::string>& paths, const TokenOptions& said, const TokenOptions& options);

/// Tokens::documents().
struct DocumentsNode {};
const Spec& spec_of(const DocumentsNode*);

/// select().
struct SelectNode {
  std::shared_ptr<const RowSet> rows;  ///< Chosen rows of the data set below.
};
const Spec& spec_of(const SelectNode*);

/// One part of split().
struct SplitNode {
  std::vector<std::pair<std::string, double>> parts;  ///< Name and share of each.
  std::string take;                                   ///< The name of this one.
  std::uint64_t seed = 0;
  std::string stratify = {};
  std::string by = "auto";
  std::shared_ptr<const RowSet> rows = {};  ///< Its rows; null: they are still to be found.
};
const Spec& spec_of(const SplitNode*);

/// choose().
struct ChooseNode {
  std::vector<std::string> names;
};
const Spec& spec_of(const ChooseNode*);

/// map().
struct MapNode {
  std::vector<Transform> transforms;
};
const Spec& spec_of(const MapNode*);

/// mix().
struct MixNode {
  struct MixedData {
    std::string name;
    DataTree data;
    double weight = 0;  ///< 0: as many as it has rows.
  };
  std::vector<MixedData> parts;
  MixOptions options;
};
const Spec& spec_of(const MixNode::MixedData*);
const Spec& spec_of(const MixNode*);

/// spans() of data sets, where nothing in open()'s options says the same.
struct SpansNode {
  DataTree key, offsets, meta, targets;  ///< Null where there is none.
  std::optional<std::uint64_t> key_column = {};
  std::vector<std::uint64_t> offset_list = {};
  bool meta_has_last = true;
  std::string file_template = {};
};
const Spec& spec_of(const SpansNode*);

const Spec& spec_of(const SampleBy*);
const Spec& spec_of(const WindowOptions*);
const Spec& spec_of(const PatchClass*);
const Spec& spec_of(const PatchContext*);
const Spec& spec_of(const PatchOptions*);

}  // namespace headrace
