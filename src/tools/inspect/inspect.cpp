// inspect: from one screen a newcomer learns what will be fast, what not, and why. Metadata only, unless values are
// asked for.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <headrace/bytes.h>
#include <headrace/tools.h>

#include <algorithm>
#include <set>

#include "base/text/number_text.h"
#include "dataset/files/paths.h"
#include "storage/storage_kind.h"
#include "tools/inspect/array_description.h"
#include "tools/inspect/inspected_file.h"
#include "tools/inspect/length_summary.h"
#include "tools/inspect/voxel_values.h"
#include "tools/text_table.h"

namespace headrace {
namespace {

constexpr std::size_t kNameColumns = 32;  // longer array paths are shortened in the middle
constexpr std::size_t kFilesShown = 12;   // of a set, beside the first
constexpr std::size_t kInspectLabelColumns = 9;
using Align = TextTable::Align;

std::string on_disk(const ArrayInfo& array) {
  return array.columns.empty() ? "?" : format_bytes(array.stored_bytes);
}
std::string ratio_text(const ArrayInfo& array, const ArrayDescription& described) {
  return described.ratio > 0 && !array.columns.empty() ? fmt::format("{:.1f}x", described.ratio) : std::string("-");
}

/// One line an array where that fits the screen, else two.
std::string array_table(const std::vector<ArrayInfo>& arrays) {
  TextTable one({{"array"},
                 {"type"},
                 {"shape"},
                 {"a row", Align::kRight},
                 {"chunk"},
                 {"filters"},
                 {"on disk", Align::kRight},
                 {"ratio", Align::kRight},
                 {"read by"}});
  TextTable two({{"array"},
                 {"type"},
                 {"shape"},
                 {"a row", Align::kRight},
                 {"on disk", Align::kRight},
                 {"ratio", Align::kRight},
                 {"read by"}});
  std::vector<std::string> second;
  for (const ArrayInfo& array : arrays) {
    const ArrayDescription s = describe_array(array);
    const std::string name = shorten(array.path, kNameColumns), shape = shape_text(array.shape);
    const std::string row = array.columns.empty() ? "?" : format_bytes(s.row_bytes);  // no type that we know
    one.add({name, s.type, shape, row, s.chunk, array.codec_text(), on_disk(array), ratio_text(array, s), s.read_by});
    two.add({name, s.type, shape, row, on_disk(array), ratio_text(array, s), s.read_by});
    const bool chunked = array.layout == Layout::kChunked;
    second.push_back(fmt::format("  {}{}, {}", chunked ? "chunks of " : "", s.chunk,
                                 array.filters.empty() ? "no filter" : "filters " + array.codec_text()));
  }
  const bool fits = one.width() + 2 <= kScreenColumns;
  const std::vector<std::string> lines = (fits ? one : two).lines();
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    out += "  " + lines[i] + "\n";
    if (!fits && i > 0) out += "  " + shorten(second[i - 1], kScreenColumns - 2) + "\n";
  }
  return out;
}

std::string section(const std::string& label, const std::vector<std::string>& sentences) {
  constexpr std::size_t kShown = 12;
  std::string out;
  for (std::size_t i = 0; i < std::min(sentences.size(), kShown); ++i)
    out += paragraph(i == 0 ? label : "", kInspectLabelColumns, sentences[i]);
  if (sentences.size() > kShown)
    out +=
        paragraph("", kInspectLabelColumns, fmt::format("and {} more (--json lists them)", sentences.size() - kShown));
  return out;
}

/// What open() would make of the files: the one thing a newcomer types next.
struct CommonSamples {
  std::string text;
  Json json;
};
CommonSamples samples(const std::vector<std::string>& paths) {
  try {
    const Dataset dataset = open(paths);
    std::vector<std::string> fields;
    for (const Field& f : dataset.fields()) fields.push_back(f.name);
    Json left_out = Json::array();
    std::vector<std::string> names;
    for (const LeftOut& one : dataset.left_out()) {
      left_out.push_back({{"path", one.path}, {"reason", one.reason}});
      names.push_back(fmt::format("{} ({})", one.path, one.reason));
    }
    Json json = {{"rows", dataset.size()},
                 {"sample_bytes", dataset.sample_bytes()},
                 {"fields", fields},
                 {"left_out", std::move(left_out)}};
    constexpr std::size_t kNamed = 4;
    const std::size_t more = names.size() - std::min(names.size(), kNamed);
    names.resize(names.size() - more);
    std::string without = names.empty() ? "" : fmt::format(". Left out: {}", fmt::join(names, "; "));
    if (more > 0) without += fmt::format("; and {} more (--json lists them)", more);
    const std::string files = paths.size() == 1 ? "" : fmt::format(" in {} files", group_digits(paths.size()));
    return {fmt::format("hr.open takes {}: {} samples of {}{}{}", fmt::join(fields, ", "), group_digits(dataset.size()),
                        format_bytes(dataset.sample_bytes()), files, without),
            std::move(json)};
  } catch (const Error& error) {
    std::string why = error.message().substr(0, error.message().find('\n'));  // a list may follow: the table has it
    if (why.ends_with(':')) why.pop_back();
    const bool choice = error.code() == ErrorCode::kInvalidArgument;
    return {fmt::format("hr.open {}: {}", choice ? "needs fields= to choose arrays" : "takes none of them", why),
            {{"error", error_json(error)}}};
  }
}

/// Summarize the fields that open() takes by itself; of the key alone where those have to be chosen.
LengthSummary lengths_by(const std::vector<std::string>& paths, const SampleBy& by) {
  OpenOptions options;
  const bool of_arrays = by.key.find('*') != std::string::npos;
  if (of_arrays) return summarize_lengths(open(paths, {.fields = {{by.key, ""}}}), by.key);
  options.sample_by = by;
  const std::string name =
      by.column ? fmt::format("column {} of {}", *by.column, by.key) : (by.key.empty() ? by.offsets : by.key);
  try {
    return summarize_lengths(open(paths, options), name);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidArgument || by.key.empty()) throw;
  }
  options.fields = {{by.key, ""}};
  return summarize_lengths(open(paths, options), name);
}

