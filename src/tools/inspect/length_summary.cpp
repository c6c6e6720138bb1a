#include "tools/inspect/length_summary.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "assembly/mapped_source.h"
#include "base/text/number_text.h"
#include "dataset/dataset_contents.h"
#include "tools/text_table.h"

namespace headrace {
namespace {

constexpr std::size_t kBarColumns = 40, kLengthsLabelColumns = 9;
constexpr std::uint64_t kBatchSamples = 512;  // the default of the command line
using Align = TextTable::Align;

/// Samples of [first, last] rows.
struct Bin {
  std::uint64_t first = 0, last = 0, samples = 0;
};

/// Doubling bins: none, 1, 2 to 3, 4 to 7, … up to that of the longest; the empty ones before the first are left out.
std::vector<Bin> bins_of(const std::vector<std::uint64_t>& ascending) {
  std::vector<Bin> bins;
  for (std::uint64_t first = 0; first <= ascending.back(); first = first == 0 ? 1 : 2 * first) {
    const std::uint64_t last = first == 0 ? 0 : 2 * first - 1;
    const auto from = std::ranges::lower_bound(ascending, first), to = std::ranges::upper_bound(ascending, last);
    if (from != to || !bins.empty()) bins.push_back({first, last, static_cast<std::uint64_t>(to - from)});
  }
  return bins;
}

std::string histogram(const std::vector<Bin>& bins) {
  std::uint64_t most = 1;
  for (const Bin& bin : bins) most = std::max(most, bin.samples);
  TextTable table({{"rows", Align::kRight}, {"samples", Align::kRight}, {""}});
  for (const Bin& bin : bins) {
    const std::string range = bin.first == bin.last
                                  ? group_digits(bin.first)
                                  : fmt::format("{} to {}", group_digits(bin.first), group_digits(bin.last));
    const std::uint64_t columns = (bin.samples * kBarColumns + most - 1) / most;  // one sample shows
    table.add({range, group_digits(bin.samples), std::string(columns, '#')});
  }
  return table.indented();
}

/// Bytes of a row of the ragged fields, and of a sample's other fields.
std::pair<std::uint64_t, std::uint64_t> bytes_of(const Dataset& data) {
  std::uint64_t row_bytes = 0, other_bytes = 0;
  for (const Field& field : data.fields()) (field.dims.is_ragged() ? row_bytes : other_bytes) += field.row_bytes();
  return {row_bytes, other_bytes};
}

}  // namespace

LengthSummary summarize_lengths(const Dataset& data, const std::string& name) {
  std::vector<std::uint64_t> lengths = data.lengths();
  const auto at = std::ranges::max_element(lengths);
  const std::uint64_t longest = *at, number = static_cast<std::uint64_t>(at - lengths.begin());
  const SampleMap& map = *impl_of(data)->source.mapped()->map;
  const BlockTable::RowPlace place = map.shuffle_blocks()->find(number);
  const auto origin = map.file_row_of({static_cast<std::uint32_t>(place.block), place.row_in_block});
  std::uint64_t rows = 0;
  for (const std::uint64_t length : lengths) rows += length;
  const std::uint64_t samples = lengths.size();
  std::ranges::sort(lengths);
  const auto quantile = [&](double share) {
    return lengths[static_cast<std::size_t>(share * static_cast<double>(samples - 1))];
  };
  const double mean = static_cast<double>(rows) / static_cast<double>(samples);
  const auto [row_bytes, other_bytes] = bytes_of(data);
  const std::uint64_t batch = std::min(kBatchSamples, samples);
  const auto ragged_bytes =
      static_cast<std::uint64_t>(mean * static_cast<double>(batch * row_bytes)) + batch * other_bytes;
  const std::uint64_t padded_bytes = batch * (longest * row_bytes + other_bytes);

  LengthSummary summary;
  const auto line = [&](std::string_view label, const std::string& text) {
    summary.text += paragraph(label, kLengthsLabelColumns, text);
  };
  const std::string& file = origin ? data.files()[origin->file].path : data.files()[0].path;
  line("Lengths", fmt::format("{} samples by {}, of {} rows: {:.1f} on average, half have at most {}, 99 % at most {}",
                              group_digits(samples), name, group_digits(rows), mean, group_digits(quantile(0.5)),
                              group_digits(quantile(0.99))));
  line("Longest", fmt::format("{} rows: sample {}, {} {} of {}", group_digits(longest), group_digits(number),
                              map.rows_of({}) ? "from row" : "number", origin ? group_digits(origin->row) : "?", file));
  line("Batch", fmt::format("{} samples take {} on average (rows of {}); layout=\"padded\" fills all of the longest "
                            "sample's batch up to {}",
                            group_digits(batch), format_bytes(ragged_bytes), format_bytes(row_bytes),
                            format_bytes(padded_bytes)));
  const std::vector<Bin> bins = bins_of(lengths);
  summary.text += "\n" + histogram(bins);
  Json listed = Json::array();
  for (const Bin& bin : bins) listed.push_back({{"first", bin.first}, {"last", bin.last}, {"samples", bin.samples}});
  summary.json = {{"by", name},
                  {"samples", samples},
                  {"rows", rows},
                  {"mean", mean},
                  {"median", quantile(0.5)},
                  {"percentile_99", quantile(0.99)},
                  {"longest", {{"rows", longest}, {"sample", number}, {"file", file}}},
                  {"row_bytes", row_bytes},
                  {"batch", {{"samples", batch}, {"bytes", ragged_bytes}, {"padded_bytes", padded_bytes}}},
                  {"histogram", std::move(listed)}};
  if (origin) summary.json["longest"]["row"] = origin->row;
  return summary;
}

}  // namespace headrace
