// replay: a batch of any epoch once more, to hunt a loss spike: its rows, their files, and what their values
// are.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <headrace/tools.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>

#include "base/text/number_text.h"
#include "loader/engine/access.h"
#include "loader/engine/one_batch.h"
#include "loader/plan/derived_columns.h"
#include "tools/json.h"
#include "tools/text_table.h"

namespace headrace {
namespace {

constexpr std::size_t kReplayFilesShown = 8, kRowsShown = 6;

/// Figures of one field of the batch; of numbers only.
struct Values {
  std::uint64_t elements = 0, nan = 0, infinite = 0, finite = 0;
  double least = std::numeric_limits<double>::infinity(), most = -std::numeric_limits<double>::infinity(), sum = 0;
  std::uint64_t extreme_row = 0;  ///< Row of the array whose value is farthest from 0 (or not finite: the first such).
  double extreme = 0;
  bool is_number = true;

  void add(double value, std::uint64_t row) {
    ++elements;
    if (!std::isfinite(value)) {
      if (nan + infinite == 0) extreme_row = row, extreme = value;
      ++(std::isnan(value) ? nan : infinite);
      return;
    }
    ++finite;
    sum += value;
    least = std::min(least, value);
    most = std::max(most, value);
    if (nan + infinite == 0 && std::abs(value) > std::abs(extreme)) extreme_row = row, extreme = value;
  }
};

/// The value of an IEEE 754 half.
double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double size =
      exponent == 31  ? (fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity())
      : exponent == 0 ? std::ldexp(fraction, -24)
                      : std::ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 ? -size : size;
}

template <class T, class Convert>
void add_all(const Tensor& array, std::uint64_t per_row, Values& values, Convert&& convert) {
  const std::byte* at = array.data();
  for (std::uint64_t row = 0; row < array.rows(); ++row)
    for (std::uint64_t i = 0; i < per_row; ++i, at += sizeof(T)) {
      T value;
      std::memcpy(&value, at, sizeof(T));
      values.add(convert(value), row);
    }
}

Values values_of(const Tensor& array, const Field& field) {
  Values values;
  const std::uint64_t n = field.row_elements() * array.width().value_or(1);
  const auto plain = [](auto value) { return static_cast<double>(value); };
  const DType::Kind kind = field.dtype.kind;
  const bool is_signed = kind == DType::Kind::kInt;
  if (kind == DType::Kind::kFloat && field.dtype.itemsize == 2) {
    add_all<std::uint16_t>(array, n, values, half_value);
  } else if (kind == DType::Kind::kFloat && field.dtype.itemsize == 4) {
    add_all<float>(array, n, values, plain);
  } else if (kind == DType::Kind::kFloat && field.dtype.itemsize == 8) {
    add_all<double>(array, n, values, plain);
  } else if (is_signed || kind == DType::Kind::kUInt || kind == DType::Kind::kBool) {
    switch (field.dtype.itemsize) {
      case 1:
        is_signed ? add_all<std::int8_t>(array, n, values, plain) : add_all<std::uint8_t>(array, n, values, plain);
        break;
      case 2:
        is_signed ? add_all<std::int16_t>(array, n, values, plain) : add_all<std::uint16_t>(array, n, values, plain);
        break;
      case 4:
        is_signed ? add_all<std::int32_t>(array, n, values, plain) : add_all<std::uint32_t>(array, n, values, plain);
        break;
      default:
        is_signed ? add_all<std::int64_t>(array, n, values, plain) : add_all<std::uint64_t>(array, n, values, plain);
    }
  } else {
    values.is_number = false;
  }
  return values;
}

/// Return the sample that a row of a field's array belongs to; nullopt where rows belong to none, as offsets do not.
std::optional<std::uint64_t> sample_of(const Batch& batch, std::size_t field, std::uint64_t row) {
  if (const auto offsets = batch.offsets(field); !offsets.empty())
    return static_cast<std::uint64_t>(std::ranges::upper_bound(offsets, static_cast<std::int64_t>(row)) -
                                      offsets.begin()) -
           1;
  return batch.array(field).rows() == batch.rows() ? std::optional(row) : std::nullopt;
}

/// JSON has no NaN and no infinity: null.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

}  // namespace

