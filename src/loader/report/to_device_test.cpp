#include "loader/report/to_device.h"

#include <gtest/gtest.h>

#include "loader/plan/window_need.h"

namespace headrace {
namespace {

Report::ToDevice copies_of(double step_wait_seconds) {
  Report::ToDevice copies;
  copies.name = "cuda:0";
  copies.batches = 100, copies.bytes = 20'000'000'000;
  copies.copy_seconds = 1, copies.stage_seconds = 2, copies.buffer_wait_seconds = 1, copies.batch_wait_seconds = 3;
  copies.step_wait_seconds = step_wait_seconds, copies.step_seconds = 10, copies.by_events = true;
  copies.pinned_bytes_per_second = 24.8e9, copies.pageable_bytes_per_second = 6.2e9;
  copies.buffers = 3, copies.buffer_bytes = 41 << 20;
  return copies;
}

Report report_of(const Report::ToDevice& copies) {
  Report report;
  report.verdict = "loading is your limit: the consumer waited 30 %";
  report.advice = {"threads=8"};
  report.add_to_device(copies);
  return report;
}

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(ToDevice, TheVerdictIsByWhatTheStepWaited) {
  const Report fine = report_of(copies_of(0.02));
  EXPECT_EQ(fine.verdict, "loading is not your limit: the step waited 0.2 % of the time for its batch");
  EXPECT_TRUE(fine.advice.empty());
  const Report slow = report_of(copies_of(3));
  EXPECT_EQ(slow.verdict,
            "the step waited 30 % of the time for its batch: loading is your limit: the consumer waited 30 %");
  EXPECT_EQ(slow.advice.size(), 1u);
}

TEST(ToDevice, CopiesMayBeTheLimit) {
  Report::ToDevice copies = copies_of(1);
  copies.copy_seconds = 4;
  const Report wire = report_of(copies);
  EXPECT_TRUE(
      says(wire.verdict, "partly your limit: the step waited 10 % of the time, mostly for the copies to cuda:0"))
      << wire.verdict;
  EXPECT_TRUE(says(wire.verdict, "(5.0 GB/s)")) << wire.verdict;
  EXPECT_TRUE(says(wire.advice.at(0), "fewer bytes"));
  copies.bytes *= 5;
  EXPECT_TRUE(says(report_of(copies).verdict, "(25.0 GB/s, the most that it takes)"));
  copies.copy_seconds = 0, copies.buffer_wait_seconds = 5;  // no event of a copy has come yet
  EXPECT_TRUE(says(report_of(copies).verdict, "mostly for the copies"));
  copies.buffer_wait_seconds = 0, copies.stage_seconds = 6;
  EXPECT_TRUE(says(report_of(copies).verdict, "page-locked memory"));
}

TEST(ToDevice, NothingWasCopiedYet) {
  const Report report = report_of({});
  EXPECT_TRUE(says(report.verdict, "the consumer waited"));
  EXPECT_TRUE(report.to_device.has_value());
}

TEST(ToDevice, OneLineAndJson) {
  EXPECT_EQ(to_device_text(copies_of(0.02)),
            "cuda:0: 20.0 GB/s of 24.8 pinned (6.2 pageable); the step waited 0.2 % (by events); pinned 3 x 41.0 MiB");
  Report::ToDevice copies = copies_of(0.02);
  copies.copy_seconds = 0, copies.pinned_bytes_per_second = 0, copies.by_events = false, copies.larger_batches = 2;
  EXPECT_EQ(
      to_device_text(copies),
      "cuda:0: 18.6 GiB; the step waited 0.2 % (by the host's clock); pinned 3 x 41.0 MiB, 2 batches were larger");
  EXPECT_TRUE(says(report_of(copies).text(), "TO DEVICE  cuda:0: 18.6 GiB"));
  EXPECT_TRUE(says(report_of(copies).json(), "\"larger_batches\": 2"));
}

TEST(ToDevice, BuffersArePlannedAsTorchHandsThemOut) {
  EXPECT_EQ(staging_bytes({}, 1000), 0u);
  EXPECT_EQ(staging_bytes({.staged_batches = 3}, 0), 16384u);
  EXPECT_EQ(staging_bytes({.staged_batches = 3}, 41 << 20), 128u << 20);
}

}  // namespace
}  // namespace headrace
