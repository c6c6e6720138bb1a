#include "tools/rewrite/rewrite_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <headrace/bytes.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <map>

#include "dataset/files/paths.h"
#include "storage/file_system.h"
#include "tools/json.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kChunkBytes = mebibytes(2);      // as inspect advises
constexpr std::uint64_t kLargeRowBytes = mebibytes(16);  // volumes: their chunks cut rows, for crops
constexpr std::uint64_t kMostSegments = 4096;
constexpr const char* kWorkName = ".headrace-rewrite";

/// Where the rows of a piece are in one run, as in a row of the array.
bool is_dense(const ArrayReader& reader) {
  const ArrayInfo& info = reader.info();
  if (reader.pieces_across() != 1) return false;
  if (info.layout == Layout::kChunked)
    for (std::size_t d = 1; d < info.shape.size(); ++d)
      if (d >= info.chunk_shape.size() || info.chunk_shape[d] != info.shape[d]) return false;
  return true;
}

/// Bytes of an element, which is what libhdf5 gives its shuffle filter as parameter. Text is not shuffled.
std::size_t shuffle_width(const ArrayInfo& info) {
  const bool is_text = !info.is_record && !info.columns.empty() && info.columns[0].dtype.kind == DType::Kind::kBytes;
  return is_text ? 1 : info.record_bytes;
}

/// Why an array is copied as it is stored; empty: it can be stored anew.
std::string why_kept(const ArrayInfo& info, const hdf5::StoredForm& form, std::uint64_t row_bytes) {
  if (info.read_path == ReadPath::kUnsupported) return info.reason;
  if (!form.as_decoded) return form.reason;
  if (info.rows() == 0 || row_bytes == 0) return "it is empty";
  if (info.layout == Layout::kChunked && info.stored_bytes == 0) return "nothing was ever written to it";
  if (row_bytes > kLargeRowBytes)
    return fmt::format("a row has {}: it is read in parts, for which its own chunks are made", format_bytes(row_bytes));
  return {};
}

class Planner {
 public:
  explicit Planner(const RewriteOptions& options) { plan_.options = options; }

  Result<RewritePlan> run(const std::vector<std::string>& paths) {
    HEADRACE_ASSIGN(const std::vector<std::string> sources, expand_paths(paths));
    if (plan_.options.to.empty())
      return Error(ErrorCode::kInvalidArgument, "no directory to write to is given").with_hint("Name one: --to fast/");
    plan_.work = (fs::path(plan_.options.to) / kWorkName).string();
    for (const std::string& source : sources) HEADRACE_TRY(add_file(source));
    HEADRACE_TRY(refuse_clashes());
    if (plan_.options.shuffle) HEADRACE_TRY(plan_shuffle());
    for (const RewriteFile& file : plan_.files) {
      for (const RewriteArray& array : file.arrays) {
        plan_.decoded_bytes += array.decoded_bytes();
        plan_.stored_bytes += array.made.info.stored_bytes;
      }
      for (const KeptArray& kept : file.kept) plan_.kept_bytes += kept.stored_bytes;
    }
    return std::move(plan_);
  }

 private:
  Status add_file(const std::string& source) {
    Status added = describe_file(source);
    if (!added.ok()) added.error().with_file(source);
    return added;
  }

  Status describe_file(const std::string& source) {
    HEADRACE_ASSIGN(const std::shared_ptr<FormatReader> reader, open_file(source));
    RewriteFile file;
    file.source = source;
    file.fingerprint = reader->file().fingerprint();
    file.is_hdf5 = reader->format_name().starts_with("HDF5");
    if (!file.is_hdf5 && !reader->format_name().starts_with("NumPy .npy "))
      return Error(ErrorCode::kUnsupported,
                   fmt::format("{} cannot be rewritten: HDF5 and .npy files can", reader->format_name()))
          .with_hint("Leave it out.");
    const fs::path name =
        file.is_hdf5 ? fs::path(source).filename() : fs::path(source).filename().replace_extension(".h5");
    file.output = (fs::path(plan_.options.to) / name).string();
    const std::string beside = (fs::path(plan_.work) / name).string();
    file.partial = beside + ".partial", file.journal = beside + ".journal", file.record = beside + ".json";
    std::vector<std::string> names;
    for (const ArrayInfo& info : reader->arrays())
      if (info.read_path != ReadPath::kUnsupported) names.push_back(info.path);
    hdf5::StoredForm native;
    native.as_decoded = true;
    std::vector<hdf5::StoredForm> forms(names.size(), native);
    if (file.is_hdf5) {
      HEADRACE_ASSIGN(forms, hdf5::stored_forms(source, names));
    }
    for (const ArrayInfo& info : reader->arrays()) {
      const auto at = std::find(names.begin(), names.end(), info.path);
      hdf5::StoredForm form;
      if (at != names.end()) form = forms[static_cast<std::size_t>(at - names.begin())];
      const std::uint64_t row_bytes = info.row_record_bytes();
      std::string kept = why_kept(info, form, row_bytes);
      std::shared_ptr<const ArrayReader> opened;
      if (kept.empty()) {
        HEADRACE_ASSIGN(opened, reader->open_array(info.path));
        if (info.is_record && !is_dense(*opened)) kept = "its records are spread over several chunks a row";
      }
      if (!kept.empty()) {
        if (!file.is_hdf5)
          return Error(ErrorCode::kUnsupported, "it cannot be written as HDF5: " + kept).with_field(info.path);
        file.kept.push_back({info.path, kept, info.stored_bytes});
        continue;
      }
      RewriteArray array;
      array.made.info = opened->info();
      array.made.element_bytes = shuffle_width(info);
      array.form = form;
      array.row_bytes = row_bytes;
      array.by_element = !is_dense(*opened);
      array.reader = std::move(opened);
      file.arrays.push_back(std::move(array));
    }
    plan_.files.push_back(std::move(file));
    return {};
  }

