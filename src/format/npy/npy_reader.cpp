#include "format/npy/npy_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "codec/raw_deflate.h"
#include "format/nearest_name.h"
#include "format/npy/npy_array.h"
#include "format/npy/npy_header.h"
#include "format/npy/zip_directory.h"

namespace headrace::npy {
namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr std::uint64_t kMostRatio = 1040;  // deflate cannot do better than 1032

struct Entry {
  ArrayInfo info;
  NpyHeader header;
  NpyValues values;
};

class NpyReader final : public FormatReader {
 public:
  NpyReader(std::string format_name, std::string path, std::shared_ptr<RandomAccessFile> file,
            std::vector<Entry> entries, bool any_name)
      : format_name_(std::move(format_name)),
        path_(std::move(path)),
        file_(std::move(file)),
        entries_(std::move(entries)),
        any_name_(any_name) {
    std::ranges::sort(entries_, {}, [](const Entry& e) -> const std::string& { return e.info.path; });
    for (const Entry& entry : entries_) arrays_.push_back(entry.info);
  }

  [[nodiscard]] std::string format_name() const override { return format_name_; }
  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] const std::vector<ArrayInfo>& arrays() const override { return arrays_; }
  [[nodiscard]] const RandomAccessFile& file() const override { return *file_; }

  Result<std::shared_ptr<ArrayReader>> open_array(const std::string& asked) const override {
    const std::string name = asked.substr(std::min(asked.find_first_not_of('/'), asked.size()));
    const auto entry = std::ranges::find_if(entries_, [&](const Entry& e) { return any_name_ || e.info.path == name; });
    if (entry == entries_.end()) return missing(name);
    if (entry->info.read_path == ReadPath::kUnsupported)
      return std::move(Error(ErrorCode::kUnsupported, entry->info.reason)
                           .with_file(path_)
                           .with_field(entry->info.path)
                           .with_stage("open")
                           .with_hint(entry->header.type.hint));
    return open_npy_array(entry->info, entry->header, entry->values);
  }

 private:
  [[nodiscard]] Error missing(const std::string& name) const {
    std::vector<std::string> names;
    for (const ArrayInfo& info : arrays_) names.push_back(info.path);
    Error error(ErrorCode::kFieldMissing, fmt::format("the file has no array '{}'", name));
    if (!names.empty()) error.with_hint("It has: " + list_names(nearest_first(name, std::move(names))) + ".");
    return std::move(error.with_file(path_).with_field(name));
  }

  const std::string format_name_, path_;
  const std::shared_ptr<RandomAccessFile> file_;
  std::vector<Entry> entries_;
  std::vector<ArrayInfo> arrays_;
  const bool any_name_;
};

/// "train" for "data/train_07.npy"; "07" for "07.npy", "x2" for "x2.npy".
std::string array_name(const std::string& path) {
  constexpr std::string_view kSeparators = "_-. ";
  const std::string stem = std::filesystem::path(path).stem().string();
  const std::size_t before = stem.find_last_not_of("0123456789");  // the number at the end
  if (before == std::string::npos || before + 1 == stem.size() ||
      kSeparators.find(stem[before]) == std::string_view::npos)
    return stem;
  const std::size_t last = stem.find_last_not_of(kSeparators, before);
  return last == std::string::npos ? stem : stem.substr(0, last + 1);
}

/// Refuse what follows the values: arrays that were saved into the same file one after the other.
Status check_end(const NpyHeader& header, std::uint64_t size_bytes) {
  const std::uint64_t end = header.header_bytes + header.value_bytes;
  if (!header.type.refusal.empty() || size_bytes == end) return {};
  return std::move(Error(ErrorCode::kUnsupported, fmt::format("{} bytes follow the array's {}", size_bytes - end, end))
                       .with_hint("Several arrays in one file? Save them by np.savez."));
}

