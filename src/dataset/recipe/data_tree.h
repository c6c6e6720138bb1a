// How a data set was made, as a value: verbs one upon the other, with files at the bottom. It is what a data set is
// pickled as, what a run file says of it, and what its printed form tells. What a data set consists of now is its
// Source; resolve() makes one out of the other. docs/guides/adding-a-verb.md is the recipe for a new one.
#pragma once

#include <headrace/dataset.h>
#include <headrace/tokens.h>
#include <headrace/volumes.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "spec/value_codecs.h"

namespace headrace {

/// What verbs are applied to, and make. Tokens are a data set wherever one is expected.
using Opened = std::variant<std::monostate, Dataset, Volumes, Tokens>;
/// Return the data set.
Dataset dataset_of(const Opened& opened);

/// What opening takes besides the tree. It may be empty.
struct Opening {
  std::function<bool(std::uint64_t files_open, std::uint64_t files)> progress = {};
  bool is_again = false;  ///< The same was opened before: what was checked then is not checked once more.
};

/// A verb: what it takes, and what it does. A struct of options for each, whose members its spec lists.
struct Verb {
  enum class Of : std::uint8_t { kNothing, kDataset, kVolumes, kTokens };

  const Spec* spec = nullptr;  ///< Its name is the verb's in recipes and run files.
  Of takes = Of::kDataset;     ///< What it is applied to; kNothing: it opens files, or combines data sets.
  Of gives = Of::kDataset;
  std::string_view noun = {};  ///< What a sample is: "window"; empty: what it was before.
  /// Throws what the verb throws.
  std::function<Opened(const void* options, const Opened& below, const Opening& opening)> make;
  /// Return what it did, for one line of people's: "windows of 8 rows".
  std::function<std::string(const void* options, const DataNode& node)> text;

  [[nodiscard]] std::string_view name() const { return spec->name(); }
  [[nodiscard]] bool is_source() const { return takes == Of::kNothing; }
  template <class Options, class Make, class Text>
  static Verb of(Of takes, Of gives, std::string_view noun, Make make, Text text);
};

/// Return all verbs. The only list of them.
std::span<const Verb* const> verbs();
/// Return a verb by its name, or by the list of its options; null: there is none.
const Verb* find_verb(std::string_view name);
const Verb* find_verb(const Spec& spec);

/// A verb with its options. Immutable.
struct DataNode {
  const Verb* verb = nullptr;
  std::shared_ptr<const void> options;    ///< The struct that the verb's spec describes.
  std::shared_ptr<const DataNode> below;  ///< What it was applied to; null for a source.
};

/// Return a node of the verb that takes such options.
template <Described Options>
DataTree node_of(Options options, DataTree below = nullptr) {
  return std::make_shared<const DataNode>(
      DataNode{find_verb(spec<Options>()), std::make_shared<const Options>(std::move(options)), std::move(below)});
}
/// Return a node's options if they are such; else null.
template <Described Options>
const Options* options_of(const DataNode& node) {
  return node.verb->spec == &spec<Options>() ? static_cast<const Options*>(node.options.get()) : nullptr;
}
/// Return the source at the bottom.
const DataNode& source_of(const DataNode& node);
/// Return the tree with another source at the bottom.
DataTree with_source(const DataNode& node, DataTree source);
/// Return the paths and globs of all sources, those of data sets within others too, each once.
std::vector<std::string> files_of(const DataNode& node);
/// Return the tree of other files, which are read as its own; what was selected of those is left out. Errors:
/// kInvalidArgument: it is of several data sets.
Result<DataTree> with_files(const DataNode& node, const std::vector<std::string>& paths);
/// Return the tree with note_companions() of its source, for writing it down.
DataTree with_companions(const DataNode& node, const std::set<std::string>* known);

/// Return the tree on one line: "3 files → 400 rows → fields x, y".
std::string text_of(const DataNode& node);
/// Return what a sample is: "row", "window".
std::string_view sample_noun(const DataNode& node);
/// Return "1 patch", "3 patches".
std::string counted(std::uint64_t number, std::string_view noun);

/// Return the tree as bytes that node_of_recipe() reads.
std::string recipe_of(const DataNode& node);
/// Errors: kInvalidArgument for anything that recipe_of() does not write.
Result<DataTree> node_of_recipe(std::string_view recipe);

/// Open the files and apply the verbs. Throws what they throw, and kInvalidArgument where rows were selected that the
/// files do not hold any more.
Dataset resolve(const DataNode& node, const Opening& opening = {});

/// Read a tree as run files say it (`data:`): a map of a source's options and of verbs, which are applied in its order,
/// or a list of such maps, where a verb comes twice. Errors: kInvalidArgument.
Result<DataTree> read_data(const Value& value, const At& at);
/// Return the tree as read_data() reads it, with absolute paths.
Value data_value(const DataNode& node);

/// A data set among the options of a verb.
template <>
struct ValueCodec<DataTree> {
  static std::string words(const Bounds&) { return "a data set, as `data` of a run file"; }
  static Status read(const Value& value, const At& at, const Bounds& bounds, DataTree& to);
  static Value write(const DataTree& from);
  static void pack(PackedWriter& out, const DataTree& from);
  static void unpack(PackedReader& in, const Bounds& bounds, DataTree& to);
};

template <class Options, class Make, class Text>
Verb Verb::of(Of takes, Of gives, std::string_view noun, Make make, Text text) {
  return {&headrace::spec<Options>(),
          takes,
          gives,
          noun,
          [make](const void* options, const Opened& below, const Opening& opening) -> Opened {
            return make(*static_cast<const Options*>(options), below, opening);
          },
          [text](const void* options, const DataNode& node) -> std::string {
            return text(*static_cast<const Options*>(options), node);
          }};
}

}  // namespace headrace
