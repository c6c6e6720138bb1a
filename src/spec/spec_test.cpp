#include "spec/spec.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>

#include "spec/path_forms.h"
#include "spec/value_codecs.h"

namespace headrace {
namespace {

enum class Edge : std::uint8_t { kShift, kDrop };
constexpr Word<Edge> kEdges[] = {{"shift", Edge::kShift}, {"drop", Edge::kDrop}};
constexpr std::span<const Word<Edge>> words_of(Edge) {
  return kEdges;
}

struct Box {
  std::vector<std::uint64_t> shape;
};
const Spec& spec_of(const Box*) {
  static const Spec spec = Spec::of<Box>(
      "box", "A box.",
      {member<&Box::shape, OneOrMany<>>("shape", "Its extents, in voxels.").required().bare().at_least(1)});
  return spec;
}

struct Sample {
  std::uint64_t length = 0;
  std::optional<std::uint64_t> stride = {};
  std::uint32_t small = 3;
  Edge edge = Edge::kShift;
  double fill = 0;
  bool on = false;
  std::string path = {};
  std::vector<Box> boxes = {};
  std::map<std::string, double> shares = {};
  std::optional<WholeNumber> value = {};
};
Status no_longer_than_100(Sample& sample, const ReadContext&) {
  if (sample.length <= 100) return {};
  return Error(ErrorCode::kInvalidArgument, "too long").with_hint("Give 100 at most.");
}
const Spec& spec_of(const Sample*) {
  static const Spec spec =
      Spec::of<Sample>("sample", "A sample.",
                       {member<&Sample::length>("length", "How long it is, in rows.").required().at_least(1),
                        member<&Sample::stride>("stride", "Rows to the next.").at_least(1).else_("length"),
                        member<&Sample::small>("small", "A number of 32 bits.").at_most(4096),
                        member<&Sample::edge>("edge", "Its end."), member<&Sample::fill>("fill", "What is outside."),
                        member<&Sample::on>("on", "A switch."), member<&Sample::path, AsPath>("path", "A path."),
                        member<&Sample::boxes>("boxes", "Boxes."), member<&Sample::shares>("shares", "Shares."),
                        member<&Sample::value>("value", "Any whole number.")})
          .rule(&no_longer_than_100);
  return spec;
}

Value plain(std::string text) {
  return {std::move(text), true, 7};
}
Value map_of(std::initializer_list<std::pair<const char*, Value>> entries) {
  ValueMap map;
  for (const auto& [key, value] : entries) map.push_back({key, value, 7});
  return {std::move(map), false, 6};
}

/// The text of a refusal.
std::string refusal(const Value& value) {
  Sample sample;
  const ReadContext context{"/runs/run.yaml"};
  const Status status = spec<Sample>().read(value, At{nullptr, "data", &context}, &sample);
  return status.ok() ? "accepted" : status.error().what();
}

template <class S>
std::string bytes_of(const S& object) {
  PackedWriter out;
  spec<S>().pack(out, &object);
  return out.take();
}
Result<Sample> of_bytes(std::string_view bytes) {
  PackedReader in(bytes);
  Sample sample;
  spec<Sample>().unpack(in, &sample);
  if (in.complete()) return sample;
  return Error(ErrorCode::kInvalidArgument, "damaged");
}

Sample any_sample() {
  using Number = std::uint64_t;
  Sample sample;
  sample.length = *rc::gen::inRange<Number>(1, 101);
  sample.stride = *rc::gen::maybe(rc::gen::map(rc::gen::positive<int>(), [](int n) { return Number(n); })).as("stride")
                      ? std::optional<Number>(*rc::gen::inRange<Number>(1, 50))
                      : std::nullopt;
  sample.small = *rc::gen::inRange<std::uint32_t>(0, 4097);
  sample.edge = *rc::gen::element(Edge::kShift, Edge::kDrop);
  sample.fill = *rc::gen::element(0.0, -0.0, 1.5, 2.0, 1e300, std::numeric_limits<double>::quiet_NaN());
  sample.on = *rc::gen::arbitrary<bool>();
  sample.path = *rc::gen::element<std::string>("", "/a b", "/c: #\"\\\n");
  for (int n = *rc::gen::inRange(0, 3); n > 0; --n) sample.boxes.push_back({{Number(n), 8}});
  if (*rc::gen::arbitrary<bool>()) sample.shares = {{"train", 0.9}, {"a: b", 0.1}};
  sample.value = *rc::gen::element<std::optional<WholeNumber>>(std::nullopt, WholeNumber(-5), WholeNumber(~0ULL));
  return sample;
}

TEST(Spec, ValuesAndBytesAreInverse) {
  EXPECT_TRUE(rc::check([] {
    const Sample sample = any_sample();
    const std::string bytes = bytes_of(sample);
    RC_ASSERT(bytes_of(of_bytes(bytes).value()) == bytes);
    Sample again;
    RC_ASSERT(spec<Sample>().read(spec<Sample>().write(&sample), {}, &again).ok());
    RC_ASSERT(bytes_of(again) == bytes);
    for (std::size_t size = 0; size < bytes.size(); ++size) RC_ASSERT(!of_bytes(bytes.substr(0, size)).ok());
  }));
}

TEST(Spec, WritesWhatDiffersFromTheDefaults) {
  Sample sample;
  sample.length = 8;
  EXPECT_EQ(flow_text(spec<Sample>().write(&sample)), "{length: 8}");
  sample.fill = 2, sample.edge = Edge::kDrop, sample.boxes = {{{4}}, {{4, 5}}};
  EXPECT_EQ(flow_text(spec<Sample>().write(&sample)), "{length: 8, edge: \"drop\", fill: 2.0, boxes: [4, [4, 5]]}");
}

struct Shelf {
  std::string label;
  std::vector<std::string> titles;
  std::vector<Box> boxes;
  std::optional<Box> largest;
  double width = 0;
};
const Spec& spec_of(const Shelf*) {
  static const Spec spec = Spec::of<Shelf>(
      "shelf", "A shelf.",
      {member<&Shelf::label, Shown>("label", "Its label"), member<&Shelf::titles, Shown>("titles", "Titles on it"),
       member<&Shelf::boxes, Shown>("boxes", "Boxes on it"), member<&Shelf::largest, Shown>("largest", "The largest"),
       member<&Shelf::width, Shown>("width", "Its width")});
  return spec;
}

TEST(Spec, WhatIsShownLeavesNothingOut) {
  Shelf shelf;
  EXPECT_EQ(flow_text(spec<Shelf>().write_all(&shelf)),
            "{label: \"\", titles: [], boxes: [], largest: null, width: 0.0}");
  EXPECT_EQ(flow_text(spec<Shelf>().write(&shelf)), "{}");
  shelf = {"a", {""}, {{{4}}}, Box{}, 1.5};
  EXPECT_EQ(flow_text(spec<Shelf>().write_all(&shelf)),
            "{label: \"a\", titles: [\"\"], boxes: [{shape: 4}], largest: {shape: null}, width: 1.5}");
  EXPECT_EQ(spec<Shelf>().find("titles")->type->python, "list[str]");
}

TEST(Spec, ReadsPlainTextAsItsMembersAre) {
  Sample sample;
  const ReadContext context{"/runs/run.yaml"};
  const Value value =
      map_of({{"length", plain("8")}, {"on", plain("true")}, {"path", plain("7")}, {"fill", plain("1e3")}});
  ASSERT_TRUE(spec<Sample>().read(value, At{nullptr, "", &context}, &sample).ok());
  EXPECT_EQ(sample.length, 8U);
  EXPECT_TRUE(sample.on);
  EXPECT_EQ(sample.path, "/runs/7");
  EXPECT_EQ(sample.fill, 1000);
}

TEST(Spec, RefusalsNameTheLineThePlaceAndWhatWasFound) {
  const Value eight = plain("8");
  EXPECT_EQ(refusal(plain("8")), "line 7: data must be a map of keys and values, not 8");
  EXPECT_EQ(refusal(map_of({{"lenght", eight}})).substr(0, 74),
            "line 7: data.lenght: there is no such key. Did you mean length? There are:");
  EXPECT_EQ(refusal(map_of({{"length", eight}, {"length", eight}})),
            "line 7: data.length: given twice, first on line 7");
  EXPECT_EQ(refusal(map_of({{"length", {{}, false, 7}}})), "line 7: data.length: a value is missing");
  EXPECT_EQ(refusal(map_of({{"on", plain("true")}})),
            "line 6: data.length: missing: a whole number of at least 1. How long it is, in rows.");
  for (const char* const number : {"0", "-1", "010", "1.5", "1e3", "x", "18446744073709551616", "''"})
    EXPECT_NE(
        refusal(map_of({{"length", plain(number)}})).find("data.length must be a whole number of at least 1, not"),
        std::string::npos);
  EXPECT_EQ(refusal(map_of({{"length", {std::string("8")}}})),
            "data.length must be a whole number of at least 1, not '8'");
  EXPECT_EQ(refusal(map_of({{"length", eight}, {"small", plain("4097")}})),
            "line 7: data.small must be a whole number from 0 to 4096, not 4097");
  EXPECT_EQ(refusal(map_of({{"length", eight}, {"on", plain("yes")}})),
            "line 7: data.on must be true or false, not 'yes'");
  EXPECT_EQ(refusal(map_of({{"length", eight}, {"edge", plain("drpo")}})),
            "line 7: data.edge must be shift or drop, not 'drpo'. Did you mean 'drop'?");
  EXPECT_EQ(refusal(map_of({{"length", eight}, {"boxes", {ValueList{}, false, 7}}})),
            "line 7: data.boxes: the list is empty");
  EXPECT_EQ(refusal(map_of({{"length", eight}, {"boxes", {ValueList{eight, plain("a")}, false, 7}}})),
            "line 7: data.boxes[1] must be a whole number of at least 1, not 'a'");
  EXPECT_EQ(refusal(map_of({{"length", plain("101")}})), "line 6: data: too long. Give 100 at most.");
}

TEST(Spec, RecipesOfVersionsWithFewerMembersHaveTheDefaults) {
  Sample sample;
  sample.length = 8;
  const std::string now = bytes_of(sample), length_alone = std::string("\x01\x08", 2);
  EXPECT_EQ(bytes_of(of_bytes(length_alone).value()), now);
  std::string later = now;
  ++later[0];
  EXPECT_FALSE(of_bytes(later + '\x01').ok());
  EXPECT_FALSE(of_bytes(std::string("\x01\x65", 2)).ok()) << "rules hold for recipes";
}

TEST(Spec, PathsBeginBesideTheFile) {
  EXPECT_EQ(beside("/runs/run.yaml", "a.h5"), "/runs/a.h5");
  EXPECT_EQ(beside("/set[1]/run.yaml", "*.h5"), "/set[[]1]/*.h5");
  EXPECT_EQ(beside("/runs/run.yaml", "~/a.h5"), "~/a.h5");
  EXPECT_EQ(beside("", "a.h5"), "a.h5");
  EXPECT_TRUE(absolute_path("a.h5").starts_with('/'));
}

}  // namespace
}  // namespace headrace
