// What a transform was told, and what it says about it.
#include "transform/settings.h"

#include <gtest/gtest.h>

#include <functional>

#include "transform/registry.h"

namespace headrace {
namespace {

const Field kX{"x", "", {DType::Kind::kFloat, 4}, Dims{3, 4}, {}};
const Field kY{"y", "", {DType::Kind::kInt, 8}, {}, {}};

std::string error_of(const Transform& transform, const std::function<void(Settings&)>& read) {
  Settings settings(transform);
  read(settings);
  const Status done = settings.finish();
  return done.ok() ? "" : done.error().what();
}

TEST(Settings, ReadsWhatIsThereAndDefaults) {
  const Transform transform{"Any",
                            {"x"},
                            {{"whole", std::int64_t{3}},
                             {"half", 0.5},
                             {"flag", true},
                             {"text", std::string("abc")},
                             {"list", std::vector<double>{1, 2}},
                             {"names", std::vector<std::string>{"a", "b"}}}};
  Settings settings(transform);
  EXPECT_EQ(settings.number("whole"), 3);
  EXPECT_EQ(settings.whole("whole", {}, 0), 3);
  EXPECT_EQ(settings.number("half"), 0.5);
  EXPECT_EQ(settings.numbers("half"), std::vector<double>{0.5});
  EXPECT_EQ(settings.numbers("whole"), std::vector<double>{3});
  EXPECT_EQ(settings.numbers("list"), (std::vector<double>{1, 2}));
  EXPECT_TRUE(settings.flag("flag", false));
  EXPECT_EQ(settings.text("text"), "abc");
  EXPECT_EQ(settings.texts("text"), std::vector<std::string>{"abc"});
  EXPECT_EQ(settings.texts("names"), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(settings.has("half"));
  EXPECT_FALSE(settings.has("other"));
  EXPECT_EQ(settings.number("other", 7.0), 7);
  EXPECT_EQ(settings.whole("other", 8, 0), 8);
  EXPECT_FALSE(settings.flag("other", false));
  EXPECT_EQ(settings.text("other", "d"), "d");
  EXPECT_EQ(settings.numbers("other", std::vector<double>{9}), std::vector<double>{9});
  EXPECT_TRUE(settings.texts("other", std::vector<std::string>{}).empty());
  EXPECT_TRUE(settings.finish().ok());
}

TEST(Settings, NamesWhatIsWrong) {
  const auto with = [](Setting value) { return Transform{"Any", {"x"}, {{"a", std::move(value)}}}; };
  struct Case {
    Transform transform;
    std::function<void(Settings&)> read;
    const char* text;
  };
  const Case cases[] = {
      {with(std::string("low")), [](Settings& s) { s.number("a"); }, "Any: a must be a number, not 'low'"},
      {with(0.5), [](Settings& s) { s.whole("a", {}, 0); }, "a must be a whole number of at least 0, not 0.5"},
      {with(std::int64_t{1}), [](Settings& s) { s.whole("a", {}, 2); }, "a whole number of at least 2, not 1"},
      {with(std::int64_t{9}), [](Settings& s) { s.whole("a", {}, 0, 8); },
       "a must be a whole number from 0 to 8, not 9"},
      {with(1.0), [](Settings& s) { s.flag("a", true); }, "a must be True or False, not 1"},
      {with(true), [](Settings& s) { s.text("a"); }, "a must be text, not True"},
      {with(true), [](Settings& s) { s.number("a"); }, "a must be a number, not True"},
      {with(std::vector<double>{}), [](Settings& s) { s.numbers("a"); }, "a must be a number, or a list of them"},
      {with(std::string("b")), [](Settings& s) { s.numbers("a"); }, "a must be a number, or a list of them, not 'b'"},
      {with(2.0), [](Settings& s) { s.texts("a"); }, "a must be a list of texts, not 2"},
      {with(2.0), [](Settings& s) { s.number("b", 1.0); }, "no setting is called 'a'"},
      {{"Any", {"x"}, {}}, [](Settings& s) { s.number("mean"); }, "mean= is missing"},
      {{"Any", {"x"}, {}}, [](Settings& s) { s.whole("n", {}, 0); }, "n= is missing"},
      {{"Any", {"x"}, {}}, [](Settings& s) { s.text("t"); }, "t= is missing"},
      {{"Any", {"x"}, {}}, [](Settings& s) { s.numbers("l"); }, "l= is missing"},
      {{"Any", {"x"}, {}}, [](Settings& s) { s.texts("l"); }, "l= is missing"},
  };
  for (const Case& one : cases) {
    const std::string error = error_of(one.transform, one.read);
    EXPECT_NE(error.find(one.text), std::string::npos) << "'" << error << "' does not say: " << one.text;
    EXPECT_NE(error.find('x'), std::string::npos) << error;
  }
  // The first thing that is wrong, with the nearest name.
  const Transform two{"Any", {"x"}, {{"sacle", 1.0}}};
  EXPECT_NE(error_of(two, [](Settings& s) { s.number("scale", 1.0); }).find("Did you mean scale=?"), std::string::npos);
  EXPECT_NE(error_of(two,
                     [](Settings& s) {
                       s.refuse("first");
                       s.refuse("second");
                     })
                .find("first"),
            std::string::npos);
}

TEST(Settings, TransformsSayWhatTheyAre) {
  const Transform transform{"Clip",
                            {"x", "y"},
                            {{"a", 0.5},
                             {"b", std::int64_t{2}},
                             {"c", true},
                             {"d", std::string("t")},
                             {"e", std::vector<double>{1, 2.5}},
                             {"f", std::vector<std::string>{"u", "v"}}}};
  EXPECT_EQ(transform.text(), "Clip(x, y, a=0.5, b=2, c=True, d='t', e=[1, 2.5], f=['u', 'v'])");
}

// A table's column is part of states and of what is printed: as its length and a hash that tells it from others.
TEST(Settings, LongListsAreToldByAHash) {
  std::vector<double> column(33, 0.5);
  const std::string one = Transform{"Select", {"k"}, {{"indices", column}}}.text();
  EXPECT_TRUE(one.starts_with("Select(k, indices=[33 numbers, ")) << one;
  column[20] = 0.25;
  const std::string other = Transform{"Select", {"k"}, {{"indices", column}}}.text();
  EXPECT_NE(one, other);
  column.pop_back();
  const std::string listed = Transform{"Select", {"k"}, {{"indices", column}}}.text();
  EXPECT_NE(listed.find("0.5, 0.25, 0.5"), std::string::npos);
}

// Every transform refuses a setting that it does not know: it would be left out in silence otherwise.
TEST(Settings, EveryTransformRefusesWhatItDoesNotKnow) {
  for (const std::string& name : transform_names()) {
    Transform transform{name, {"x"}, {{"unheard_of", 1.0}}};
    const std::map<std::string, std::map<std::string, Setting>> needed = {
        {"Standardize", {{"mean", 0.0}, {"std", 1.0}}},
        {"Cast", {{"dtype", std::string("int8")}}},
        {"Relabel", {{"stored", std::vector<double>{1}}, {"labels", std::vector<double>{2}}}},
        {"Threshold", {{"at", 0.5}}},
        {"Join",
         {{"keys", std::vector{NumberColumn::of(std::vector<std::int64_t>{1})}},
          {"values", std::vector{NumberColumn::of(std::vector<std::int64_t>{2})}},
          {"names", std::vector<std::string>{"z"}}}},
        {"OneHot", {{"classes", std::int64_t{3}}}},
        {"Select", {{"indices", std::vector<double>{0}}}},
        {"Reshape", {{"shape", std::vector<double>{12}}}},
        {"Noise", {{"std", 1.0}}},
        {"Crop", {{"size", std::vector<double>{2, 2}}}},
        {"Contrast", {{"least", 0.8}, {"most", 1.2}}},
        {"Gamma", {{"least", 0.8}, {"most", 1.2}}},
    };
    if (const auto it = needed.find(name); it != needed.end())
      transform.settings.insert(it->second.begin(), it->second.end());
    std::vector<Field> inputs = {name == "OneHot" || name == "Relabel" || name == "Join" ? kY : kX};
    if (name == "SymmetricPairs") inputs[0].dims = Dims{6};
    if (name == "Rotate90" || name == "ShuffleAxes") inputs[0].dims = Dims{4, 4};
    const Result<CompiledTransform> made = compile_transform(transform, inputs);
    ASSERT_FALSE(made.ok()) << name;
    EXPECT_NE(made.error().message().find("no setting is called 'unheard_of'"), std::string::npos)
        << made.error().what();
    transform.settings.erase("unheard_of");
    const Result<CompiledTransform> right = compile_transform(transform, inputs);
    EXPECT_TRUE(right.ok()) << (right.ok() ? "" : right.error().what());
  }
}

}  // namespace
}  // namespace headrace
