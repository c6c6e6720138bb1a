// Words of the enums that loaders are described by.
#pragma once

#include <headrace/loader.h>

#include "base/text/words.h"
#include "loader/options/loader_settings.h"

namespace headrace {

inline constexpr Word<Tail> kTailWords[] = {{"partial", Tail::kPartial}, {"drop", Tail::kDrop}, {"pad", Tail::kPad}};
constexpr std::span<const Word<Tail>> words_of(Tail) {
  return kTailWords;
}

inline constexpr Word<BatchLayout> kBatchLayoutWords[] = {{"ragged", BatchLayout::kRagged},
                                                          {"padded", BatchLayout::kPadded}};
constexpr std::span<const Word<BatchLayout>> words_of(BatchLayout) {
  return kBatchLayoutWords;
}

inline constexpr Word<ByTokens::TooLong> kTooLongWords[] = {{"error", ByTokens::kError}, {"alone", ByTokens::kAlone}};
constexpr std::span<const Word<ByTokens::TooLong>> words_of(ByTokens::TooLong) {
  return kTooLongWords;
}

inline constexpr Word<CacheChoice::Mode> kCacheWords[] = {
    {"auto", CacheChoice::kAuto}, {"none", CacheChoice::kNone}, {"ram", CacheChoice::kRam}};
constexpr std::span<const Word<CacheChoice::Mode>> words_of(CacheChoice::Mode) {
  return kCacheWords;
}

/// ShuffleWord::kNone and kBlock are also false and true.
inline constexpr Word<ShuffleWord> kShuffleWords[] = {{"true", ShuffleWord::kBlock},
                                                      {"false", ShuffleWord::kNone},
                                                      {"block", ShuffleWord::kBlock},
                                                      {"exact", ShuffleWord::kExact}};
constexpr std::span<const Word<ShuffleWord>> words_of(ShuffleWord) {
  return kShuffleWords;
}

}  // namespace headrace
