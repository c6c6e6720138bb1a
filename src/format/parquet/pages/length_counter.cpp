#include "format/parquet/pages/length_counter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "codec/coded_bytes.h"
#include "format/parquet/pages/rle_reader.h"

namespace headrace::parquet {
namespace {

/// Levels, as the longest pieces that are the same.
class SameLevels {
 public:
  SameLevels(std::span<const std::byte> bytes, std::uint32_t bits) : runs_(bytes, bits) {}

  /// Have at least one level ready, if there are more. \param most  Levels that are wanted of the page, at least 1.
  Status fill(std::uint64_t most) {
    if (at_ == run_.count) {
      const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(most, levels_.size()));
      HEADRACE_ASSIGN(run_, runs_.next(levels_.data(), some));
      at_ = end_ = 0;
    }
    if (at_ < end_) return {};
    end_ = run_.repeated ? run_.count : at_ + 1;
    while (end_ < run_.count && levels_[end_] == levels_[at_]) ++end_;
    return {};
  }
  [[nodiscard]] std::uint32_t value() const { return run_.repeated ? run_.value : levels_[at_]; }
  /// How many levels from here on are the same, as far as it is known.
  [[nodiscard]] std::size_t same() const { return end_ - at_; }
  void pass(std::size_t count) { at_ += count; }

 private:
  RleReader runs_;
  RleRun run_;
  std::size_t at_ = 0, end_ = 0;                 // of the run: what is next, and what differs from it
  std::array<std::uint32_t, 1024> levels_ = {};  // they stay in the first cache
};

}  // namespace

struct LengthCounter::Run {
  std::uint32_t repetition = 0, definition = 0;
  std::size_t count = 0;
};

LengthCounter::LengthCounter(const LeafColumn& column, std::uint64_t num_rows) : column_(column), num_rows_(num_rows) {
  found_.lengths.reserve(static_cast<std::size_t>(num_rows));
}

Status LengthCounter::push(const PageBytes& page, std::uint64_t entries) {
  SameLevels repetition(page.repetition, 1), definition(page.levels, level_bits(column_));
  for (std::uint64_t left = entries; left > 0;) {
    HEADRACE_TRY(repetition.fill(left));
    HEADRACE_TRY(definition.fill(left));
    const Run run{repetition.value(), definition.value(), std::min(repetition.same(), definition.same())};
    HEADRACE_TRY(count(run));
    repetition.pass(run.count);
    definition.pass(run.count);
    left -= run.count;
  }
  found_.entries += entries;
  return {};
}

Status LengthCounter::count(const Run& run) {
  std::vector<std::uint32_t>& lengths = found_.lengths;
  if (run.definition > column_.definition_levels)
    return corrupt(fmt::format("level {}, where {} is the most", run.definition, column_.definition_levels));
  const bool element = run.definition >= column_.element_level;
  if (run.repetition == 0) {
    if (run.count > num_rows_ - lengths.size()) return corrupt(fmt::format("more lists than its {} rows", num_rows_));
    if (run.definition + 1 < column_.element_level && !found_.first_null_row) found_.first_null_row = lengths.size();
    lengths.insert(lengths.end(), run.count, element ? 1 : 0);
    found_.elements += element ? run.count : 0;
    return {};
  }
  if (lengths.empty()) return corrupt("a row group that begins in the middle of a list");
  if (!element || lengths.back() == 0) return corrupt("a list that goes on without an element");
  if (run.count > std::numeric_limits<std::uint32_t>::max() - lengths.back())
    return corrupt(fmt::format("a list of more than {} elements", std::numeric_limits<std::uint32_t>::max()));
  lengths.back() += static_cast<std::uint32_t>(run.count);
  found_.elements += run.count;
  return {};
}

Result<GroupLengths> LengthCounter::take() {
  if (found_.lengths.size() != num_rows_)
    return corrupt(fmt::format("{} lists in {} rows", found_.lengths.size(), num_rows_));
  return std::move(found_);
}

}  // namespace headrace::parquet