/// Arrays of an image, the size of their voxels, and what their axes are.
std::vector<std::string> voxel_sentences(const std::vector<ArrayInfo>& arrays) {
  std::vector<std::string> sentences;
  for (const ArrayInfo& array : arrays)
    if (array.voxel)
      sentences.push_back(fmt::format("{}: {}, the first at {}{}", array.path, array.voxel->text(),
                                      fmt::join(array.voxel->origin, ", "),
                                      array.named_axes.empty() ? "" : ", axes " + names_text(array.named_axes)));
  return sentences;
}

std::string first_text(const InspectedFile& file, const std::string& sample_text) {
  std::string out = fmt::format("{}\n  {}, {}, {} array{}\n\n", file.path, file.format, format_bytes(file.size_bytes),
                                file.arrays.size(), plural(file.arrays.size()));
  if (file.arrays.empty()) return out + "  No array with at least one dimension lies in this file.\n";
  const FileDescription described = describe_arrays(file.arrays, file.remedies);
  const Storage storage = storage_of(file.path);
  return out + array_table(file.arrays) + "\n" + paragraph("Samples", kInspectLabelColumns, sample_text) +
         paragraph("Storage", kInspectLabelColumns, fmt::format("{}. {}", storage.name, storage.meaning())) +
         section("Voxels", voxel_sentences(file.arrays)) + section("Fast", described.fast) +
         section("Mind", described.care) + section("Refused", described.refused);
}

/// "16,384 rows", "100 to 121,096 rows".
std::string rows_text(const InspectedFile& file) {
  std::set<std::uint64_t> rows;
  for (const ArrayInfo& array : file.arrays) rows.insert(array.rows());
  if (rows.empty()) return "-";
  if (rows.size() == 1) return group_digits(*rows.begin());
  return fmt::format("{} to {}", group_digits(*rows.begin()), group_digits(*rows.rbegin()));
}

