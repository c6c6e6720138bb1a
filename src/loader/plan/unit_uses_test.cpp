#include "loader/plan/unit_uses.h"

#include <gtest/gtest.h>
#include <headrace/volumes.h>

#include <vector>

#include "base/testing/temporary_folder.h"
#include "format/testing/hdf5_files.h"
#include "loader/plan/plan_for.h"

namespace headrace {
namespace {

/// Patches of a volume of 8 x 8 x 8 chunks.
class UnitUsesOfCells : public ::testing::Test {
 protected:
  UnitUsesOfCells() {
    testing::Hdf5Writer(folder_.path("v.h5")).write("x", {.shape = {64, 64, 64}, .chunk = {8, 8, 8}, .gzip = 1});
  }
  [[nodiscard]] EnginePlan plan_of(const PatchOptions& options) const {
    const Dataset data = patches(open_volumes({folder_.path("v.h5")}, {.fields = {{"x", ""}}}), options);
    return plan_for(data, {.batch = Samples{4}, .order = BlockShuffle{}, .seed = 3}, std::uint64_t{1} << 30).value();
  }
  /// The units of every step of an epoch.
  static std::vector<std::vector<std::uint32_t>> units_of(const EnginePlan& plan, std::uint64_t epoch,
                                                          std::vector<Step>& steps) {
    std::vector<std::vector<std::uint32_t>> units;
    const auto cursor = plan.steps->cursor(epoch, 0);
    for (bool last = false; !last;) {
      std::vector<SampleRef> samples;
      std::vector<BlockRows> elsewhere;
      bool counted = true;
      steps.push_back(cursor->next(samples, elsewhere, counted));
      last = steps.back().last;
      std::vector<Part> parts;
      std::vector<std::uint32_t> ends;
      plan.map->expand(samples, {epoch, plan.seed}, parts, ends);
      units.emplace_back();
      for (const Part& part : parts) units.back().push_back(part.unit);
    }
    return units;
  }
  const TemporaryFolder folder_;
};

/// Against a walk through two epochs: uses that are nearer have smaller numbers, and those of equal steps equal ones.
TEST_F(UnitUsesOfCells, TellsWhichIsUsedSooner) {
  const PatchOptions cuts[] = {
      {.shape = {12, 12, 12}, .stride = {10, 10, 10}},
      {.shape = {12, 12, 12}, .samples_per_epoch = 120},
      {.shape = {12, 12, 12}, .samples_per_epoch = 120, .draws = PatchDraws::kIndependent},
  };
  for (const PatchOptions& cut : cuts) {
    const EnginePlan plan = plan_of(cut);
    UnitUses uses(plan.steps, plan.map, plan.seed, 32);
    std::vector<Step> steps;
    auto units = units_of(plan, 0, steps);
    const std::size_t of_first = units.size();
    for (auto& of_step : units_of(plan, 1, steps)) units.push_back(std::move(of_step));
    for (std::size_t s = 0; s < 200; ++s) (void)uses.next_use(0, 0, steps[0].end);  // it has looked at both epochs
    for (std::size_t s = 0; s + 1 < of_first; ++s) {
      std::vector<std::pair<std::size_t, std::uint64_t>> nearer;  // step, and what it says
      for (const std::uint32_t unit : units[s]) {
        std::size_t next = s + 1;
        while (next < units.size() && std::ranges::find(units[next], unit) == units[next].end()) ++next;
        if (next < units.size()) nearer.emplace_back(next, uses.next_use(unit, 0, steps[s].end));
      }
      for (const auto& [a, says_a] : nearer)
        for (const auto& [b, says_b] : nearer) ASSERT_EQ(a < b, says_a < says_b) << s << " " << a << " " << b;
    }
  }
}

/// An epoch that is begun once more is known as it was the first time.
TEST_F(UnitUsesOfCells, BeginsAnewWhereAnEpochDoes) {
  const EnginePlan plan = plan_of({.shape = {12, 12, 12}, .stride = {4, 4, 4}});
  UnitUses uses(plan.steps, plan.map, plan.seed, 32);
  std::vector<Step> steps;
  const auto units = units_of(plan, 0, steps);
  std::vector<std::uint64_t> first, again;  // counted from the first one
  for (std::vector<std::uint64_t>* const to : {&first, &again})
    for (std::size_t s = 0; s < units.size(); ++s)
      for (const std::uint32_t unit : units[s]) {
        const std::uint64_t next = uses.next_use(unit, 0, steps[s].end);
        if (s > 8 && s < units.size() / 2) to->push_back(to->empty() ? next : next - to->front());
      }
  EXPECT_GT(first.size(), 100u);
  EXPECT_LT(first.front(), again.front());
  first.front() = again.front();
  EXPECT_EQ(first, again);
}

}  // namespace
}  // namespace headrace