/// The header of a member; of a deflated one, its first bytes are decoded.
Result<NpyHeader> read_member_header(const RandomAccessFile& file, const ZipMember& member) {
  const auto plain = [&](std::uint64_t offset, std::span<std::byte> out) -> Status {
    return file.read_at(member.stored.offset + offset, out);
  };
  const auto deflated = [&](std::uint64_t offset, std::span<std::byte> out) -> Status {
    std::vector<std::byte> start(offset + out.size());
    // The stream of so short a start is hardly longer than what it holds.
    std::vector<std::byte> stored(std::min<std::uint64_t>(member.stored.size, start.size() + start.size() / 4 + 1024));
    HEADRACE_TRY(file.read_at(member.stored.offset, stored));
    HEADRACE_ASSIGN(const std::size_t got, inflate_raw_start(stored, start));
    if (got < start.size())
      return Error(ErrorCode::kCorruptData,
                   fmt::format("the deflate stream ends within the header, after {} bytes", got));
    std::copy_n(start.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return {};
  };
  return member.method == 0 ? read_npy_header(plain, member.decoded_bytes)
                            : read_npy_header(deflated, member.decoded_bytes);
}

/// A member that cannot be read still is listed; `why` says why not.
void refuse(NpyHeader& header, std::string why, std::string hint) {
  header.type.refusal = std::move(why);
  header.type.hint = std::move(hint);
  if (header.shape.empty()) header.shape = {0};
}

Status check_member(const ZipMember& member) {
  if (member.method == 0 && member.stored.size != member.decoded_bytes)
    return Error(ErrorCode::kCorruptData, fmt::format("{} bytes are stored as they are, but {} are expected",
                                                      member.stored.size, member.decoded_bytes));
  if (member.method == 8 && member.decoded_bytes / kMostRatio > member.stored.size)
    return Error(ErrorCode::kCorruptData,
                 fmt::format("{} deflated bytes cannot hold {}", member.stored.size, member.decoded_bytes));
  return {};
}

Result<Entry> open_member(const std::shared_ptr<RandomAccessFile>& file, const std::string& path,
                          const ZipMember& member) {
  Entry entry;
  entry.values = {file, path, member.stored, member.method != 0, member.crc32};
  HEADRACE_TRY(check_member(member));
  if (member.encrypted || (member.method != 0 && member.method != 8)) {
    refuse(entry.header,
           member.encrypted ? "an encrypted member" : fmt::format("a member packed by zip's method {}", member.method),
           "Save it by np.savez or np.savez_compressed.");
  } else {
    HEADRACE_ASSIGN(entry.header, read_member_header(*file, member));
    HEADRACE_TRY(check_end(entry.header, member.decoded_bytes));
    if (entry.values.deflated && member.decoded_bytes > kMostDeflatedBytes && entry.header.type.refusal.empty())
      refuse(entry.header,
             fmt::format("a deflated member of {} bytes, which would be decoded whole for every row; {} is the limit",
                         member.decoded_bytes, kMostDeflatedBytes),
             "Save it by np.savez, which does not compress, in smaller files, or as HDF5 with chunks.");
    if (!entry.values.deflated) {
      entry.values.stored.offset += entry.header.header_bytes;
      entry.values.stored.size -= entry.header.header_bytes;
    }
  }
  const std::string name = member.name.substr(0, member.name.size() - kSuffix.size());
  entry.info = describe(name, entry.header, entry.values);
  return entry;
}

}  // namespace

Result<std::shared_ptr<FormatReader>> open_npy(std::shared_ptr<RandomAccessFile> file, const std::string& path) {
  const auto read = [&](std::uint64_t offset, std::span<std::byte> out) { return file->read_at(offset, out); };
  Entry entry;
  HEADRACE_ASSIGN(entry.header, read_npy_header(read, file->size()));
  HEADRACE_TRY(check_end(entry.header, file->size()));
  if (entry.header.shape.empty())
    return std::move(Error(ErrorCode::kUnsupported, "a single number, without any dimension")
                         .with_hint("Rows are expected: np.save(path, np.atleast_1d(array))."));
  entry.values = {file, path, {entry.header.header_bytes, entry.header.value_bytes}, false, 0};
  entry.info = describe(array_name(path), entry.header, entry.values);
  const std::string name = fmt::format("NumPy .npy (version {}.0)", entry.header.version);
  std::vector<Entry> entries;
  entries.push_back(std::move(entry));
  return std::shared_ptr<FormatReader>(
      std::make_shared<NpyReader>(name, path, std::move(file), std::move(entries), /*any_name=*/true));
}

Result<std::shared_ptr<FormatReader>> open_npz(std::shared_ptr<RandomAccessFile> file, const std::string& path) {
  HEADRACE_ASSIGN(const std::vector<ZipMember> members, read_zip_directory(*file));
  std::vector<Entry> entries;
  std::size_t npy_members = 0;
  for (const ZipMember& member : members) {
    if (!member.name.ends_with(kSuffix) || member.name.size() == kSuffix.size()) continue;
    ++npy_members;
    auto entry = open_member(file, path, member);
    if (!entry.ok()) return std::move(entry.error().with_field(member.name));
    if (!entry->header.shape.empty()) entries.push_back(std::move(*entry));
  }
  if (npy_members == 0)
    return std::move(
        Error(ErrorCode::kUnsupported, "a zip archive without .npy members").with_hint("Unpack it first."));
  return std::shared_ptr<FormatReader>(
      std::make_shared<NpyReader>("NumPy .npz", path, std::move(file), std::move(entries), /*any_name=*/false));
}

}  // namespace headrace::npy