  /// An output that is a source, or two sources of one name.
  Status refuse_clashes() {
    std::map<std::string, std::string> outputs;
    for (const RewriteFile& file : plan_.files) {
      if (const auto [known, fresh] = outputs.emplace(file.output, file.source); !fresh)
        return Error(ErrorCode::kInvalidArgument,
                     fmt::format("{} and this file would both become {}", known->second, file.output))
            .with_file(file.source)
            .with_hint("Rewrite them into different directories.");
    }
    for (const RewriteFile& file : plan_.files) {
      HEADRACE_ASSIGN(const PathStatus there, FileSystem::of(file.output).status(file.output));
      if (there.kind == PathKind::kNothing) continue;
      for (const RewriteFile& other : plan_.files)
        if (there.fingerprint.device == other.fingerprint.device && there.fingerprint.inode == other.fingerprint.inode)
          return Error(ErrorCode::kInvalidArgument, "it would be written over: it is one of the sources")
              .with_file(file.output)
              .with_hint("Name another directory with --to.");
    }
    return {};
  }

  /// The leading array's rows are the samples; what has as many rows in every file goes with them.
  Status plan_shuffle() {
    const std::string leading = plan_.leading();
    for (RewriteFile& file : plan_.files) {
      const auto lead = std::find_if(file.arrays.begin(), file.arrays.end(),
                                     [&](const RewriteArray& a) { return a.made.info.path == leading; });
      if (lead == file.arrays.end())
        return Error(ErrorCode::kInvalidArgument,
                     fmt::format("it has no array '{}' whose rows could be shuffled with those of the other files",
                                 leading))
            .with_file(file.source);
      file.first_row = plan_.shuffled_rows;
      file.rows = lead->rows();
      plan_.shuffled_rows += file.rows;
    }
    std::map<std::string, std::size_t> in_files;
    for (const RewriteFile& file : plan_.files)
      for (const RewriteArray& array : file.arrays)
        if (array.rows() == file.rows) ++in_files[array.made.info.path];
    for (RewriteFile& file : plan_.files) {
      for (RewriteArray& array : file.arrays) {
        array.is_shuffled = array.rows() == file.rows && in_files[array.made.info.path] == plan_.files.size();
        if (array.rows() == file.rows && !array.is_shuffled)
          return not_everywhere(file, array.made.info.path,
                                "it has a row for each sample here, but not in every file, so that it cannot be "
                                "shuffled with them");
        if (array.is_shuffled) HEADRACE_TRY(same_form(file, array));
      }
      for (const KeptArray& kept : file.kept) HEADRACE_TRY(refuse_kept_rows(file, kept));
    }
    return {};
  }

  Status same_form(const RewriteFile& file, const RewriteArray& array) const {
    const RewriteFile& first = plan_.files.front();
    for (const RewriteArray& other : first.arrays) {
      if (other.made.info.path != array.made.info.path) continue;
      std::vector<std::uint64_t> a = other.made.info.shape, b = array.made.info.shape;
      a[0] = b[0] = 0;
      const auto dtypes = [](const RewriteArray& x) {
        std::string text = fmt::format("{} {}", x.made.info.record_bytes, x.form.swap_width);
        for (const Column& c : x.made.info.columns) text += c.name + c.dtype.name();
        return text;
      };
      if (a != b || dtypes(other) != dtypes(array))
        return not_everywhere(
            file, array.made.info.path,
            fmt::format("its rows are not like those of {}: shape ({}) and type {}, there ({}) and {}", first.source,
                        fmt::join(array.made.info.shape, ", "), array.made.info.columns[0].dtype.name(),
                        fmt::join(other.made.info.shape, ", "), other.made.info.columns[0].dtype.name()));
    }
    return {};
  }

