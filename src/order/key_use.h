// What the random keys of the orders are made for. Keys of one seed and epoch differ by these numbers, so each is given
// once; a changed number changes the orders that it makes.
#pragma once

#include <cstdint>

namespace headrace::key_use {

inline constexpr std::uint64_t kRotation = 1, kInnerOrder = 2, kPool = 3;              // block shuffle
inline constexpr std::uint64_t kExact = 4;                                             // permutation of all rows
inline constexpr std::uint64_t kDraw = 5, kRace = 6, kClassOrder = 7, kClassRows = 8;  // weighted and balanced
inline constexpr std::uint64_t kMixtureStart = 9;                                      // mixtures
inline constexpr std::uint64_t kStepOrder = 12;                                        // steps by budget
inline constexpr std::uint64_t kGroupOrder = 13;                                       // whole groups
inline constexpr std::uint64_t kLikeLengths = 14;                                      // steps of like lengths

}  // namespace headrace::key_use
