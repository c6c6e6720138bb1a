// What happens at the end of an epoch.
#pragma once

#include <cstdint>

namespace headrace {

/// What happens to the last samples of an epoch when they do not fill a batch. All ranks make equal steps in any case.
enum class Tail : std::uint8_t {
  kPartial,  ///< The last batch is smaller; ranks' parts of it differ by at most one sample.
  kDrop,     ///< The last samples are left out.
  kPad,      ///< The last batch is filled up by repeating its samples, with weight 0 in the field "_weight".
};

}  // namespace headrace