/// Files beside the first: those that differ or failed come first, the rest as one line.
std::string others_text(const std::vector<const InspectedFile*>& others) {
  std::string out = "\n";
  std::vector<const InspectedFile*> odd;
  std::vector<const InspectedFile*> alike;
  std::uint64_t alike_bytes = 0;
  for (const InspectedFile* file : others) (file->error || !file->differences.empty() ? odd : alike).push_back(file);
  for (const InspectedFile* file : alike) alike_bytes += file->size_bytes;
  if (!alike.empty()) {
    out += fmt::format("{} more file{} with the same arrays, {}\n\n", group_digits(alike.size()), plural(alike.size()),
                       format_bytes(alike_bytes));
    TextTable table({{"file"}, {"rows", Align::kRight}, {"on disk", Align::kRight}});
    for (std::size_t i = 0; i < std::min(alike.size(), kFilesShown); ++i)
      table.add({shorten(alike[i]->path, 64), rows_text(*alike[i]), format_bytes(alike[i]->size_bytes)});
    for (const std::string& line : table.lines()) out += "  " + line + "\n";
    if (alike.size() > kFilesShown) out += fmt::format("  and {} more\n", group_digits(alike.size() - kFilesShown));
  }
  if (odd.empty()) return out;
  out += fmt::format("{}{} file{} unlike the first\n", alike.empty() ? "" : "\n", odd.size(), plural(odd.size()));
  for (std::size_t i = 0; i < std::min(odd.size(), kFilesShown); ++i) {
    out += fmt::format("  {}\n", odd[i]->path);
    if (odd[i]->error)
      out += paragraph(
          "", 4,
          fmt::format("{}: {} {}", to_string(odd[i]->error->code()), odd[i]->error->message(), odd[i]->error->hint()));
    for (const std::string& difference : odd[i]->differences) out += paragraph("", 4, difference);
  }
  if (odd.size() > kFilesShown) out += fmt::format("  and {} more (--json lists them)\n", odd.size() - kFilesShown);
  return out;
}

}  // namespace

ToolResult inspect(const std::vector<std::string>& paths, const InspectOptions& options) {
  std::vector<InspectedFile> files;
  for (const std::string& path : expand_paths(paths).value()) files.push_back(inspect_file(path));
  const auto first = std::find_if(files.begin(), files.end(), [](const InspectedFile& f) { return !f.error; });
  if (first == files.end()) throw *files.front().error;

  ToolResult result;
  std::vector<const InspectedFile*> others;
  Json list = Json::array();
  for (InspectedFile& file : files) {
    if (&file != &*first) {
      if (!file.error) file.differences = differences(*first, file);
      others.push_back(&file);
    }
    result.findings = result.findings || file.error || !file.differences.empty() || file.lacks_chunks;
    for (const ArrayInfo& array : file.arrays)
      result.findings = result.findings || array.read_path != ReadPath::kNative;
    if (file.error && is_bad_file(file.error->code())) result.bad_data = true;
    list.push_back(to_json(file));
  }
  std::vector<std::string> alike;  // with the first: the others would be refused beside it
  for (const InspectedFile& file : files)
    if (!file.error && file.differences.empty()) alike.push_back(file.path);
  const CommonSamples sample = samples(alike);
  result.text = first_text(*first, sample.text);
  const std::optional<LengthSummary> lengths =
      options.sample_by ? std::optional(lengths_by(alike, *options.sample_by)) : std::nullopt;
  if (lengths) result.text += lengths->text;
  Json values = Json::array();
  std::vector<std::string> told;
  for (const std::string& array : options.values) {
    const VoxelValues counted = count_values(alike, array);
    told.push_back(fmt::format("{}: {}", array, counted.text()));
    values.push_back(counted.json());
  }
  result.text += section("Values", told);
  if (!options.picture.empty()) result.png = slice_picture(first->path, options.picture);
  if (!others.empty()) result.text += others_text(others);
  const Storage storage = storage_of(first->path);
  Json json = {{"files", std::move(list)},
               {"samples", sample.json},
               {"storage",
                {{"kind", to_string(storage.kind)},
                 {"name", storage.name},
                 {"shared", storage.shared()},
                 {"means", storage.meaning()}}},
               {"findings", result.findings}};
  if (lengths) json["lengths"] = lengths->json;
  if (!values.empty()) json["values"] = std::move(values);
  result.json = dump(json);
  return result;
}

}  // namespace headrace