ToolResult replay(const Loader& loader, const ReplayOptions& options) {
  const Batch batch = loader.batch(options.epoch, options.step, options.rows_of_epoch, options.batch_rows);
  const std::shared_ptr<const Engine> engine = engine_of(loader);
  const EnginePlan& plan = engine->plan();
  const PlannedBatch planned =
      plan_batch(plan, options.epoch, options.step, options.rows_of_epoch, options.batch_rows).value();
  const std::vector<FileEntry>& files = loader.dataset().files();
  std::vector<SampleOrigin> origins;
  std::map<std::uint32_t, std::vector<std::uint64_t>> rows_by_file;
  const std::string_view what = source_of(loader.dataset()).what();
  const bool have_places = !plan.boxes && (!plan.map || plan.map->rows_of({}));
  if (have_places)
    for (const SampleRef s : planned.stored) {
      origins.push_back(origin_of(plan, s));
      rows_by_file[origins.back().file].push_back(origins.back().row);
    }
  const auto box_text = [&](std::uint64_t sample) {
    const BoxPlace box = plan.boxes->place_of(planned.stored[sample], {options.epoch, plan.seed});
    const std::string& path = files[plan.boxes->volumes()[box.volume].file].path;
    return fmt::format("{} from ({})", std::filesystem::path(path).filename().string(),
                       fmt::join(std::span(box.start).first(plan.boxes->rank(0)), ", "));
  };
  const auto place_text = [&](std::uint64_t sample) {
    if (plan.boxes) return fmt::format("sample {}: {}", sample, box_text(sample));
    if (!have_places) return fmt::format("sample {}: number {} of the data set", sample, planned.rows[sample]);
    const SampleOrigin& o = origins[sample];
    return fmt::format("sample {}: {}{} row {}", sample, std::filesystem::path(files[o.file].path).filename().string(),
                       plan.map ? " from" : "", o.row);
  };

  ToolResult result;
  const auto line = [&](std::string_view key, const std::string& value) { result.text += paragraph(key, 9, value); };
  const RankShare share = plan.share;
  line("BATCH", fmt::format("epoch {}, step {} of {}: samples {} to {} of the epoch{}", options.epoch, options.step,
                            plan.steps->num_steps(options.epoch), planned.step.begin, planned.step.end,
                            share.world_size > 1 ? fmt::format(", of which rank {} of {} gets {}", share.rank,
                                                               share.world_size, batch.rows())
                                                 : ""));
  line("ORDER", fmt::format("{}; seed {}", plan.order_text(), loader.options().seed));
  std::size_t shown = 0;
  for (const auto& [file, rows] : rows_by_file) {
    if (shown++ == kReplayFilesShown) {
      line("", fmt::format("and {} files more (--json lists every row)", rows_by_file.size() - kReplayFilesShown));
      break;
    }
    std::string some;
    for (std::size_t i = 0; i < std::min(rows.size(), kRowsShown); ++i)
      some += fmt::format("{}{}", i ? ", " : "", rows[i]);
    line(shown == 1 ? "ROWS" : "",
         plan.map ? fmt::format("{}: {} {}, from rows {}{}", shorten(files[file].path, 60), rows.size(), what, some,
                                rows.size() > kRowsShown ? ", …" : "")
                  : fmt::format("{}: {} row{}: {}{}", shorten(files[file].path, 60), rows.size(),
                                rows.size() == 1 ? "" : "s", some, rows.size() > kRowsShown ? ", …" : ""));
  }
  for (std::size_t i = 0; plan.boxes && i < std::min(planned.stored.size(), kRowsShown); ++i)
    line(i == 0 ? "PATCHES" : "", box_text(i));
  if (plan.boxes && planned.stored.size() > kRowsShown)
    line("", fmt::format("and {} more (--json lists every patch)", planned.stored.size() - kRowsShown));
  TextTable table({{"field"},
                   {"type"},
                   {"shape"},
                   {"least", TextTable::Align::kRight},
                   {"mean", TextTable::Align::kRight},
                   {"most", TextTable::Align::kRight},
                   {"not finite", TextTable::Align::kRight},
                   {"farthest from 0"}});
  Json fields = Json::object();
  for (std::size_t f = 0; f < batch.fields().size(); ++f) {
    const Field& field = batch.fields()[f];
    const Tensor array = batch.array(f);
    const Values v = values_of(array, field);
    Json& json = fields[field.name];
    json["dtype"] = field.dtype.name();
    const std::vector<std::uint64_t> shape = array.shape();
    const std::string shape_text = fmt::format("({})", fmt::join(shape, ", "));
    json["shape"] = shape;
    if (!v.is_number || v.elements == 0) {
      table.add({field.name, field.dtype.name(), shape_text, "", "", "", "", ""});
      continue;
    }
    const double mean = v.finite ? v.sum / static_cast<double>(v.finite) : 0;
    const std::uint64_t odd = v.nan + v.infinite;
    result.findings = result.findings || odd > 0;
    json["least"] = v.finite ? number(v.least) : Json();
    json["most"] = v.finite ? number(v.most) : Json();
    json["mean"] = v.finite ? number(mean) : Json();
    json["nan"] = v.nan;
    json["infinite"] = v.infinite;
    const std::optional<std::uint64_t> sample = sample_of(batch, f, v.extreme_row);
    json["farthest_from_0"] = {{"sample", sample ? Json(*sample) : Json()}, {"value", number(v.extreme)}};
    table.add(
        {field.name, field.dtype.name(), shape_text, v.finite ? fmt::format("{:.5g}", v.least) : "",
         v.finite ? fmt::format("{:.5g}", mean) : "", v.finite ? fmt::format("{:.5g}", v.most) : "",
         odd ? group_digits(odd) : "",
         fmt::format("{:.5g}, {}", v.extreme, sample ? place_text(*sample) : fmt::format("entry {}", v.extreme_row))});
  }
  for (const std::string& text : table.lines()) result.text += text + "\n";
  if (result.findings) line("FOUND", "values that are not finite (NaN or infinity): see the column");

  Json json = {{"epoch", options.epoch},
               {"step", options.step},
               {"num_steps", plan.steps->num_steps(options.epoch)},
               {"first_sample", planned.step.begin},
               {"end_sample", planned.step.end},
               {"rank", share.rank},
               {"world_size", share.world_size},
               {"real_rows", planned.step.real_rows},
               {"order", plan.sampler->identity_at(options.epoch, 1)},
               {"seed", loader.options().seed}};
  Json& listed = json["files"] = Json::object();
  for (const auto& [file, rows] : rows_by_file) listed[std::to_string(file)] = files[file].path;
  Json& samples = json["samples"] = Json::array();
  for (std::size_t i = 0; plan.boxes && i < planned.rows.size(); ++i) {
    const BoxPlace box = plan.boxes->place_of(planned.stored[i], {options.epoch, plan.seed});
    const std::uint32_t file = plan.boxes->volumes()[box.volume].file;
    listed[std::to_string(file)] = files[file].path;
    samples.push_back({{"file", file}, {"start", std::span(box.start).first(plan.boxes->rank(0))}});
  }
  for (std::size_t i = 0; !plan.boxes && i < planned.rows.size(); ++i)
    samples.push_back(have_places
                          ? Json{{"file", origins[i].file}, {"row", origins[i].row}, {"dataset_row", planned.rows[i]}}
                          : Json{{"dataset_row", planned.rows[i]}});
  json["fields"] = std::move(fields);
  result.json = dump(json);
  return result;
}

}  // namespace headrace
