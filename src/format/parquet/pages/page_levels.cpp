#include "format/parquet/pages/page_levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "codec/coded_bytes.h"
#include "format/parquet/pages/rle_reader.h"

namespace headrace::parquet {
namespace {

constexpr std::size_t kLevelsAtOnce = 1024;  // they stay in the first cache

Error level_beyond(std::uint32_t level, std::uint32_t most) {
  return corrupt(fmt::format("level {}, where {} is the most", level, most));
}

/// Cut levels off a page of the first version, which begin with the bytes that they take.
Result<std::span<const std::byte>> cut_levels(Encoding encoding, std::span<const std::byte>& body) {
  if (encoding != Encoding::kRle)
    return Error(ErrorCode::kUnsupported,
                 fmt::format("levels encoded as {}", encoding_name(static_cast<std::uint32_t>(encoding))));
  if (body.size() < 4 || load_le32(body.data()) > body.size() - 4)
    return corrupt(fmt::format("a page of {} bytes that is shorter than its levels", body.size()));
  const std::uint32_t size = load_le32(body.data());
  const std::span<const std::byte> levels = body.subspan(4, size);
  body = body.subspan(4 + std::size_t{size});
  return levels;
}

/// What levels say of elements.
struct ElementFlags {
  std::size_t elements = 0;
  std::uint32_t largest_level = 0;
};
ElementFlags flags_of_run(const LeafColumn& column, const RleRun& run) {
  return {run.value >= column.element_level ? run.count : 0, run.value};
}
/// \param flags  Becomes, for each element, whether it has a value.
ElementFlags flags_of(const LeafColumn& column, const std::uint32_t* levels, std::size_t count,
                      std::array<std::uint8_t, kLevelsAtOnce>& flags) {
  ElementFlags found;
  for (std::size_t i = 0; i < count; ++i) {
    found.largest_level = std::max(found.largest_level, levels[i]);
    flags[found.elements] = levels[i] == column.definition_levels ? 1 : 0;
    found.elements += levels[i] >= column.element_level ? 1 : 0;
  }
  return found;
}

/// read_presence() of lists. All levels of the page are looked at, whatever rows are asked for: only so it is known
/// that it has as many elements as it should.
Result<Present> read_list_presence(const LeafColumn& column, const PageHeader& header, const PageBytes& page,
                                   PageRows rows, std::uint8_t* out) {
  const std::uint32_t most = column.definition_levels;
  RleReader runs(page.levels, level_bits(column));
  std::array<std::uint32_t, kLevelsAtOnce> levels;
  std::array<std::uint8_t, kLevelsAtOnce> flags;
  Present present;
  std::uint64_t element = 0;  // elements so far
  for (std::uint64_t entry = 0; entry < header.num_values;) {
    HEADRACE_ASSIGN(const RleRun run, runs.next(levels.data(), static_cast<std::size_t>(std::min<std::uint64_t>(
                                                                   header.num_values - entry, kLevelsAtOnce))));
    entry += run.count;
    const ElementFlags found =
        run.repeated ? flags_of_run(column, run) : flags_of(column, levels.data(), run.count, flags);
    if (found.largest_level > most) return level_beyond(found.largest_level, most);
    // The elements are cut into those before the rows, those of the rows, and those behind them.
    const std::uint64_t end = element + found.elements, rows_end = rows.skip + rows.count;
    const std::uint64_t from = std::clamp(rows.skip, element, end), to = std::clamp(rows_end, element, end);
    if (run.repeated) {
      const std::uint8_t flag = run.value == most ? 1 : 0;
      present.before += flag * (from - element);
      present.among += flag * (to - from);
      if (to > from) std::memset(out + (from - rows.skip), flag, to - from);
    } else {
      for (std::uint64_t i = element; i < from; ++i) present.before += flags[i - element];
      for (std::uint64_t i = from; i < to; ++i) present.among += flags[i - element];
      if (to > from) std::memcpy(out + (from - rows.skip), flags.data() + (from - element), to - from);
    }
    element = end;
  }
  if (element != rows.all)
    return corrupt(fmt::format("a page of {} elements, where the lengths of its lists say {}", element, rows.all));
  return present;
}

}  // namespace

std::uint32_t level_bits(const LeafColumn& column) {
  return static_cast<std::uint32_t>(std::bit_width(column.definition_levels));
}

Result<PageBytes> divide_page(const LeafColumn& column, const PageHeader& header, std::span<const std::byte> body) {
  if (header.kind == PageKind::kDataV2) {
    // Some writers store repetition levels, all of them 0, where there is nothing to repeat.
    const auto skipped = static_cast<std::size_t>(header.repetition_bytes);
    const auto levels = static_cast<std::size_t>(header.definition_bytes);
    if (body.size() < skipped + levels) return corrupt("a page that is shorter than its levels");
    if (column.is_list())
      return PageBytes{body.first(skipped), body.subspan(skipped, levels), body.subspan(skipped + levels)};
    if (skipped > 0) {
      RleReader repetition(body.first(skipped), 0);
      HEADRACE_TRY(repetition.skip(header.num_values));
      if (!repetition.at_end()) return corrupt("repetition levels in a column that is not repeated");
    }
    return PageBytes{{}, body.subspan(skipped, levels), body.subspan(skipped + levels)};
  }
  PageBytes page;
  if (column.is_list()) {
    HEADRACE_ASSIGN(page.repetition, cut_levels(header.repetition_encoding, body));
  }
  if (column.is_nullable()) {
    HEADRACE_ASSIGN(page.levels, cut_levels(header.definition_encoding, body));
  }
  page.values = body;
  return page;
}

bool is_full(const LeafColumn& column, const PageHeader& header, const PageBytes& page) {
  return !column.is_nullable() ||
         RleReader(page.levels, level_bits(column)).repeats(column.definition_levels, header.num_values);
}

Status check_list_page(const PageHeader& header, const PageBytes& page, std::uint64_t elements, bool full) {
  if (full && header.num_values != elements)
    return corrupt(
        fmt::format("a page of {} elements, where the lengths of its lists say {}", header.num_values, elements));
  return RleReader(page.repetition, 1).skip(header.num_values);
}

Result<Present> read_presence(const LeafColumn& column, const PageHeader& header, const PageBytes& page, PageRows rows,
                              std::uint8_t* out) {
  if (column.is_list()) return read_list_presence(column, header, page, rows, out);
  const std::uint32_t most = column.definition_levels;
  if (most == 0) {  // it has no levels
    std::memset(out, 1, rows.count);
    return Present{rows.skip, rows.count};
  }
  RleReader runs(page.levels, level_bits(column));
  std::array<std::uint32_t, kLevelsAtOnce> levels;
  Present present;
  const std::uint64_t end = rows.skip + rows.count;
  for (std::uint64_t row = 0; row < end;) {
    const std::uint64_t until = row < rows.skip ? rows.skip : end;
    HEADRACE_ASSIGN(
        const RleRun run,
        runs.next(levels.data(), static_cast<std::size_t>(std::min<std::uint64_t>(until - row, kLevelsAtOnce))));
    std::uint64_t found = 0;
    if (run.repeated) {
      if (run.value > most) return level_beyond(run.value, most);
      found = run.value == most ? run.count : 0;
      if (row >= rows.skip) std::memset(out + (row - rows.skip), run.value == most, run.count);
    } else {
      for (std::size_t i = 0; i < run.count; ++i) {
        if (levels[i] > most) return level_beyond(levels[i], most);
        found += levels[i] == most;
      }
      if (row >= rows.skip)
        for (std::size_t i = 0; i < run.count; ++i) out[row - rows.skip + i] = levels[i] == most;
    }
    (row < rows.skip ? present.before : present.among) += found;
    row += run.count;
  }
  return present;
}

}  // namespace headrace::parquet
