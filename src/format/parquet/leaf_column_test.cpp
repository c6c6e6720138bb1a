// Names of columns, and which of them are lists, for the trees that writers make.
#include "format/parquet/leaf_column.h"

#include <gtest/gtest.h>

#include "format/parquet/file_metadata.h"

namespace headrace::parquet {
namespace {

using Kind = Meaning::Kind;
constexpr Repetition kOne = Repetition::kRequired, kMaybe = Repetition::kOptional, kMany = Repetition::kRepeated;

SchemaNode value_node(std::string name, Repetition repetition, PhysicalType physical = PhysicalType::kInt32) {
  SchemaNode node;
  node.name = std::move(name), node.repetition = repetition, node.physical = physical;
  return node;
}
SchemaNode group_node(std::string name, Repetition repetition, std::uint32_t children, Kind kind = Kind::kNone) {
  SchemaNode node = value_node(std::move(name), repetition);
  node.is_group = true, node.children = children, node.meaning.kind = kind;
  return node;
}

/// Leaves of a schema. \param nodes  All but the root.
std::vector<LeafColumn> leaves_of(std::vector<SchemaNode> nodes, std::uint32_t root_children = 1) {
  FileMetadata file;
  file.schema.push_back(group_node("schema", kOne, root_children));
  file.schema.insert(file.schema.end(), nodes.begin(), nodes.end());
  return leaf_columns(file);
}
/// "path / list / definition levels / level of an element", or "path: refusal".
std::string text_of(const LeafColumn& leaf) {
  if (!leaf.refusal.empty()) return leaf.path + ": " + leaf.refusal;
  return leaf.path + " / " + leaf.list + " / " + std::to_string(leaf.definition_levels) + " / " +
         std::to_string(leaf.element_level);
}
std::string only_leaf(std::vector<SchemaNode> nodes) {
  const auto leaves = leaves_of(std::move(nodes));
  EXPECT_EQ(leaves.size(), 1U);
  return text_of(leaves.at(0));
}

TEST(LeafColumns, ListsOfThreeLevelsHaveTheirOwnName) {
  EXPECT_EQ(only_leaf({group_node("photons", kMaybe, 1, Kind::kList), group_node("list", kMany, 1),
                       value_node("element", kMaybe)}),
            "photons / photons / 3 / 2");
  EXPECT_EQ(only_leaf({group_node("photons", kOne, 1, Kind::kList), group_node("bag", kMany, 1),
                       value_node("array_element", kOne)}),
            "photons / photons / 1 / 1");
  const auto hits = leaves_of({group_node("hits", kMaybe, 1, Kind::kList), group_node("list", kMany, 1),
                               group_node("element", kMaybe, 2), value_node("time", kOne), value_node("dom", kMaybe)});
  ASSERT_EQ(hits.size(), 2U);
  EXPECT_EQ(text_of(hits[0]), "hits.time / hits / 3 / 2");
  EXPECT_EQ(text_of(hits[1]), "hits.dom / hits / 4 / 2");
  EXPECT_EQ(hits[0].list_node, hits[1].list_node);
  const auto pulses =
      leaves_of({group_node("pulses", kMaybe, 2), group_node("charge", kMaybe, 1, Kind::kList),
                 group_node("list", kMany, 1), value_node("item", kMaybe), group_node("dom", kMaybe, 1, Kind::kList),
                 group_node("list", kMany, 1), value_node("item", kMaybe)});
  ASSERT_EQ(pulses.size(), 2U);
  EXPECT_EQ(text_of(pulses[0]), "pulses.charge / pulses.charge / 4 / 3");
  EXPECT_EQ(text_of(pulses[1]), "pulses.dom / pulses.dom / 4 / 3");
}

TEST(LeafColumns, ListsOfTwoLevelsLeaveOneNameOut) {
  EXPECT_EQ(only_leaf({group_node("x", kMaybe, 1, Kind::kList), value_node("element", kMany)}), "x / x / 2 / 2");
  EXPECT_EQ(only_leaf({group_node("x", kMaybe, 1, Kind::kList), group_node("array", kMany, 1), value_node("a", kOne)}),
            "x.a / x / 2 / 2");
  EXPECT_EQ(
      only_leaf({group_node("x", kMaybe, 1, Kind::kList), group_node("x_tuple", kMany, 1), value_node("a", kOne)}),
      "x.a / x / 2 / 2");
  const auto several = leaves_of({group_node("x", kMaybe, 1, Kind::kList), group_node("list", kMany, 2),
                                  value_node("a", kOne), value_node("b", kMaybe)});
  ASSERT_EQ(several.size(), 2U);
  EXPECT_EQ(text_of(several[0]), "x.a / x / 2 / 2");
  EXPECT_EQ(text_of(several[1]), "x.b / x / 3 / 2");
}

TEST(LeafColumns, RepeatedNodesAreListsByTheirOwnNames) {
  EXPECT_EQ(only_leaf({value_node("x", kMany)}), "x / x / 1 / 1");
  EXPECT_EQ(only_leaf({group_node("g", kMaybe, 1), value_node("list", kMany)}), "g.list / g.list / 2 / 2");
  EXPECT_EQ(only_leaf({group_node("g", kMany, 1), value_node("element", kMaybe)}), "g.element / g / 2 / 1");
  // What is annotated as a list and has no repeated child is none.
  EXPECT_EQ(only_leaf({group_node("x", kMaybe, 1, Kind::kList), value_node("element", kOne)}), "x.element /  / 1 / 0");
  EXPECT_EQ(only_leaf({value_node("element", kMaybe)}), "element /  / 1 / 0");
}

TEST(LeafColumns, MapsListsOfListsAndListsOfTextsAreRefused) {
  const std::string lists = ": a list of lists; only lists of values are read";
  EXPECT_EQ(only_leaf({group_node("x", kMaybe, 1, Kind::kList), group_node("list", kMany, 1),
                       group_node("element", kMaybe, 1, Kind::kList), group_node("list", kMany, 1),
                       value_node("element", kMaybe)}),
            "x" + lists);
  EXPECT_EQ(only_leaf({group_node("a", kMaybe, 1, Kind::kList), group_node("array", kMany, 1, Kind::kList),
                       value_node("array", kMany)}),
            "a" + lists);
  EXPECT_EQ(only_leaf({group_node("x", kMaybe, 1, Kind::kList), group_node("list", kMany, 1), value_node("a", kMany)}),
            "x.a" + lists);
  const auto map = leaves_of({group_node("m", kMaybe, 1, Kind::kMap), group_node("key_value", kMany, 2),
                              value_node("key", kOne), value_node("value", kMaybe)});
  EXPECT_EQ(text_of(map[0]), "m.key_value.key: a map; only values and lists of values are read");
  EXPECT_FALSE(map[1].is_list());
  EXPECT_EQ(only_leaf({group_node("x", kMaybe, 1, Kind::kList), group_node("list", kMany, 1),
                       value_node("element", kMaybe, PhysicalType::kByteArray)}),
            "x: bytes of any length; only columns of numbers are read");
}

TEST(LeafColumns, EqualNamesAreRefusedAndTheirListsToldApart) {
  const std::vector<SchemaNode> list{group_node("x", kMaybe, 1, Kind::kList), group_node("list", kMany, 1),
                                     value_node("element", kMaybe)};
  std::vector<SchemaNode> nodes = list;
  nodes.insert(nodes.end(), list.begin(), list.end());
  nodes.push_back(value_node("y", kMany));
  const auto leaves = leaves_of(nodes, 3);
  ASSERT_EQ(leaves.size(), 3U);
  EXPECT_EQ(text_of(leaves[0]), "x: 2 columns have this name");
  EXPECT_EQ(text_of(leaves[1]), "x: 2 columns have this name");
  EXPECT_EQ(text_of(leaves[2]), "y / y / 1 / 1");
  EXPECT_EQ(leaves[0].list, "x");
  EXPECT_EQ(leaves[1].list, "x (node 5 of the schema)");
}

}  // namespace
}  // namespace headrace::parquet
