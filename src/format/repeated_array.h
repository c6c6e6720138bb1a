// Values that several samples share: a label of each recording, which all its segments have.
#pragma once

#include <cstdint>
#include <memory>

#include "format/format_reader.h"

namespace headrace {

/// Return an array whose rows [i * times, (i + 1) * times) are row i of `array`. It is stored and decoded once: runs()
/// says which rows have it, and info().repeats how many. The array itself where `times` is 1. The caller has checked
/// that the product fits 64 bits.
std::shared_ptr<ArrayReader> repeat(std::shared_ptr<ArrayReader> array, std::uint64_t times);

}  // namespace headrace
