#include "loader/options/option_rules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "loader/options/loader_settings.h"

namespace headrace {
namespace {

std::string refusal(const LoaderOptions& options) {
  const Status status = check_options(options);
  return status.ok() ? "" : status.error().message();
}

Listed listed(std::vector<std::uint64_t> batch_rows) {
  return {{3, 1, 2}, true, std::move(batch_rows)};
}

/// What is said of words that contradict each other. \param said  "batch_size=8 tail=pad"
std::string refusal_of_words(const std::string& said, std::optional<Order> order = std::nullopt) {
  ValueMap map;
  std::istringstream words(said);
  for (std::string word; words >> word;)
    map.push_back({word.substr(0, word.find('=')), {word.substr(word.find('=') + 1), true}, 0});
  LoaderSettings settings;
  EXPECT_TRUE(spec<LoaderSettings>().read_known({std::move(map)}, {}, &settings).ok()) << said;
  settings.sampler_order = std::move(order);
  const Status status = settle(settings);
  return status.ok() ? "" : status.error().message();
}

/// Each number of a batch and of an order, as text.
std::string text_of(const LoaderOptions& options) {
  std::string text = fmt::format("{} {}: ", options.batch.index(), static_cast<int>(tail_of(options.batch)));
  if (const auto* const samples = std::get_if<Samples>(&options.batch)) text += fmt::format("{}", samples->size);
  if (const auto* const samples = std::get_if<GlobalSamples>(&options.batch)) text += fmt::format("{}", samples->size);
  if (const auto* const budget = std::get_if<ByTokens>(&options.batch))
    text += fmt::format("{} {} {}", budget->tokens, budget->max_samples, budget->lanes);
  if (const auto* const groups = std::get_if<Groups>(&options.batch))
    text += fmt::format("{} {} {}", groups->by, groups->max_items, groups->max_groups);
  const auto* const shuffle = options.order.get<BlockShuffle>();
  const ShuffleShape shape = shuffle ? shuffle->shape : ShuffleShape{};
  return text +
         fmt::format("; {}: {} {} {}", options.order.shared()->index(), shape.streams, shape.pool_blocks, shape.bytes);
}

TEST(OptionRules, WhatGoesTogether) {
  EXPECT_EQ(refusal({.batch = Samples{8}}), "");
  EXPECT_EQ(refusal({.batch = Samples{8}, .order = BlockShuffle{{4, 2, 0}}}), "");
  EXPECT_EQ(refusal({.batch = GlobalSamples{8}, .rank = 1, .world_size = 2}), "");
  EXPECT_EQ(refusal({.batch = Samples{8}, .order = listed({})}), "");
  EXPECT_EQ(refusal({.order = listed({1, 2})}), "");
  EXPECT_EQ(refusal({.batch = Groups{"file", 10}, .order = BlockShuffle{}}), "");
  EXPECT_EQ(refusal({.batch = ByTokens{.tokens = 64, .tail = Tail::kDrop}, .order = BlockShuffle{}}), "");
}

TEST(OptionRules, EachContradictionHasItsText) {
  const Groups groups{"file"};
  const std::vector<std::pair<LoaderOptions, std::string>> cases = {
      {{}, "batch_size is missing"},
      {{.order = listed({})}, "batch_size is missing"},
      {{.batch = Samples{}}, "batch_size is missing"},
      {{.batch = Samples{std::uint64_t{1} << 32}}, "below 2^32"},
      {{.batch = Samples{8}, .order = BlockShuffle{{4, 2, 9}}}, "not both"},
      {{.batch = Samples{8}, .order = BlockShuffle{{4, 0, 0}}}, "at least one stream"},
      {{.batch = Samples{8}, .order = BlockShuffle{{1 << 17, 1, 0}}}, "at most 65536 streams"},
      {{.batch = Samples{8}, .rank = 1}, "rank= needs world_size="},
      {{.batch = Samples{8}, .world_size = 1}, "world_size= needs rank="},
      {{.batch = Samples{8}, .rank = 2, .world_size = 2}, "out of range"},
      {{.batch = Samples{8}, .rank = 0, .world_size = 0}, "world_size must be at least 1"},
      {{.batch = Samples{8}, .cache = {CacheChoice::kNone, {}}, .share = Share::kHost}, "share"},
      {{.batch = Samples{8}, .timeout = std::chrono::nanoseconds(-1)}, "timeout"},
      {{.batch = Samples{8}, .order = listed({1, 2})}, "sets the size of each batch"},
      {{.batch = ByTokens{64}, .order = listed({1, 2})}, "sets the size of each batch"},
      {{.batch = Groups{}}, "group_by is missing"},
      {{.batch = Groups{"file", 0}}, "max_items must be 1 to"},
      {{.batch = groups, .order = ExactShuffle{}}, "not their samples"},
      {{.batch = groups, .order = BlockShuffle{{4, 2, 0}}}, "shuffled whole"},
      {{.batch = groups, .order = listed({})}, "exclude each other"},
      {{.batch = ByTokens{}}, "tokens must be 1 to 2147483647, not 0"},
      {{.batch = ByTokens{64, std::uint64_t{1} << 32}}, "max_samples must be"},
      {{.batch = ByTokens{64, 0, ByTokens::kError, 1 << 17}}, "lanes must be"},
      {{.batch = ByTokens{64, 0, ByTokens::kError, 0, 0}}, "lookahead must be"},
  };
  for (const auto& [options, text] : cases) {
    const std::string said = refusal(options);
    EXPECT_NE(said.find(text), std::string::npos) << "'" << said << "' instead of '" << text << "'";
  }
}

TEST(OptionRules, EachContradictionOfWordsHasItsText) {
  const auto expect = [](const char* words, const char* text, std::optional<Order> order = std::nullopt) {
    const std::string said = refusal_of_words(words, std::move(order));
    EXPECT_NE(said.find(text), std::string::npos) << words << ": '" << said << "' instead of '" << text << "'";
  };
  expect("batch_size=8 global_batch_size=8", "exclude each other");
  expect("batch_size=8 drop_last=true tail=pad", "contradict each other");
  expect("batch_size=8 shuffle_buffer=4x2", "another order");
  expect("batch_size=8 shuffle=exact shuffle_buffer=9", "another order");
  expect("batch_size=8 group_by=file", "whole groups");
  expect("global_batch_size=8 group_by=file", "whole groups");
  expect("group_by=file tail=drop", "tail= do not apply");
  expect("batch_size=8 max_items=5", "group_by is missing");
  expect("batch_size=8 batch=tokens=64", "a token budget sets");
  expect("global_batch_size=8 batch=tokens=64", "a token budget sets");
  expect("group_by=file batch=tokens=64", "a token budget sets");
  expect("batch_size=8 shuffle=true", "exclude each other", listed({}));
  expect("batch_size=8", "sets the size of each batch", listed({1, 2}));
  expect("tail=pad", "tail= do not apply", listed({1, 2}));
  expect("group_by=file", "both decide the order", listed({}));
  expect("batch=tokens=64", "a token budget sets", listed({1, 2}));
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
  settings.batch_size = 8;
  settings.drop_last = true;
  EXPECT_TRUE(settle(settings).ok());
  EXPECT_EQ(tail_of(settings.options.batch), Tail::kDrop);
  settings.tail = Tail::kPad;
  EXPECT_FALSE(settle(settings).ok());

  settings.drop_last = false;
  settings.tail = Tail::kPartial;
  settings.batch_size = 0;
  settings.group_by = "file";
  EXPECT_FALSE(settle(settings).ok());  // also the default tail, where it is given and there is none

  LoaderSettings groups;
  groups.shuffle = ShuffleWord::kBlock;
  groups.group_by = "file";
  EXPECT_TRUE(settle(groups).ok());
  EXPECT_EQ(std::get<Groups>(groups.options.batch).by, "file");
  EXPECT_TRUE(groups.options.order.is<BlockShuffle>());
}

TEST(OptionRules, WordsAndOptionsSayTheSame) {
  const std::vector<LoaderOptions> all = {
      {.batch = Samples{8, Tail::kPad}, .order = BlockShuffle{{0, 0, 9}}},
      {.batch = GlobalSamples{8, Tail::kDrop}, .order = ExactShuffle{}},
      {.batch = ByTokens{.tokens = 64, .lanes = 2, .tail = Tail::kDrop}, .order = Balanced{"y"}},
      {.batch = Groups{"file", 10, 3}, .order = BlockShuffle{}},
      {.order = listed({1, 2})},
  };
  for (const LoaderOptions& options : all) {
    LoaderSettings words = settings_of(options);
    words.options.batch = {};
    words.options.order = InOrder{};
    ASSERT_TRUE(settle(words).ok());
    EXPECT_EQ(text_of(words.options), text_of(options));
    const LoaderSettings again = settings_of(words.options);
    const LoaderSettings before = settings_of(options);
    EXPECT_EQ(flow_text({spec<LoaderSettings>().write_map(&again)}),
              flow_text({spec<LoaderSettings>().write_map(&before)}));
  }
}

}  // namespace
}  // namespace headrace
