// Data sets of files, made by verbs at random: what recipes are tested with.
#pragma once

#include <gtest/gtest.h>
#include <headrace/dataset.h>
#include <headrace/mix.h>
#include <headrace/spans.h>
#include <headrace/windows.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "format/testing/npy_files.h"

namespace headrace::testing {

/// Four .npy files of 200 rows each, whose values count on from file to file.
class RecipeTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kRows = 200;

  RecipeTest() {
    for (int i = 0; i < 4; ++i) write_npy<std::int64_t>(folder_.path(std::to_string(i) + ".npy"), kRows, i * 200);
  }

  [[nodiscard]] Dataset files(int first, int end) const {
    std::vector<std::string> paths;
    for (int i = first; i < end; ++i) paths.push_back(folder_.path(std::to_string(i) + ".npy"));
    return open(paths, {.fields = {{"a", "values"}, {"b", "values"}}});
  }

  /// Make a data set by a few verbs, drawn by rapidcheck: call it inside rc::check().
  [[nodiscard]] Dataset random_data() const {
    Dataset data = files(0, *rc::gen::inRange(1, 3));
    if (*rc::gen::inRange(0, 3) == 0) {
      const std::uint64_t length = *rc::gen::inRange(1, 90), stride = *rc::gen::inRange(1, 40);
      const std::uint64_t lookahead = *rc::gen::inRange(0, 3);
      data = windows(data, {length, *rc::gen::element<std::optional<std::uint64_t>>(std::nullopt, stride), lookahead,
                            *rc::gen::arbitrary<bool>()});
      return with_verbs(std::move(data));
    }
    if (*rc::gen::inRange(0, 3) == 0) return with_verbs(random_spans(data));
    data = with_verbs(std::move(data));
    if (*rc::gen::inRange(0, 3) == 0) {
      const double weight = *rc::gen::element(0.0, 0.3, 2.0);
      const auto names = std::vector<std::string>{"b"};
      data = mix({{"one", data.choose(names), weight}, {"another", with_verbs(files(2, 4)).choose(names), 2 * weight}},
                 {*rc::gen::element(1.0, 2.5), *rc::gen::element(MixStop::kFirst, MixStop::kAll),
                  *rc::gen::element<std::uint64_t>(0, 77)});
    }
    return data;
  }

  const TemporaryFolder folder_;

 private:
  /// Select some of the rows, each with a chance of a half, the first one in any case.
  static Dataset some_rows(const Dataset& data) {
    std::vector<std::uint64_t> rows{0};
    for (std::uint64_t row = 1; row < data.size(); ++row)
      if (*rc::gen::inRange(0, 2) == 0) rows.push_back(row);
    return data.select(rows);
  }

  /// Samples of any length, also none, that end with their file; rows at both ends may be left out.
  static Dataset random_spans(const Dataset& data) {
    if (*rc::gen::inRange(0, 4) == 0) return spans(data, {.key = data.choose(std::vector<std::string>{"b"})});
    std::vector<std::uint64_t> offsets;
    for (int n = *rc::gen::inRange(2, 30); n > 0; --n)
      offsets.push_back(*rc::gen::inRange<std::uint64_t>(0, data.size() + 1));
    for (std::uint64_t end = kRows; end < data.size(); end += kRows) offsets.push_back(end);
    std::ranges::sort(offsets);
    return spans(data, {.offset_list = offsets});
  }

  static Dataset with_verbs(Dataset data) {
    for (int verbs = *rc::gen::inRange(0, 4); verbs > 0; --verbs) {
      if (*rc::gen::inRange(0, 3) > 0) {
        data = some_rows(data);
      } else {
        std::vector<std::string> names{"b"};
        if (data.fields().size() > 1 && *rc::gen::arbitrary<bool>()) names.emplace_back("a");
        data = data.choose(names);
      }
    }
    return data;
  }
};

}  // namespace headrace::testing
