#include "loader/option_rules.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "loader/loader_settings.h"

namespace headrace {
namespace {

std::string refusal(const LoaderOptions& options) {
  const Status status = check_options(options);
  return status.ok() ? "" : status.error().message();
}

std::shared_ptr<const SamplerChoice> listed(std::vector<std::uint64_t> batch_rows) {
  return std::make_shared<const SamplerChoice>(Listed{{3, 1, 2}, true, std::move(batch_rows)});
}

TEST(OptionRules, WhatGoesTogether) {
  EXPECT_EQ(refusal({.batch_size = 8}), "");
  EXPECT_EQ(refusal({.batch_size = 8, .shuffle = true, .shuffle_buffer = {4, 2, 0}}), "");
  EXPECT_EQ(refusal({.global_batch_size = 8, .rank = 1, .world_size = 2}), "");
  EXPECT_EQ(refusal({.batch_size = 8, .sampler = listed({})}), "");
  EXPECT_EQ(refusal({.sampler = listed({1, 2})}), "");
  EXPECT_EQ(refusal({.group_by = GroupBy{"file", 10, true}}), "");
  EXPECT_EQ(refusal({.shuffle = true, .tail = Tail::kDrop, .by_tokens = ByTokens{64}}), "");
}

TEST(OptionRules, EachContradictionHasItsText) {
  const GroupBy groups{"file"};
  const std::vector<std::pair<LoaderOptions, std::string>> cases = {
      {{}, "batch_size is missing"},
      {{.sampler = listed({})}, "batch_size is missing"},
      {{.batch_size = 8, .global_batch_size = 8}, "exclude each other"},
      {{.batch_size = std::uint64_t{1} << 32}, "below 2^32"},
      {{.batch_size = 8, .shuffle = true, .sampler = listed({})}, "exclude each other"},
      {{.batch_size = 8, .shuffle_buffer = {4, 2, 0}}, "another order"},
      {{.batch_size = 8, .shuffle = Shuffle::kExact, .shuffle_buffer = {0, 0, 9}}, "another order"},
      {{.batch_size = 8, .shuffle = true, .shuffle_buffer = {4, 2, 9}}, "not both"},
      {{.batch_size = 8, .shuffle = true, .shuffle_buffer = {4, 0, 0}}, "at least one stream"},
      {{.batch_size = 8, .shuffle = true, .shuffle_buffer = {1 << 17, 1, 0}}, "at most 65536 streams"},
      {{.batch_size = 8, .rank = 1}, "rank= needs world_size="},
      {{.batch_size = 8, .world_size = 1}, "world_size= needs rank="},
      {{.batch_size = 8, .rank = 2, .world_size = 2}, "out of range"},
      {{.batch_size = 8, .rank = 0, .world_size = 0}, "world_size must be at least 1"},
      {{.batch_size = 8, .cache = {CacheChoice::kNone, {}}, .share = Share::kHost}, "share"},
      {{.batch_size = 8, .timeout = std::chrono::nanoseconds(-1)}, "timeout"},
      {{.batch_size = 8, .sampler = listed({1, 2})}, "sets the size of each batch"},
      {{.tail = Tail::kPad, .sampler = listed({1, 2})}, "tail= do not apply"},
      {{.group_by = GroupBy{}}, "group_by is missing"},
      {{.group_by = GroupBy{"file", 0}}, "max_items must be 1 to"},
      {{.batch_size = 8, .group_by = groups}, "whole groups"},
      {{.global_batch_size = 8, .group_by = groups}, "whole groups"},
      {{.shuffle = true, .group_by = groups}, "not their samples"},
      {{.shuffle_buffer = {4, 2, 0}, .group_by = groups}, "shuffled whole"},
      {{.tail = Tail::kDrop, .group_by = groups}, "tail= do not apply"},
      {{.group_by = groups, .sampler = listed({})}, "exclude each other"},
      {{.batch_size = 8, .by_tokens = ByTokens{64}}, "a token budget sets"},
      {{.global_batch_size = 8, .by_tokens = ByTokens{64}}, "a token budget sets"},
      {{.group_by = groups, .by_tokens = ByTokens{64}}, "a token budget sets"},
      {{.by_tokens = ByTokens{64}, .sampler = listed({1, 2})}, "a token budget sets"},
      {{.by_tokens = ByTokens{}}, "tokens must be 1 to 2147483647, not 0"},
      {{.by_tokens = ByTokens{64, std::uint64_t{1} << 32}}, "max_samples must be"},
      {{.by_tokens = ByTokens{64, 0, ByTokens::kError, 1 << 17}}, "lanes must be"},
      {{.by_tokens = ByTokens{64, 0, ByTokens::kError, 0, 0}}, "lookahead must be"},
  };
  for (const auto& [options, text] : cases) {
    const std::string said = refusal(options);
    EXPECT_NE(said.find(text), std::string::npos) << "'" << said << "' instead of '" << text << "'";
  }
}

TEST(OptionRules, ABudgetIsTheTextThatItIsReadFrom) {
  const Member& option = *spec<LoaderSettings>().find("batch");
  const auto read = [&](LoaderSettings& settings, const char* text) {
    return option.type->read({std::string(text), true}, {}, {}, option.in(&settings));
  };
  for (const char* text : {"tokens=64", "tokens=9,max_samples=3,too_long=alone,lanes=2,lookahead=8"}) {
    LoaderSettings settings;
    ASSERT_TRUE(read(settings, text).ok());
    EXPECT_EQ(option_text(option, settings), text);
  }
  for (const char* text :
       {"", "64", "tokens", "tokens=0", "tokens=x", "tokens=9,", "tokens=9,too_long=drop", "size=9", "lanes=2"}) {
    LoaderSettings settings;
    EXPECT_FALSE(read(settings, text).ok()) << text;
  }
}

TEST(OptionRules, SettlingGivesTheTailAndTheOrderOfGroups) {
  LoaderSettings settings;
  settings.options.batch_size = 8;
  settings.drop_last = true;
  EXPECT_TRUE(settle(settings).ok());
  EXPECT_EQ(settings.options.tail, Tail::kDrop);
  settings.tail = Tail::kPad;
  EXPECT_FALSE(settle(settings).ok());

  settings.drop_last = false;
  settings.tail = Tail::kPartial;
  settings.options.batch_size = 0;
  settings.options.tail = Tail::kPartial;
  settings.options.group_by = GroupBy{"file"};
  EXPECT_FALSE(settle(settings).ok());  // also the default tail, where it is given and there is none

  LoaderSettings groups;
  groups.options = {.shuffle = true, .group_by = GroupBy{"file"}};
  EXPECT_TRUE(settle(groups).ok());
  EXPECT_TRUE(groups.options.group_by->shuffle);
  EXPECT_EQ(groups.options.shuffle, Shuffle(false));
}

}  // namespace
}  // namespace headrace
