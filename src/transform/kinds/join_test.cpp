// Join: what a table has for a number, wherever its keys lie.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <cstring>
#include <limits>
#include <map>

#include "transform/testing/run_program.h"

namespace headrace {
namespace {

template <class Value = double>
Transform join(const std::vector<double>& keys, const std::vector<Value>& values) {
  return {"Join",
          {"k"},
          {{"keys", std::vector{NumberColumn::of(keys)}},
           {"values", std::vector{NumberColumn::of(values)}},
           {"names", std::vector<std::string>{"v"}}}};
}

const Field kKey{"k", "k", {DType::Kind::kInt, 8}, {}, {}};

Result<std::shared_ptr<const Program>> program_of(const Field& key, Transform transform) {
  return Program::make(testing::columns_of({key}), {std::move(transform)});
}

std::string error_of(const Field& key, Transform transform) {
  const auto made = program_of(key, std::move(transform));
  return made.ok() ? "" : made.error().what();
}

TEST(Join, FindsWhatTheTableHas) {
  EXPECT_TRUE(rc::check([] {
    const auto spread =
        *rc::gen::element<std::int64_t>(1, 3, 1'000, 1'000'000'000'007);  // dense tables, and hashed ones
    std::map<std::int64_t, double> table;
    for (std::size_t n = *rc::gen::inRange<std::size_t>(1, 60); n > 0; --n)
      table[*rc::gen::inRange<std::int64_t>(-500, 500) * spread] = static_cast<double>(n);
    std::vector<double> keys, values;
    for (const auto& [key, value] : table) keys.push_back(static_cast<double>(key)), values.push_back(value);
    const bool has_default = *rc::gen::arbitrary<bool>();
    Transform transform = join(keys, values);
    if (has_default) transform.settings["otherwise"] = -1.0;
    const std::shared_ptr<const Program> program = *program_of(kKey, transform);
    std::vector<std::int64_t> rows;
    for (std::size_t n = *rc::gen::inRange<std::size_t>(1, 700); n > 0; --n) {
      const auto at = std::next(table.begin(), *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(table)));
      rows.push_back(at->first + (has_default && n % 5 == 0 ? 1 : 0));
    }
    testing::Arrays columns(1);
    columns[0].resize(rows.size() * 8);
    std::memcpy(columns[0].data(), rows.data(), columns[0].size());
    const testing::Arrays fields = testing::run_program(*program, columns, rows.size(), {});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      double value = 0;
      std::memcpy(&value, fields[1].data() + i * 8, 8);
      const auto found = table.find(rows[i]);
      RC_ASSERT(value == (found == table.end() ? -1.0 : found->second));
    }
  }));
}

TEST(Join, TellsAKeyThatIsMissing) {
  for (const double far : {3.0, 1e15}) {  // dense, and hashed
    const std::shared_ptr<const Program> program = *program_of(kKey, join<double>({1, far}, {10, 20}));
    for (const std::int64_t key : {std::int64_t{0}, std::int64_t{2}, std::numeric_limits<std::int64_t>::min(),
                                   std::numeric_limits<std::int64_t>::max()}) {
      const auto* const row = reinterpret_cast<const std::byte*>(&key);
      std::int64_t copy = 0;
      double value = 0;
      std::array<std::byte*, 2> arrays{reinterpret_cast<std::byte*>(&copy), reinterpret_cast<std::byte*>(&value)};
      const Status done = program->target(0).row->run({}, {&row, 1}, arrays.data(), 0);
      ASSERT_FALSE(done.ok());
      EXPECT_NE(done.error().message().find(fmt::format("the table has no row for the k {}", key)), std::string::npos)
          << done.error().message();
    }
  }
}

TEST(Join, RefusesTablesThatSayTwoThings) {
  EXPECT_NE(error_of(kKey, join<double>({1, 2, 1}, {1, 2, 3})).find("two rows for the key 1"), std::string::npos);
  EXPECT_NE(error_of(kKey, join<double>({1, 1e15, 1}, {1, 2, 3})).find("two rows for the key 1"), std::string::npos);
  EXPECT_NE(error_of(kKey, join<double>({1, 2.5}, {1, 2})).find("2.5, which is no whole number"), std::string::npos);
  EXPECT_NE(error_of(kKey, join<double>({1, std::numeric_limits<double>::quiet_NaN()}, {1, 2})).find("no whole number"),
            std::string::npos);
  EXPECT_NE(error_of(kKey, join<double>({1, 2}, {1, 2, 3})).find("do not make a table"), std::string::npos);
  Field real = kKey;
  real.dtype = {DType::Kind::kFloat, 4};
  EXPECT_NE(error_of(real, join<double>({1, 2}, {1, 2})).find("keys are whole numbers"), std::string::npos);
  Transform narrow = join<std::uint8_t>({1, 2}, {1, 200});
  narrow.settings["otherwise"] = 300.0;
  EXPECT_NE(error_of(kKey, narrow).find("300 of 'v' is no uint8"), std::string::npos);
}

}  // namespace
}  // namespace headrace
