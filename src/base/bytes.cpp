#include <headrace/bytes.h>
#include <headrace/error.h>

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>

namespace headrace {

std::uint64_t parse_bytes(std::string_view text) {
  std::string clean;
  for (char c : text)
    if (!std::isspace(static_cast<unsigned char>(c)))
      clean += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto refuse = [&](std::string_view why) {
    return Error(ErrorCode::kInvalidArgument, fmt::format("'{}' is not a size in bytes: {}", text, why))
        .with_hint("Write for example 8GiB (8·2^30 bytes), 8GB (8e9 bytes) or 536870912.");
  };
  double number = 0;
  const auto [end, ec] = std::from_chars(clean.data(), clean.data() + clean.size(), number);
  if (ec != std::errc() || !(number >= 0)) throw refuse("a number that is not negative is expected first");
  const std::string unit(clean, static_cast<std::size_t>(end - clean.data()));
  struct Unit {
    std::string_view name;
    double factor;
  };
  static constexpr std::array<Unit, 17> kUnits{{{"", 1},
                                                {"b", 1},
                                                {"k", 0x1p10},
                                                {"kib", 0x1p10},
                                                {"kb", 1e3},
                                                {"m", 0x1p20},
                                                {"mib", 0x1p20},
                                                {"mb", 1e6},
                                                {"g", 0x1p30},
                                                {"gib", 0x1p30},
                                                {"gb", 1e9},
                                                {"t", 0x1p40},
                                                {"tib", 0x1p40},
                                                {"tb", 1e12},
                                                {"ki", 0x1p10},
                                                {"mi", 0x1p20},
                                                {"gi", 0x1p30}}};
  for (const Unit& u : kUnits) {
    if (unit != u.name) continue;
    const double bytes = number * u.factor;
    if (bytes >= 0x1p63) throw refuse("no machine has so much memory");
    return static_cast<std::uint64_t>(bytes);
  }
  throw refuse(fmt::format("unknown unit '{}'", unit));
}

std::string format_bytes(std::uint64_t bytes) {
  static constexpr std::array<const char*, 5> kNames{"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t i = 0;
  while (value >= 1000 && i + 1 < kNames.size()) value /= 1024, ++i;
  if (i == 0) return fmt::format("{} B", bytes);
  return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, kNames[i]);
}

}  // namespace headrace
