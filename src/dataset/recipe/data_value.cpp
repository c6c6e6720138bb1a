// Trees of data sets as run files say them: a map of what is opened, and of verbs in their order.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "dataset/recipe/data_tree.h"

namespace headrace {
namespace {

using Of = Verb::Of;

bool has_key(const ValueMap& map, std::string_view key) {
  return std::ranges::find(map, key, &ValueEntry::key) != map.end();
}

/// The source that a map tells of: the first whose name is among its keys. Sources that open files in a way of their
/// own come before files, which they have too.
const Verb* source_in(const ValueMap& map) {
  const Verb* found = nullptr;
  for (const Verb* const verb : verbs())
    if (verb->is_source() && has_key(map, verb->name()) && (!found || found->name() == "files")) found = verb;
  return found;
}

/// Say of a key of another source that it goes with that one.
Status check_source_keys(const ValueMap& map, const At& at, const Verb& source) {
  for (const ValueEntry& entry : map) {
    if (source.spec->find(entry.key)) continue;
    for (const Verb* const other : verbs())
      if (other->is_source() && other->spec->find(entry.key))
        return refused({{}, false, entry.line}, At{&at, entry.key},
                       fmt::format("goes with {}, and {} is given", other->name(), source.name()),
                       "Leave one of them out.");
  }
  return {};
}

std::vector<std::string> known_keys(const Verb* source) {
  std::vector<std::string> known;
  for (const Verb* const verb : verbs()) {
    if (!verb->is_source())
      known.emplace_back(verb->name());
    else if (!source || verb == source)
      for (std::string& name : verb->spec->names())
        if (std::ranges::find(known, name) == known.end()) known.push_back(std::move(name));
  }
  return known;
}

/// Say that a verb cannot be applied to what there is.
Error misplaced(const ValueEntry& entry, const At& at, const Verb& verb, const DataNode& below) {
  const Value line{{}, false, entry.line};
  if (verb.takes == Of::kVolumes)
    return refused(line, at, "volume is missing: patches are boxes of a volume",
                   "Such as volume: {arrays: {raw: volumes/raw}} and patches: {shape: [64, 64, 64], samples_per_epoch: "
                   "10000}.");
  if (verb.takes == Of::kTokens)
    return refused(line, at, "tokens is missing: documents are those of files of tokens",
                   "Such as tokens: {} and documents: {}.");
  if (below.verb->gives == Of::kVolumes)
    return refused(line, at, "a volume has no rows: its samples are patches", "Give patches before it.");
  return refused(line, at, fmt::format("cannot follow {}", below.verb->name()));
}

Result<DataTree> add_verbs(const ValueMap& map, const At& at, const Verb* source, DataTree tree) {
  for (const ValueEntry& entry : map) {
    const Verb* const verb = find_verb(entry.key);
    if (!verb || verb->is_source() || (source && source->spec->find(entry.key))) continue;
    const At here{&at, entry.key};
    const Of below = tree->verb->gives;
    if (verb->takes != below && !(verb->takes == Of::kDataset && below == Of::kTokens))
      return misplaced(entry, here, *verb, *tree);
    std::shared_ptr<void> options = verb->spec->make();
    HEADRACE_TRY(verb->spec->read(entry.value, here, options.get()));
    tree = std::make_shared<const DataNode>(DataNode{verb, std::move(options), std::move(tree)});
  }
  return tree;
}

Result<DataTree> read_first(const Value& value, const At& at) {
  const ValueMap* const map = value.map();
  if (!map) return unexpected(value, at, "a map of keys and values");
  const Verb* const source = source_in(*map);
  if (source) HEADRACE_TRY(check_source_keys(*map, at, *source));
  HEADRACE_TRY(check_keys(*map, at, known_keys(source)));
  if (!source)
    return refused({{}, false, value.line}, {}, at.text() + ".files is missing",
                   "Name the files, as files: \"train_*.h5\", or data sets, as mix.");
  std::shared_ptr<void> options = source->spec->make();
  HEADRACE_TRY(source->spec->read_known(value, at, options.get()));
  return add_verbs(*map, at, source, std::make_shared<const DataNode>(DataNode{source, std::move(options), nullptr}));
}

}  // namespace

Result<DataTree> read_data(const Value& value, const At& at) {
  DataTree tree;
  if (const ValueList* const list = value.list(); list && !list->empty()) {
    const At first{&at, "[0]"};
    HEADRACE_ASSIGN(tree, read_first((*list)[0], first));
    for (std::size_t i = 1; i < list->size(); ++i) {
      const At here{&at, fmt::format("[{}]", i)};
      const ValueMap* const map = (*list)[i].map();
      if (!map) return unexpected((*list)[i], here, "a map of verbs");
      std::vector<std::string> known;
      for (const Verb* const verb : verbs())
        if (!verb->is_source()) known.emplace_back(verb->name());
      HEADRACE_TRY(check_keys(*map, here, known));
      HEADRACE_ASSIGN(tree, add_verbs(*map, here, nullptr, std::move(tree)));
    }
  } else {
    HEADRACE_ASSIGN(tree, read_first(value, at));
  }
  if (tree->verb->gives == Of::kVolumes)
    return refused({{}, false, value.line}, {}, at.text() + ".patches is missing: which boxes of a volume are samples",
                   "Such as patches: {shape: [64, 64, 64], samples_per_epoch: 10000}.");
  return tree;
}

Value data_value(const DataNode& node) {
  std::vector<const DataNode*> nodes;
  for (const DataNode* one = &node; one; one = one->below.get()) nodes.insert(nodes.begin(), one);
  ValueList maps;
  ValueMap map = nodes[0]->verb->spec->write_map(nodes[0]->options.get());
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    const Verb& verb = *nodes[i]->verb;
    if (has_key(map, verb.name()) || (maps.empty() && nodes[0]->verb->spec->find(verb.name())))
      maps.push_back({std::exchange(map, {})});
    map.push_back({std::string(verb.name()), verb.spec->write(nodes[i]->options.get()), 0});
  }
  if (maps.empty()) return {std::move(map)};
  maps.push_back({std::move(map)});
  return {std::move(maps)};
}

Status ValueCodec<DataTree>::read(const Value& value, const At& at, const Bounds&, DataTree& to) {
  HEADRACE_ASSIGN(to, read_data(value, at));
  return {};
}

Value ValueCodec<DataTree>::write(const DataTree& from) {
  return from ? data_value(*from) : Value{};
}

}  // namespace headrace