  /// Rows that stay where they are while the samples move would belong to the wrong samples.
  Status refuse_kept_rows(const RewriteFile& file, const KeptArray& kept) const {
    HEADRACE_ASSIGN(const std::shared_ptr<FormatReader> reader, open_file(file.source));
    for (const ArrayInfo& info : reader->arrays())
      if (info.path == kept.path && info.rows() == file.rows && file.rows > 1)
        return not_everywhere(
            file, kept.path,
            fmt::format("it has a row for each sample and cannot be shuffled with them: {}", kept.reason));
    return {};
  }

  static Error not_everywhere(const RewriteFile& file, const std::string& path, const std::string& why) {
    return Error(ErrorCode::kInvalidArgument, why)
        .with_file(file.source)
        .with_field(path)
        .with_hint("Rewrite without --shuffle: a Loader shuffles as well (shuffle=True).");
  }

  RewritePlan plan_;
};

}  // namespace

std::uint64_t RewriteArray::segment_rows() const {
  const std::uint64_t chunk = chunk_rows();
  const std::uint64_t chunks = (rows() + chunk - 1) / chunk;
  return std::max<std::uint64_t>((chunks + kMostSegments - 1) / kMostSegments, 1) * chunk;
}

std::size_t RewriteArray::digest_width() const {
  for (const std::size_t width : {8U, 4U, 2U})
    if (made.info.record_bytes % width == 0) return width;
  return 1;
}

std::string RewritePlan::leading() const {
  std::map<std::string, std::uint64_t> bytes;
  for (const RewriteFile& file : files)
    for (const RewriteArray& array : file.arrays) bytes[array.made.info.path] += array.decoded_bytes();
  const auto most =
      std::max_element(bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == bytes.end() ? "" : most->first;
}

Result<RewritePlan> make_rewrite_plan(const std::vector<std::string>& paths, const RewriteOptions& options) {
  return Planner(options).run(paths);
}

void settle_storage(RewritePlan& plan, const ChunkCoding& coding) {
  const std::string leading = plan.leading();
  for (RewriteFile& file : plan.files) {
    std::uint64_t unit = 1;  // rows of the leading array's chunks: those of the others are a multiple
    for (int others = 0; others < 2; ++others) {
      for (RewriteArray& array : file.arrays) {
        if ((array.made.info.path == leading) == (others == 1)) continue;
        array.made.coding = coding;
        array.made.coding.shuffle = coding.shuffle && array.made.element_bytes > 1 && array.made.element_bytes < 256;
        array.made.chunk_shape.clear();
        if (coding.compression == Compression::kNone && !array.form.resizable) continue;
        std::uint64_t rows = plan.options.chunk_rows;
        if (rows == 0) {
          rows = std::bit_floor(std::max<std::uint64_t>(kChunkBytes / array.row_bytes, 1));
          rows = std::max(rows, unit);
        }
        rows = std::min({rows, array.rows(), std::max<std::uint64_t>(mebibytes(1024) / array.row_bytes, 1)});
        array.made.chunk_shape = array.made.info.shape;
        array.made.chunk_shape[0] = rows;
        if (others == 0) unit = rows;
      }
    }
  }
}

Result<ChunkCoding> coding_named(const std::string& name) {
  if (name == "lz4") return ChunkCoding{Compression::kLz4, 0, true};
  if (name == "zstd") return ChunkCoding{Compression::kZstd, 1, true};
  if (name == "blosc") return ChunkCoding{Compression::kBloscLz4, 5, true};
  if (name == "gzip") return ChunkCoding{Compression::kGzip, 4, true};
  if (name == "none") return ChunkCoding{};
  return Error(ErrorCode::kInvalidArgument, fmt::format("no codec is called '{}'", name))
      .with_hint("There are: auto, lz4, zstd, blosc, gzip, none.");
}

std::string identity_of(const RewritePlan& plan, const RewriteFile& file) {
  Json json;
  const auto fingerprint = [](const RewriteFile& f) {
    // Not its path as it was typed, nor the device, whose number is another one once it is mounted again.
    return fmt::format("{} {} {} {}", std::filesystem::path(f.source).filename().string(), f.fingerprint.inode,
                       f.fingerprint.size_bytes, f.fingerprint.mtime_ns);
  };
  json["source"] = fingerprint(file);
  Json& arrays = json["arrays"] = Json::array();
  for (const RewriteArray& a : file.arrays)
    arrays.push_back(fmt::format("{} {} chunk {} {}", a.made.info.path, to_string(a.made.coding), a.chunk_rows(),
                                 a.is_shuffled ? "shuffled" : "in order"));
  if (plan.options.shuffle) {
    json["seed"] = plan.options.seed;
    Json& all = json["all_sources"] = Json::array();
    for (const RewriteFile& f : plan.files) all.push_back(fingerprint(f));
  }
  return dump(json);
}

}  // namespace headrace
