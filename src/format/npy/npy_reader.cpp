#include "format/npy/npy_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "codec/compression/raw_deflate.h"
#include "format/npy/npy_entries.h"
#include "format/npy/zip_directory.h"

namespace headrace::npy {
namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr std::uint64_t kMostRatio = 1040;  // deflate cannot do better than 1032

/// "train" for "data/train_07.npy"; "07" for "07.npy", "x2" for "x2.npy".
std::string array_name(const std::string& path) {
  constexpr std::string_view kSeparators = "_-. ";
  std::string stem = std::filesystem::path(path).stem().string();
  const std::size_t before = stem.find_last_not_of("0123456789");  // the number at the end
  if (before == std::string::npos || before + 1 == stem.size() ||
      kSeparators.find(stem[before]) == std::string_view::npos)
    return stem;
  const std::size_t last = stem.find_last_not_of(kSeparators, before);
  return last == std::string::npos ? stem : stem.substr(0, last + 1);
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
  HEADRACE_ASSIGN(Entry entry, open_npy_entry(file, path, array_name(path)));
  const std::string name = fmt::format("NumPy .npy (version {}.0)", entry.header.version);
  std::vector<Entry> entries;
  entries.push_back(std::move(entry));
  return make_npy_reader(name, path, std::move(file), std::move(entries), /*any_name=*/true);
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
    return Error(ErrorCode::kUnsupported, "a zip archive without .npy members").with_hint("Unpack it first.");
  return make_npy_reader("NumPy .npz", path, std::move(file), std::move(entries));
}

}  // namespace headrace::npy
