// What select(), split(), choose(), map() and windows() take, as run files and recipes have it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <headrace/windows.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text/number_text.h"
#include "dataset/dataset_contents.h"
#include "dataset/recipe/field_forms.h"
#include "dataset/recipe/refuse.h"
#include "dataset/recipe/transform_codec.h"
#include "dataset/recipe/verb_options.h"
#include "dataset/recipe/words.h"
#include "dataset/verbs/registry.h"
#include "dataset/verbs/select_rows.h"

namespace headrace {

/// Names and shares, in their order.
template <>
struct ValueCodec<std::vector<std::pair<std::string, double>>> {
  using Shares = std::vector<std::pair<std::string, double>>;
  static std::string words(const Bounds&) { return "a map of names and shares, such as {train: 0.9, val: 0.1}"; }
  static Status read(const Value& value, const At& at, const Bounds& bounds, Shares& to) {
    to.clear();
    const ValueMap* const map = value.map();
    if (!map || map->empty()) return unexpected(value, at, words(bounds));
    HEADRACE_TRY(check_twice(*map, at));
    for (const ValueEntry& entry : *map) {
      to.emplace_back(entry.key, 0.0);
      HEADRACE_TRY(ValueCodec<double>::read(entry.value, At{&at, entry.key}, {}, to.back().second));
    }
    return {};
  }
  static Value write(const Shares& from) {
    ValueMap map;
    for (const auto& [name, share] : from) map.push_back({name, {share}, 0});
    return {std::move(map)};
  }
  static void pack(PackedWriter& out, const Shares& from) {
    out.number(from.size());
    for (const auto& [name, share] : from) out.text(name), ValueCodec<double>::pack(out, share);
  }
  static void unpack(PackedReader& in, const Bounds&, Shares& to) {
    to.clear();
    for (std::size_t n = in.count(); in.ok() && n > 0; --n) {
      const std::string name(in.text());
      to.emplace_back(name, 0.0);
      ValueCodec<double>::unpack(in, {}, to.back().second);
    }
  }
};

namespace {

Status check_split(SplitNode& split, const ReadContext&) {
  if (std::ranges::any_of(split.parts, [](const auto& part) { return part.first.empty(); }))
    return refuse("a part has no name", "Name each: {train: 0.9, val: 0.1}.");
  const auto is_taken = [&](const auto& part) { return part.first == split.take; };
  if (std::ranges::any_of(split.parts, is_taken)) return {};
  std::vector<std::string> names;
  for (const auto& [name, share] : split.parts) names.push_back(name);
  return refuse(fmt::format("take is '{}', and the parts are {}", split.take, fmt::join(names, ", ")),
                "Take one of them.");
}

/// Select what was selected before.
template <class Node>
Dataset select_again(const Dataset& data, Node node) {
  const RowSet& chosen = *node.rows;
  const std::uint64_t last = chosen[chosen.size() - 1], whole = chosen.size_of_whole();
  check_selectable(data);
  if (last >= data.size())
    throw whole == last + 1
        ? refuse(fmt::format("sample {} is selected, and there are {}", last, data.size()), "Samples count from 0.")
        : refuse(fmt::format("sample {} was selected of {} when the data set was pickled; its files now hold {}", last,
                             whole, data.size()),
                 "Select again from the files as they are.");
  if (whole != data.size()) {  // the files hold more or fewer by now, or how many was not known
    std::vector<std::uint64_t> rows(chosen.size());
    for (std::uint64_t i = 0; i < rows.size(); ++i) rows[i] = chosen[i];
    node.rows = std::make_shared<const RowSet>(data.size(), std::span<const std::uint64_t>(rows));
  }
  std::shared_ptr<const RowSet> rows = node.rows;
  return select_set(data, std::move(rows), impl_of(data)->node_with(std::move(node)));
}

Dataset take_part(const SplitNode& node, const Dataset& data) {
  std::vector<double> shares;
  std::size_t number = 0;
  for (const auto& [name, share] : node.parts) {
    if (name == node.take) number = shares.size();
    shares.push_back(share);
  }
  std::vector<std::string> names;
  for (const auto& [name, share] : node.parts) names.push_back(name);
  return split(data, shares, {node.seed, node.stratify, node.by, {}, std::move(names)})[number];
}

std::string text_of_windows(const WindowOptions& windows, const DataNode&) {
  std::string text = fmt::format("windows of {}", windows.length);
  if (windows.lookahead) text += fmt::format(" + {}", windows.lookahead);
  text += fmt::format(" row{}", plural(windows.length + windows.lookahead));
  if (windows.stride.value_or(windows.length) != windows.length) text += fmt::format(" every {}", *windows.stride);
  return text + (windows.across_files ? " across files" : "");
}

}  // namespace

const Spec& spec_of(const SelectNode*) {
  static const Spec spec = Spec::of<SelectNode>(
      "select", "Chosen samples alone, in the order of the files.",
      {member<&SelectNode::rows>("rows", "Numbers of the samples, and runs of them.").required().bare()});
  return spec;
}

const Spec& spec_of(const SplitNode*) {
  using S = SplitNode;
  static const Spec spec =
      Spec::of<S>("split", "One part of a split, at random, the same for the same seed.",
                  {member<&S::parts>("parts", "Name and share of each part.").required(),
                   member<&S::take>("take", "The part that is taken.").required(),
                   member<&S::seed>("seed", "Another seed gives another split."),
                   member<&S::stratify>("stratify", "Field with a class a sample, of which each part gets its share."),
                   member<&S::by, AsSplitBy>("by", "What is kept together."),
                   member<&S::rows>("rows", "Rows of the part.").recipe_only()})
          .rule(&check_split);
  return spec;
}

const Spec& spec_of(const ChooseNode*) {
  static const Spec spec =
      Spec::of<ChooseNode>("choose", "Some of the fields, in this order.",
                           {member<&ChooseNode::names>("names", "Names of the fields.").required().bare()});
  return spec;
}

const Spec& spec_of(const MapNode*) {
  static const Spec spec =
      Spec::of<MapNode>("map", "Samples go through transforms, one after the other.",
                        {member<&MapNode::transforms, OneOrMany<>>("transforms", "The transforms with their settings.")
                             .required()
                             .bare_map()});
  return spec;
}

const Spec& spec_of(const WindowOptions*) {
  using W = WindowOptions;
  static const Spec spec = Spec::of<W>(
      "windows", "Samples are runs of consecutive rows.",
      {member<&W::length>("length", "Rows of a window, apart from lookahead.").required().bare().at_least(1),
       member<&W::stride>("stride", "Rows from the start of a window to that of the next one.")
           .at_least(1)
           .else_("length"),
       member<&W::lookahead>("lookahead", "Rows that follow in each window."),
       member<&W::across_files>("across_files", "The rows of all files are one run.")});
  return spec;
}

const Verb& select_verb() {
  static const Verb verb = Verb::of<SelectNode>(
      Verb::Of::kDataset, Verb::Of::kDataset, "",
      [](const SelectNode& node, const Opened& below, const Opening&) -> Opened {
        return select_again(dataset_of(below), node);
      },
      [](const SelectNode& node, const DataNode& at) { return counted(node.rows->size(), sample_noun(*at.below)); });
  return verb;
}

const Verb& split_verb() {
  static const Verb verb = Verb::of<SplitNode>(
      Verb::Of::kDataset, Verb::Of::kDataset, "",
      [](const SplitNode& node, const Opened& below, const Opening&) -> Opened {
        const Dataset data = dataset_of(below);
        return node.rows ? select_again(data, node) : take_part(node, data);
      },
      [](const SplitNode& node, const DataNode& at) {
        return node.rows ? counted(node.rows->size(), sample_noun(*at.below)) : "part " + node.take;
      });
  return verb;
}

const Verb& choose_verb() {
  static const Verb verb = Verb::of<ChooseNode>(
      Verb::Of::kDataset, Verb::Of::kDataset, "",
      [](const ChooseNode& node, const Opened& below, const Opening&) -> Opened {
        return dataset_of(below).choose(node.names);
      },
      [](const ChooseNode& node, const DataNode&) {
        return fmt::format("field{} {}", plural(node.names.size()), fmt::join(node.names, ", "));
      });
  return verb;
}

const Verb& map_verb() {
  static const Verb verb = Verb::of<MapNode>(
      Verb::Of::kDataset, Verb::Of::kDataset, "",
      [](const MapNode& node, const Opened& below, const Opening&) -> Opened {
        return dataset_of(below).map(node.transforms);
      },
      [](const MapNode& node, const DataNode&) {
        std::string text;
        for (const Transform& one : node.transforms) text += (text.empty() ? "" : " → ") + one.text();
        return text;
      });
  return verb;
}

const Verb& windows_verb() {
  static const Verb verb = Verb::of<WindowOptions>(
      Verb::Of::kDataset, Verb::Of::kDataset, "window",
      [](const WindowOptions& options, const Opened& below, const Opening&) -> Opened {
        return windows(dataset_of(below), options);
      },
      &text_of_windows);
  return verb;
}

}  // namespace headrace
