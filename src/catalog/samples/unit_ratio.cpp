#include "catalog/samples/unit_ratio.h"

#include <array>
#include <cmath>

namespace headrace {
namespace {

/// An amount of meters or seconds, as `factor` and a power of ten, so that ratios of powers of ten are exact.
struct NamedAmount {
  std::string_view name;
  double factor;
  int power;
};

constexpr std::array<NamedAmount, 20> kPrefixes{
    {{"yocto", 1, -24}, {"zepto", 1, -21}, {"atto", 1, -18}, {"femto", 1, -15}, {"pico", 1, -12},
     {"nano", 1, -9},   {"micro", 1, -6},  {"milli", 1, -3}, {"centi", 1, -2},  {"deci", 1, -1},
     {"hecto", 1, 2},   {"kilo", 1, 3},    {"mega", 1, 6},   {"giga", 1, 9},    {"tera", 1, 12},
     {"peta", 1, 15},   {"exa", 1, 18},    {"zetta", 1, 21}, {"yotta", 1, 24},  {"", 1, 0}}};

constexpr std::array<NamedAmount, 11> kLengths{{{"angstrom", 1, -10},
                                                {"foot", 0.3048, 0},
                                                {"inch", 0.0254, 0},
                                                {"mile", 1609.344, 0},
                                                {"parsec", 3.0856775814913673, 16},
                                                {"yard", 0.9144, 0},
                                                {"nm", 1, -9},
                                                {"um", 1, -6},
                                                {"\u00b5m", 1, -6},  // the sign "micro"
                                                {"\u03bcm", 1, -6},  // the Greek letter
                                                {"micron", 1, -6}}};

constexpr std::array<NamedAmount, 3> kTimes{{{"minute", 60, 0}, {"hour", 3600, 0}, {"day", 86400, 0}}};

struct Measure {
  bool is_time = false;
  double factor = 0;
  int power = 0;
};

std::optional<Measure> measure_of(std::string_view unit) {
  for (const NamedAmount& length : kLengths)
    if (unit == length.name) return Measure{false, length.factor, length.power};
  for (const NamedAmount& time : kTimes)
    if (unit == time.name) return Measure{true, time.factor, time.power};
  for (const NamedAmount& prefix : kPrefixes) {
    if (!unit.starts_with(prefix.name)) continue;
    const std::string_view base = unit.substr(prefix.name.size());
    if (base == "meter" || base == "second") return Measure{base == "second", 1, prefix.power};
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> unit_ratio(std::string_view from, std::string_view to) {
  if (from == to) return 1;
  const auto one = measure_of(from), other = measure_of(to);
  if (!one || !other || one->is_time != other->is_time) return std::nullopt;
  const double factor = one->factor / other->factor;
  const int power = one->power - other->power;
  return power < 0 ? factor / std::pow(10.0, -power) : factor * std::pow(10.0, power);
}

}  // namespace headrace
