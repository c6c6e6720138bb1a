#include "tools/rewrite/rewrite_words.h"

#include <fmt/format.h>
#include <headrace/bytes.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text/number_text.h"
#include "storage/storage_kind.h"
#include "tools/text_table.h"

namespace headrace {
namespace {

std::string rough_duration(double seconds) {
  if (seconds < 1) return "less than a second";
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

const RewriteArray* leading_of(const RewritePlan& plan) {
  const std::string leading = plan.leading();
  for (const RewriteFile& file : plan.files)
    for (const RewriteArray& array : file.arrays)
      if (array.made.info.path == leading) return &array;
  return nullptr;
}

std::string gain_text(const RewritePlan& plan, const RewriteForecast& f) {
  const RewriteArray& array = *leading_of(plan);
  const MeasuredCodec& best = f.best();
  if (f.stored_so && !plan.options.shuffle)
    return fmt::format("none: {} has this codec and these chunks already", f.array);
  std::string text = f.source_decode_bytes_per_s > 0
                         ? fmt::format("measured on {} of {}: decoded at {:.2f} GB/s a thread instead of {:.2f}",
                                       format_bytes(f.sample_bytes), f.array, best.decode_bytes_per_s * 1e-9,
                                       f.source_decode_bytes_per_s * 1e-9)
                         : fmt::format("measured on {} of {}: decoded at {:.2f} GB/s a thread",
                                       format_bytes(f.sample_bytes), f.array, best.decode_bytes_per_s * 1e-9);
  const double faster = f.faster();
  if (faster != 1) text += fmt::format(" ({:.1f} times as fast)", faster);
  if (faster == 1 && f.source_decode_bytes_per_s > 0) text += " (no gain: that is within the noise)";
  const double size = static_cast<double>(f.output_bytes) /
                      static_cast<double>(std::max<std::uint64_t>(plan.stored_bytes + plan.kept_bytes, 1));
  text += fmt::format("; {:.2f} times the space", size);
  const std::uint64_t before = array.made.info.chunk_rows() * array.row_bytes,
                      after = array.chunk_rows() * array.row_bytes;
  if (before != after)
    text += fmt::format("; one random row decodes {} instead of {}", format_bytes(after), format_bytes(before));
  if (!f.pays()) text += ". That is little: the files are good as they are";
  return text;
}

std::string storage_words(const RewritePlan& plan) {
  const RewriteArray* array = leading_of(plan);
  if (array == nullptr) return "no array can be stored in another way: everything is copied as it is";
  const std::string rows = array->made.chunk_shape.empty()
                               ? "without chunks, so that rows are read one by one"
                               : fmt::format("chunks of {} rows ({})", group_digits(array->chunk_rows()),
                                             format_bytes(array->chunk_rows() * array->row_bytes));
  std::string text = fmt::format("{}, {} in {}", to_string(array->made.coding), rows, array->made.info.path);
  if (plan.options.shuffle)
    text += fmt::format("; the rows of all files shuffled (seed {}), all arrays alike", plan.options.seed);
  return text;
}

}  // namespace

std::string forecast_text(const RewriteSummary& s) {
  std::string out;
  const auto line = [&](std::string_view key, const std::string& value) {
    out += paragraph(key, kLabelColumns, value);
  };
  const RewritePlan& plan = s.plan;
  const std::string storage = storage_of(plan.options.to).name;  // empty of a folder that is not there yet
  line("REWRITE", fmt::format("{} file{} with {} decoded, {} stored, to {}{}", group_digits(plan.files.size()),
                              plural(plan.files.size()), format_bytes(plan.decoded_bytes),
                              format_bytes(plan.stored_bytes + plan.kept_bytes), plan.options.to,
                              storage.empty() ? "" : fmt::format(" ({})", storage)));
  line("AS", storage_words(plan));
  if (s.forecast != nullptr && !s.forecast->codecs.empty()) {
    const RewriteForecast& f = *s.forecast;
    const std::uint64_t passes = passes_of(plan, s.memory);
    line("COST",
         fmt::format("about {} with {} thread{}, if the disk keeps up; {} to write, {} are free; {} of memory{}",
                     rough_duration(f.seconds), s.memory.threads, plural(s.memory.threads),
                     format_bytes(f.output_bytes), format_bytes(s.free_bytes), format_bytes(s.memory.total_bytes),
                     passes > 1 ? fmt::format("; the files are read {} times, since shuffled rows come from "
                                              "everywhere and as many as fit into memory are collected at once "
                                              "(--memory)",
                                              passes)
                                : ""));
    line("GAIN", gain_text(plan, f));
  }
  std::map<std::string, std::string> kept;
  for (const RewriteFile& file : plan.files)
    for (const KeptArray& array : file.kept) kept.emplace(array.path, array.reason);
  constexpr std::size_t kShown = 8;
  std::size_t shown = 0;
  for (const auto& [path, reason] : kept)
    if (shown++ < kShown)
      line(shown == 1 ? "COPIED" : "", fmt::format("{} as it is stored: {}", shorten(path, 40), reason));
  if (kept.size() > kShown) line("", fmt::format("and {} more arrays", kept.size() - kShown));
  return out;
}

std::string nothing_to_do_text(const RewritePlan& plan) {
  return paragraph("DONE", kLabelColumns,
                   fmt::format("nothing to do: an earlier call wrote and verified all {} file{} in {}",
                               group_digits(plan.files.size()), plural(plan.files.size()), plan.options.to));
}

std::string done_text(const RewriteSummary& s) {
  std::string out;
  const auto line = [&](std::string_view key, const std::string& value) {
    out += paragraph(key, kLabelColumns, value);
  };
  const RewriteCounts& done = *s.done;
  if (done.files_written == 0)
    out = nothing_to_do_text(s.plan);
  else
    line("DONE", fmt::format("{} file{} written, and every row compared with its source, in {}{}; {} in {}",
                             group_digits(done.files_written), plural(done.files_written), rough_duration(done.seconds),
                             done.rows_found > 0 ? fmt::format(" ({} rows were there from an earlier call)",
                                                               group_digits(done.rows_found))
                                                 : "",
                             format_bytes(done.output_bytes), s.plan.options.to));
  for (const std::string& note : done.notes) line("NOTE", note);
  std::string names = s.plan.options.to;
  if (!names.ends_with('/')) names += '/';
  line("NEXT",
       fmt::format(
           "hr.open(\"{}*.h5\") has the same arrays; headrace bench '{}*.h5' measures them. h5py reads "
           "them {}",
           names, names,
           s.plan.options.codec == "gzip" || s.plan.options.codec == "none" ? "by itself" : "after import hdf5plugin"));
  return out;
}

Json rewrite_json(const RewriteSummary& s) {
  const RewritePlan& plan = s.plan;
  Json files = Json::array();
  for (const RewriteFile& file : plan.files) {
    Json arrays = Json::array(), kept = Json::array();
    for (const RewriteArray& array : file.arrays)
      arrays.push_back({{"path", array.made.info.path},
                        {"codec", to_string(array.made.coding)},
                        {"chunk_rows", array.made.chunk_shape.empty() ? 0 : array.chunk_rows()},
                        {"rows", array.rows()},
                        {"shuffled", array.is_shuffled}});
    for (const KeptArray& array : file.kept) kept.push_back({{"path", array.path}, {"reason", array.reason}});
    files.push_back({{"source", file.source}, {"output", file.output}, {"arrays", arrays}, {"copied", kept}});
  }
  Json json = {{"to", plan.options.to},
               {"codec", plan.options.codec},
               {"decoded_bytes", plan.decoded_bytes},
               {"stored_bytes", plan.stored_bytes + plan.kept_bytes},
               {"shuffle", plan.options.shuffle},
               {"seed", plan.options.seed},
               {"files", std::move(files)}};
  if (s.forecast != nullptr && !s.forecast->codecs.empty()) {
    const RewriteForecast& f = *s.forecast;
    Json codecs = Json::array();
    for (const MeasuredCodec& c : f.codecs)
      codecs.push_back({{"codec", c.name},
                        {"ratio", c.ratio},
                        {"encode_bytes_per_second", c.encode_bytes_per_s},
                        {"decode_bytes_per_second", c.decode_bytes_per_s}});
    json["forecast"] = {{"array", f.array},
                        {"sample_bytes", f.sample_bytes},
                        {"codecs", std::move(codecs)},
                        {"source_ratio", f.source_ratio},
                        {"source_decode_bytes_per_second", f.source_decode_bytes_per_s},
                        {"output_bytes", f.output_bytes},
                        {"free_bytes", s.free_bytes},
                        {"memory_bytes", s.memory.total_bytes},
                        {"threads", s.memory.threads},
                        {"passes", passes_of(plan, s.memory)},
                        {"seconds", f.seconds},
                        {"pays", f.pays()}};
  }
  if (s.done)
    json["done"] = {{"files_written", s.done->files_written},
                    {"files_found", s.done->files_found},
                    {"rows_written", s.done->rows_written},
                    {"rows_found", s.done->rows_found},
                    {"output_bytes", s.done->output_bytes},
                    {"seconds", s.done->seconds},
                    {"notes", s.done->notes}};
  return json;
}

}  // namespace headrace
