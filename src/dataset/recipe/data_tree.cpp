#include "dataset/recipe/data_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text/number_text.h"
#include "dataset/dataset_contents.h"
#include "dataset/recipe/verb_options.h"

namespace headrace {
namespace {

constexpr std::string_view kRecipe = "headrace data set 6";
constexpr std::uint64_t kMostVerbs = 10000;  // on top of each other in a recipe that is read
constexpr int kMostDepth = 100;              // data sets within each other

/// Counts how deep reading is in data sets of data sets, in this thread.
class Depth {
 public:
  Depth() { ++depth_; }
  ~Depth() { --depth_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
  [[nodiscard]] static bool is_too_much() { return depth_ > kMostDepth; }

 private:
  static thread_local int depth_;
};
thread_local int Depth::depth_ = 0;

/// The nodes from the source up.
std::vector<const DataNode*> nodes_of(const DataNode& node) {
  std::vector<const DataNode*> nodes;
  for (const DataNode* one = &node; one; one = one->below.get()) nodes.push_back(one);
  std::ranges::reverse(nodes);
  return nodes;
}

/// True if a verb can be applied to what is there; tokens are rows too.
bool fits(Verb::Of takes, Verb::Of below) {
  return takes == below || (takes == Verb::Of::kDataset && below == Verb::Of::kTokens);
}

void write_tree(PackedWriter& out, const DataNode& node) {
  const std::vector<const DataNode*> nodes = nodes_of(node);
  out.number(nodes.size());
  for (const DataNode* const one : nodes) {
    out.text(one->verb->name());
    one->verb->spec->pack(out, one->options.get());
  }
}

DataTree read_tree(PackedReader& in) {
  const Depth depth;
  if (Depth::is_too_much()) in.fail();
  DataTree tree;
  for (std::uint64_t left = in.number_up_to(kMostVerbs); in.ok() && left > 0; --left) {
    const Verb* const verb = find_verb(in.text());
    if (!verb || verb->is_source() != (tree == nullptr) || (tree && !fits(verb->takes, tree->verb->gives))) {
      in.fail();
      break;
    }
    std::shared_ptr<void> options = verb->spec->make();
    verb->spec->unpack(in, options.get());
    tree = std::make_shared<const DataNode>(DataNode{verb, std::move(options), std::move(tree)});
  }
  if (!tree || tree->verb->gives == Verb::Of::kVolumes) in.fail();
  return tree;
}

Opened open_tree(const DataNode& node, const Opening& opening) {
  Opened opened;
  for (const DataNode* const one : nodes_of(node)) opened = one->verb->make(one->options.get(), opened, opening);
  return opened;
}

}  // namespace

std::string counted(std::uint64_t number, std::string_view noun) {
  const bool hisses = noun.ends_with("ch");
  return fmt::format("{} {}{}{}", group_digits(number), noun, hisses && number != 1 ? "e" : "", plural(number));
}

Dataset dataset_of(const Opened& opened) {
  if (const auto* const tokens = std::get_if<Tokens>(&opened)) return tokens->rows();
  return std::get<Dataset>(opened);
}

const Verb* find_verb(std::string_view name) {
  const auto found = std::ranges::find(verbs(), name, &Verb::name);
  return found == verbs().end() ? nullptr : *found;
}

const Verb* find_verb(const Spec& spec) {
  const auto found = std::ranges::find(verbs(), &spec, &Verb::spec);
  return found == verbs().end() ? nullptr : *found;
}

const DataNode& source_of(const DataNode& node) {
  const DataNode* source = &node;
  while (source->below) source = source->below.get();
  return *source;
}

DataTree with_source(const DataNode& node, DataTree source) {
  if (!node.below) return source;
  return std::make_shared<const DataNode>(
      DataNode{node.verb, node.options, with_source(*node.below, std::move(source))});
}

std::vector<std::string> files_of(const DataNode& node) {
  std::vector<std::string> files;
  const auto add = [&](const std::vector<std::string>& more) {
    for (const std::string& file : more)
      if (std::ranges::find(files, file) == files.end()) files.push_back(file);
  };
  const DataNode& source = source_of(node);
  if (const Member* const own = source.verb->spec->find("files"))
    add(*static_cast<const std::vector<std::string>*>(own->in(const_cast<void*>(source.options.get()))));
  if (const auto* const mix = options_of<MixNode>(source))
    for (const MixNode::MixedData& part : mix->parts) add(files_of(*part.data));
  return files;
}

Result<DataTree> with_files(const DataNode& node, const std::vector<std::string>& paths) {
  const bool selects = options_of<SelectNode>(node) || options_of<SplitNode>(node);
  if (node.below) {
    HEADRACE_ASSIGN(DataTree below, with_files(*node.below, paths));
    return selects ? below : std::make_shared<const DataNode>(DataNode{node.verb, node.options, std::move(below)});
  }
  std::shared_ptr<void> options = node.verb->spec->copy(node.options.get());
  const Member* const files = node.verb->spec->find("files");
  if (!files)
    return Error(ErrorCode::kInvalidArgument, fmt::format("other files for a {}", node.verb->name()))
        .with_hint("Measure each of its parts.");
  *static_cast<std::vector<std::string>*>(files->in(options.get())) = paths;
  return std::make_shared<const DataNode>(DataNode{node.verb, std::move(options), nullptr});
}

DataTree with_companions(const DataNode& node, const std::set<std::string>* known) {
  const DataNode& source = source_of(node);
  const auto noted = [&]<class Options>(const Options& given) {
    Options options = given;
    note_companions(options, "", known);
    return with_source(node, node_of(std::move(options)));
  };
  if (const auto* const files = options_of<FilesNode>(source)) return noted(*files);
  if (const auto* const volume = options_of<VolumeNode>(source)) return noted(*volume);
  return std::make_shared<const DataNode>(node);
}

std::string_view sample_noun(const DataNode& node) {
  if (!node.verb->noun.empty()) return node.verb->noun;
  return node.below ? sample_noun(*node.below) : "sample";
}

std::string text_of(const DataNode& node) {
  std::string text;
  for (const DataNode* const one : nodes_of(node))
    text += (text.empty() ? "" : " → ") + one->verb->text(one->options.get(), *one);
  return text;
}

std::string recipe_of(const DataNode& node) {
  PackedWriter out;
  out.text(kRecipe);
  write_tree(out, node);
  return out.take();
}

Result<DataTree> node_of_recipe(std::string_view recipe) {
  PackedReader in(recipe);
  if (in.text() != kRecipe)
    return Error(ErrorCode::kInvalidArgument, "this is no data set that this version of headrace has pickled")
        .with_hint("Open the files again.");
  DataTree tree = read_tree(in);
  if (!in.complete())
    return Error(ErrorCode::kInvalidArgument, "the pickled data set is damaged").with_hint("Open the files again.");
  return tree;
}

void ValueCodec<DataTree>::pack(PackedWriter& out, const DataTree& from) {
  out.flag(from != nullptr);
  if (from) write_tree(out, *from);
}

void ValueCodec<DataTree>::unpack(PackedReader& in, const Bounds&, DataTree& to) {
  to = in.flag() ? read_tree(in) : nullptr;
}

Dataset resolve(const DataNode& node, const Opening& opening) {
  return dataset_of(open_tree(node, opening));
}

DataTree tree_of(std::vector<std::string> paths, OpenOptions options) {
  options.progress = {};
  return node_of(FilesNode{std::move(paths), std::move(options)});
}

Dataset open(const DataTree& tree, const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  return resolve(*tree, {progress});
}

DataTree Dataset::tree() const {
  return impl_->node;
}

std::string Dataset::recipe() const {
  if (!impl_->node)
    throw Error(ErrorCode::kUnsupported, "a data set that was made in memory cannot be pickled: no file holds it");
  return recipe_of(*impl_->node);
}

Dataset open_recipe(const std::string& recipe) {
  return resolve(*node_of_recipe(recipe).value(), {.progress = {}, .is_again = true});
}

}  // namespace headrace
