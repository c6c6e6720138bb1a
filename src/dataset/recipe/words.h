// Words of the enums that data sets are described by.
#pragma once

#include <headrace/mix.h>
#include <headrace/split.h>
#include <headrace/volumes.h>

#include "base/text/words.h"

namespace headrace {

inline constexpr Word<Nulls> kNullsWords[] = {{"error", Nulls::kError}, {"fill", Nulls::kFill}, {"mask", Nulls::kMask}};
constexpr std::span<const Word<Nulls>> words_of(Nulls) {
  return kNullsWords;
}

inline constexpr Word<PatchEdge> kPatchEdgeWords[] = {
    {"shift", PatchEdge::kShift}, {"drop", PatchEdge::kDrop}, {"fill", PatchEdge::kFill}};
constexpr std::span<const Word<PatchEdge>> words_of(PatchEdge) {
  return kPatchEdgeWords;
}

inline constexpr Word<PatchDraws> kPatchDrawsWords[] = {{"visits", PatchDraws::kVisits},
                                                        {"independent", PatchDraws::kIndependent}};
constexpr std::span<const Word<PatchDraws>> words_of(PatchDraws) {
  return kPatchDrawsWords;
}

inline constexpr Word<MixStop> kMixStopWords[] = {{"first", MixStop::kFirst}, {"all", MixStop::kAll}};
constexpr std::span<const Word<MixStop>> words_of(MixStop) {
  return kMixStopWords;
}

}  // namespace headrace
