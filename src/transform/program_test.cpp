// Programs: whichever way a column's rows come, and whatever is put together, a batch has the bytes that the transforms
// give one after the other.
#include "transform/program.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "transform/testing/run_program.h"

namespace headrace {
namespace {

using testing::Arrays;
using testing::columns_of;
using testing::run_program;

const std::vector<Field> kFields = {{"x", "x", {DType::Kind::kFloat, 4}, Dims{4, 3}, {}},
                                    {"u", "u", {DType::Kind::kUInt, 1}, Dims{2, 6}, {}},
                                    {"d", "d", {DType::Kind::kFloat, 8}, {}, {}},
                                    {"w", "w", {DType::Kind::kInt, 2}, Dims{6}, {}}};
constexpr std::size_t kProgramRows = 7;

Arrays random_rows(std::mt19937& random) {
  Arrays arrays;
  for (const Field& field : kFields) {
    std::vector<std::byte>& bytes = arrays.emplace_back(kProgramRows * field.row_bytes());
    for (std::size_t i = 0; i < kProgramRows * field.row_elements(); ++i) {
      const double value = 1 + static_cast<int>(random() % 40);
      if (field.name == "x")
        reinterpret_cast<float*>(bytes.data())[i] = static_cast<float>(value / 3);
      else if (field.name == "d")
        reinterpret_cast<double*>(bytes.data())[i] = value / 7;
      else if (field.name == "w")
        reinterpret_cast<std::int16_t*>(bytes.data())[i] = static_cast<std::int16_t>(value - 20);
      else
        bytes[i] = static_cast<std::byte>(static_cast<int>(value));
    }
  }
  return arrays;
}

/// Some transform of some field; whether the field can take it shows when it is compiled.
Transform random_transform(std::mt19937& random, const std::vector<Field>& fields) {
  const auto any_field = [&] { return fields[random() % fields.size()].name; };
  std::vector<Transform> kinds = {
      {"Affine", {any_field()}, {{"scale", 1.5}, {"shift", 0.1}}},
      {"Standardize", {any_field()}, {{"mean", 0.3}, {"std", 0.7}, {"clip", 9.5}}},
      {"Log", {any_field()}, {{"offset", 40.0}}},
      {"Clip", {any_field()}, {{"least", 0.5}, {"most", 12.0}}},
      {"Cast",
       {any_field()},
       {{"dtype", std::vector<std::string>{"float16", "float64", "bfloat16", "int32", "float32"}[random() % 5]}}},
      {"Mask", {any_field()}, {{"to", std::string("m")}, {"fill", 2.0}, {"count", std::string("n")}}},
      {"SymmetricPairs", {any_field()}, {}},
      {"Reshape", {any_field()}, {{"shape", std::vector<double>{-1}}}},
      {"Transpose", {any_field()}, {}},
      {"Select", {any_field()}, {{"indices", std::vector<double>{2, 0, 0}}}},
      {"Noise", {any_field()}, {{"std", 0.25}, {"seed", std::int64_t{4}}}},
      {"SpecAugment", {any_field()}, {{"time", std::int64_t{2}}, {"freq", std::int64_t{1}}}},
      {"Flip", {any_field(), any_field()}, {}},
      {"Concat", {any_field(), any_field()}, {{"to", std::string("c")}}},
      {"Drop", {any_field()}, {}},
      {"Mirror", {}, {}},
      {"Mirror", {any_field()}, {{"axes", std::vector<double>{-1}}}},
      {"ShuffleAxes", {any_field()}, {}},
      {"Contrast", {any_field()}, {{"least", 0.5}, {"most", 2.0}}},
      {"Gamma", {any_field()}, {{"least", 0.5}, {"most", 2.0}}},
  };
  Transform made = kinds[random() % kinds.size()];
  const bool renames = made.name != "Mask" && made.name != "Flip" && made.name != "Concat" && made.name != "Drop" &&
                       made.name != "Mirror" && made.name != "ShuffleAxes";
  if (renames && random() % 3 == 0) made.settings["to"] = std::string(1, static_cast<char>('p' + random() % 3));
  return made;
}

std::vector<Program::Column> columns(const std::vector<Field>& fields, bool cut) {
  std::vector<Program::Column> made = columns_of(fields);
  for (Program::Column& column : made) column.is_cut = cut;
  return made;
}

TEST(Program, FusedStagedAndOneAfterTheOtherAreTheSame) {
  std::mt19937 random(9);
  const SampleKey key{11, 3, 0};
  std::size_t fused = 0, staged = 0, transforms = 0, merged = 0;
  for (int round = 0; round < 400; ++round) {
    const Arrays rows = random_rows(random);
    std::vector<Transform> chosen;
    std::vector<Field> fields = kFields;
    Arrays by_steps = rows;
    for (std::size_t tries = 0; tries < 12 && chosen.size() < 6; ++tries) {
      const Transform transform = random_transform(random, fields);
      const Result<std::shared_ptr<const Program>> step = Program::make(columns(fields, false), {transform});
      if (!step.ok()) continue;
      by_steps = run_program(**step, by_steps, kProgramRows, key);
      fields = (*step)->fields();
      chosen.push_back(transform);
    }
    transforms += chosen.size();
    for (const bool cut : {false, true}) {
      const Result<std::shared_ptr<const Program>> made = Program::make(columns(kFields, cut), chosen);
      ASSERT_TRUE(made.ok()) << made.error().what();
      const Program& program = **made;
      SCOPED_TRACE(program.identity());
      ASSERT_EQ(program.fields().size(), fields.size());
      const Arrays got = run_program(program, rows, kProgramRows, key);
      for (std::size_t f = 0; f < fields.size(); ++f) {
        EXPECT_EQ(program.fields()[f].name, fields[f].name);
        EXPECT_EQ(program.fields()[f].dtype, fields[f].dtype);
        EXPECT_EQ(program.fields()[f].dims, fields[f].dims);
        ASSERT_EQ(got[f], by_steps[f]) << fields[f].name;
      }
      for (std::size_t i = 0; i < program.needed().size(); ++i)
        if (const RowProgram* row = program.target(i).row) {
          EXPECT_FALSE(cut);
          ++fused;
          merged += row->scratch_bytes() == 0;
        }
      staged += program.staged().size();
    }
  }
  EXPECT_GT(transforms, 1000u);
  EXPECT_GT(fused, 100u);
  EXPECT_GT(staged, 100u);
  EXPECT_GT(merged, 100u);
}

TEST(Program, ArithmeticInARowNeedsNothingBetween) {
  const std::vector<Transform> chain = {{"Affine", {"x"}, {{"scale", 3.0}}},
                                        {"Log", {"x"}, {}},
                                        {"Clip", {"x"}, {{"most", 2.0}}},
                                        {"Cast", {"x"}, {{"dtype", std::string("float16")}}}};
  EXPECT_EQ((*Program::make(columns(kFields, false), chain))->scratch_bytes(), 0u);
  // What lies between is rounded to 16 bits, or is delivered too: nothing is put together.
  std::vector<Transform> rounded = chain;
  rounded.insert(rounded.begin() + 1, {"Cast", {"x"}, {{"dtype", std::string("float16")}}});
  EXPECT_GT((*Program::make(columns(kFields, false), rounded))->scratch_bytes(), 0u);
  std::vector<Transform> kept = chain;
  kept[1].settings["to"] = std::string("log");
  std::mt19937 random(3);
  const Arrays got = run_program(**Program::make(columns(kFields, false), kept), random_rows(random), kProgramRows, {});
  EXPECT_EQ(got.size(), kFields.size() + 1);
}

TEST(Program, LeavesOutColumnsThatNobodyNeeds) {
  const auto needed = [](std::vector<Transform> transforms) {
    const Result<std::shared_ptr<const Program>> made = Program::make(columns(kFields, false), std::move(transforms));
    EXPECT_TRUE(made.ok()) << made.error().what();
    return made.ok() ? (*made)->needed() : std::vector<std::size_t>{};
  };
  EXPECT_EQ(needed({}), (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(needed({{"Keep", {"w", "d"}, {}}}), (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(needed({{"Drop", {"u"}, {}}}), (std::vector<std::size_t>{0, 2, 3}));
  EXPECT_EQ(needed({{"Mask", {"x"}, {}}, {"Affine", {"d"}, {}}, {"Keep", {"mask"}, {}}}),
            (std::vector<std::size_t>{0}));
}

TEST(Program, SaysWhereColumnsGo) {
  const Result<std::shared_ptr<const Program>> made =
      Program::make(columns(kFields, false), {{"Mask", {"x"}, {}}, {"Affine", {"w"}, {}}, {"Drop", {"u"}, {}}});
  ASSERT_TRUE(made.ok());
  const Program& program = **made;
  ASSERT_EQ(program.needed(), (std::vector<std::size_t>{0, 2, 3}));
  EXPECT_NE(program.target(0).row, nullptr);  // a copy and the mask at once
  EXPECT_EQ(program.target(1).row, nullptr);  // d as it is
  EXPECT_EQ(program.target(1).array, 1u);     // fields are x, d, w, mask
  EXPECT_NE(program.target(2).row, nullptr);
  EXPECT_EQ(program.target(2).array, 2u);
  EXPECT_EQ(program.origin(0), 0u);
  EXPECT_EQ(program.origin(2), 2u);
  EXPECT_FALSE(program.origin(3).has_value());
  EXPECT_TRUE(program.staged_fields().empty());
  const Result<std::shared_ptr<const Program>> cut = Program::make(columns(kFields, true), {{"Affine", {"w"}, {}}});
  ASSERT_TRUE(cut.ok());
  ASSERT_EQ((*cut)->staged_fields().size(), 1u);  // w as it is stored
  EXPECT_EQ((*cut)->staged_fields()[0].dtype, (DType{DType::Kind::kInt, 2}));
}

TEST(Program, RowsWithoutBytesAreNotTransformedWhileTheyAreCopied) {  // their addresses do not tell them apart
  const std::vector<Field> fields = {{"e", "e", {DType::Kind::kFloat, 4}, Dims{0, 3}, {}}};
  const Result<std::shared_ptr<const Program>> made = Program::make(columns(fields, false), {{"Affine", {"e"}, {}}});
  ASSERT_TRUE(made.ok()) << made.error().what();
  EXPECT_EQ((*made)->target(0).row, nullptr);
  EXPECT_EQ((*made)->staged().size(), 1u);
}

// Rows of a ragged field are samples of a transform: any number of them at once gives what one by one does.
TEST(Program, RowsOfRaggedFieldsGoTogether) {
  constexpr std::size_t kPulses = 3000;  // several tiles
  const std::vector<Program::Column> given{{{"a", "a", {DType::Kind::kFloat, 4}, {2}}, false, true},
                                           {{"b", "b", {DType::Kind::kInt, 2}, {}}, false, true},
                                           {{"y", "y", {DType::Kind::kFloat, 4}, {}}, false, false}};
  const std::vector<Transform> transforms{
      {"Affine", {"a"}, {{"scale", std::vector<double>{2, 3}}}},
      {"Cast", {"b"}, {{"dtype", std::string("float32")}}},
      {"Reshape", {"b"}, {{"shape", std::vector<double>{1}}}},
      {"Concat", {"a", "b"}, {{"to", std::string("ab")}}},
      {"Affine", {"y"}, {{"shift", 1.0}}},
  };
  const Result<std::shared_ptr<const Program>> made = Program::make(given, transforms);
  ASSERT_TRUE(made.ok()) << made.error().what();
  const Program& program = **made;
  ASSERT_EQ(program.fields().size(), 2u);
  EXPECT_EQ(program.fields()[1].dims, (Dims{Dims::kRagged, 3}));
  EXPECT_EQ(program.fields()[1].row_bytes(), 12u);
  EXPECT_FALSE(program.fields()[0].dims.is_ragged());
  ASSERT_EQ(program.staged().size(), 1u);
  const Program::Staged& staged = program.staged()[0];
  ASSERT_TRUE(staged.is_ragged);
  std::vector<float> a(2 * kPulses), y(1), out(3 * (kPulses + 5), -1);
  std::vector<std::int16_t> b(kPulses);
  for (std::size_t i = 0; i < kPulses; ++i) {
    a[2 * i] = static_cast<float>(i), a[2 * i + 1] = static_cast<float>(i) + 0.5F;
    b[i] = static_cast<std::int16_t>(i);
  }
  const std::vector<const std::byte*> columns{reinterpret_cast<const std::byte*>(a.data()),
                                              reinterpret_cast<const std::byte*>(b.data())};
  std::vector<std::byte*> arrays(program.fields().size() + program.staged_fields().size());
  arrays[1] = reinterpret_cast<std::byte*>(out.data());
  ASSERT_TRUE(staged.program->run({}, columns, arrays.data(), 5, kPulses).ok());
  for (std::size_t i = 0; i < 15; ++i) EXPECT_EQ(out[i], -1);  // rows of the sample before
  for (std::size_t i = 0; i < kPulses; ++i) {
    const float* const row = out.data() + 3 * (i + 5);
    ASSERT_EQ(row[0], 2 * a[2 * i]) << i;
    ASSERT_EQ(row[1], 3 * a[2 * i + 1]) << i;
    ASSERT_EQ(row[2], static_cast<float>(b[i])) << i;
  }
}

TEST(Program, RefusesRaggedFieldsWhereAWholeSampleIsNeeded) {
  const std::vector<Program::Column> given{{{"a", "a", {DType::Kind::kFloat, 4}, {4}}, false, true},
                                           {{"y", "y", {DType::Kind::kFloat, 4}, {4}}, false, false}};
  const auto error = [&](Transform transform) -> std::string {
    const Result<std::shared_ptr<const Program>> made = Program::make(given, {std::move(transform)});
    return made.ok() ? "" : made.error().what();
  };
  for (const char* const name : {"Noise", "Flip", "MixUp", "Transpose", "SpecAugment"}) {
    Transform transform{name, {"a"}, {}};
    if (transform.name == "Noise") transform.settings["std"] = 1.0;
    if (transform.name == "Flip") transform.settings["axis"] = std::int64_t{-1};
    EXPECT_NE(error(transform), "") << name;
  }
  EXPECT_NE(error({"Noise", {"a"}, {{"std", 1.0}}}).find("differ in their number of rows"), std::string::npos);
  EXPECT_NE(error({"Concat", {"a", "y"}, {}}).find("'a' is ragged (any number of rows a sample), and 'y' is not"),
            std::string::npos);
  EXPECT_NE(error({"Concat", {"y", "a"}, {}}).find("'a' is ragged (any number of rows a sample), and 'y' is not"),
            std::string::npos);
  EXPECT_EQ(error({"Keep", {"a", "y"}, {}}), "");
}

TEST(Program, RefusesWhatCannotBe) {
  const auto error = [](std::vector<Transform> transforms) -> std::string {
    const Result<std::shared_ptr<const Program>> made = Program::make(columns(kFields, false), std::move(transforms));
    return made.ok() ? "" : made.error().what();
  };
  const auto expect = [&](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' does not say: " << part;
  };
  expect(error({{"Affine", {"z"}, {}}}), "Affine: no field 'z'");
  expect(error({{"Affine", {}, {}}}), "Affine: names no field");
  expect(error({{"Afine", {"x"}, {}}}), "no transform is called 'Afine'");
  expect(error({{"Drop", {"x", "u", "d", "w"}, {}}}), "no field is left to deliver");
  expect(error({{"Keep", {"x", "x"}, {}}}), "'x' is named twice");
  expect(error({{"Drop", {"x"}, {}}, {"Affine", {"x"}, {}}}), "Affine: no field 'x'");
  expect(error({{"MixUp", {"x"}, {}}, {"Affine", {"x"}, {}}}), "mixed with other samples before");
  expect(error({{"MixUp", {"x"}, {}}, {"Reshape", {"x"}, {{"shape", 12.0}, {"to", std::string("z")}}}}),
         "mixed with other samples before");
  expect(error({{"MixUp", {"x"}, {}}, {"Cast", {"d"}, {{"dtype", std::string("int8")}, {"to", std::string("x")}}}}),
         "mixed with other samples before");
  expect(error({{"MixUp", {"w"}, {}}}), "values have no means");
  expect(error({{"SymmetricPairs", {"w"}, {{"sentinel", 40000.0}}}}), "no value of type int16 is");
  expect(error({{"Reshape", {"w"}, {{"shape", std::vector<double>{2.5, 3}}}}}), "a whole number");
  expect(error({{"Reshape", {"w"}, {{"shape", std::vector<double>{-2, -3}}}}}), "a whole number");
  expect(error({{"Select", {"w"}, {{"indices", std::nan("")}}}}), "a whole number");
}

TEST(Program, NothingIsMixedOfFieldsThatAreNotDelivered) {
  const auto mixed = [](std::vector<Transform> transforms) {
    return (*Program::make(columns(kFields, false), std::move(transforms)))->mixed();
  };
  EXPECT_TRUE(mixed({{"MixUp", {"x"}, {}}, {"Drop", {"x"}, {}}}).empty());
  EXPECT_TRUE(mixed({{"MixUp", {"x"}, {}}, {"Keep", {"d"}, {}}}).empty());
  const auto one = mixed({{"MixUp", {"x", "d"}, {}}, {"Drop", {"x"}, {}}});
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].arrays, std::vector<std::size_t>{1});  // fields are u, d, w
}

TEST(Program, AFieldThatTookThePlaceOfAnotherIsNotItsColumn) {
  const std::string x = "x", z = "z";
  const auto program = *Program::make(
      columns(kFields, false), {{"Affine", {"d"}, {{"to", z}}}, {"Affine", {"z"}, {{"to", x}}}, {"Keep", {"x"}, {}}});
  EXPECT_FALSE(program->origin(0).has_value());
}

TEST(Program, AStepTakesAnyNumberOfFields) {
  std::vector<Field> fields;
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) {
    names.push_back(fmt::format("f{}", i));
    fields.push_back({names.back(), names.back(), {DType::Kind::kUInt, 1}, {}, {}});
  }
  const auto program = *Program::make(columns(fields, false), {{"Concat", names, {}}});
  Arrays rows;
  for (int i = 0; i < 40; ++i) rows.push_back({static_cast<std::byte>(i), static_cast<std::byte>(100 + i)});
  const Arrays made = run_program(*program, rows, 2, {});
  ASSERT_EQ(made.size(), 1u);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(made[0][static_cast<std::size_t>(i)], static_cast<std::byte>(i));
    EXPECT_EQ(made[0][static_cast<std::size_t>(40 + i)], static_cast<std::byte>(100 + i));
  }
}

TEST(Program, ErrorsOfASampleNameTransformAndSample) {
  const Result<std::shared_ptr<const Program>> made =
      Program::make(columns(kFields, false),
                    {{"Relabel", {"w"}, {{"stored", std::vector<double>{1}}, {"labels", std::vector<double>{0}}}}});
  ASSERT_TRUE(made.ok()) << made.error().what();
  const std::vector<std::int16_t> row = {1, 1, 5, 1, 1, 1};
  const auto* column = reinterpret_cast<const std::byte*>(row.data());
  std::vector<std::int64_t> out(6);
  std::vector<std::byte*> arrays((*made)->fields().size(), reinterpret_cast<std::byte*>(out.data()));
  const Status done = (*made)->target(3).row->run({1, 2, 345}, {&column, 1}, arrays.data(), 0);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code(), ErrorCode::kCorruptData);
  EXPECT_NE(std::string(done.error().what()).find("Relabel(w"), std::string::npos) << done.error().what();
  EXPECT_NE(std::string(done.error().what()).find("sample 345"), std::string::npos) << done.error().what();
}

TEST(Program, ATransformChangesTheIdentity) {
  const auto identity = [](std::vector<Transform> transforms) {
    return (*Program::make(columns(kFields, false), std::move(transforms)))->identity();
  };
  EXPECT_NE(identity({{"Affine", {"x"}, {{"scale", 2.0}}}}), identity({{"Affine", {"x"}, {{"scale", 3.0}}}}));
  EXPECT_NE(identity({{"Affine", {"x"}, {}}}), identity({{"Affine", {"d"}, {}}}));
  EXPECT_NE(identity({}), identity({{"Drop", {"x"}, {}}}));
  EXPECT_EQ(identity({{"Mask", {"x"}, {}}}), identity({{"Mask", {"x"}, {}}}));
}

}  // namespace
}  // namespace headrace
