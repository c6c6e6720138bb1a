// Logarithms of many values, with the widest instructions of this processor.
#pragma once

#include <cstdint>
#include <span>

namespace headrace {

enum class LogBase : std::uint8_t { kE, kTwo, kTen };

/// Replace each value by its logarithm, to a few units in the last place: -inf of 0, NaN of what is below.
void log_values(LogBase base, std::span<float> values);
void log_values(LogBase base, std::span<double> values);

}  // namespace headrace
