#include "format/hdf5/outside_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "storage/file_system.h"

namespace headrace::hdf5 {
namespace {

constexpr int kFilesLimit = 10'000;

/// What a file is now; nullopt if it is no file any more.
std::optional<FileFingerprint> fingerprint_now(const std::string& path) {
  const auto status = FileSystem::of(path).status(path);
  if (!status.ok() || status->kind != PathKind::kFile) return std::nullopt;
  return status->fingerprint;
}

/// H5Pget_virtual_filename and its sister, as strings.
std::string virtual_name(ssize_t (*get)(hid_t, size_t, char*, size_t), hid_t list, std::size_t index) {
  const ssize_t n = get(list, index, nullptr, 0);
  if (n <= 0) return {};
  std::string name(static_cast<std::size_t>(n) + 1, '\0');
  get(list, index, name.data(), name.size());
  name.resize(static_cast<std::size_t>(n));
  return name;
}

std::vector<hsize_t> extent_of(hid_t space) {
  const int rank = H5Sget_simple_extent_ndims(space);
  std::vector<hsize_t> dims(rank > 0 ? static_cast<std::size_t>(rank) : 0);
  if (rank > 0) H5Sget_simple_extent_dims(space, dims.data(), nullptr);
  return dims;
}

// \param points  Elements that are mapped.
Status check_source_dataset(const LibraryLock& library, hid_t file, const std::string& name, hid_t mapped_space,
                            hssize_t points) {
  const auto refuse = [&](ErrorCode code, const std::string& why) {
    return Error(code, fmt::format("its virtual source '{}' {}", name, why));
  };
  const Id source(H5Dopen2(file, name.c_str(), H5P_DEFAULT));
  if (!source.ok()) return refuse(ErrorCode::kNotFound, "cannot be opened: " + last_library_error(library).text());
  const Id list(H5Dget_create_plist(source.get()));
  const Id space(H5Dget_space(source.get()));
  const H5D_layout_t layout = H5Pget_layout(list.get());
  if (layout == H5D_VIRTUAL) return refuse(ErrorCode::kUnsupported, "is itself virtual");
  if (layout == H5D_CONTIGUOUS && H5Pget_external_count(list.get()) > 0)
    return refuse(ErrorCode::kUnsupported, "is stored in external raw files");
  for (int i = 0; i < H5Pget_nfilters(list.get()); ++i) {
    std::size_t none = 0;
    unsigned flags = 0, config = 0;
    const H5Z_filter_t id =
        H5Pget_filter2(list.get(), static_cast<unsigned>(i), &flags, &none, nullptr, 0, nullptr, &config);
    if (H5Zfilter_avail(id) <= 0) return refuse(ErrorCode::kUnsupported, fmt::format("needs filter {}", id));
  }
  if (H5Sget_select_type(mapped_space) == H5S_SEL_ALL) {  // the file keeps no extent for "all of it"
    const hssize_t all = H5Sget_simple_extent_npoints(space.get());
    if (all == points) return {};
    return refuse(ErrorCode::kCorruptData, fmt::format("has {} elements, {} are mapped", all, points));
  }
  const std::vector<hsize_t> have = extent_of(space.get());
  std::vector<hsize_t> first(have.size()), last(have.size());
  if (extent_of(mapped_space).size() != have.size() ||
      (!have.empty() && H5Sget_select_bounds(mapped_space, first.data(), last.data()) < 0))
    return refuse(ErrorCode::kCorruptData, "does not have the rank it is mapped with");
  for (std::size_t d = 0; d < have.size(); ++d)
    if (last[d] >= have[d])
      return refuse(ErrorCode::kCorruptData,
                    fmt::format("has {} entries along axis {}, {} are mapped", have[d], d, last[d] + 1));
  return {};
}

}  // namespace

Result<std::vector<RawSegment>> external_segments(const LibraryLock&, hid_t creation_list, const std::string& directory,
                                                  std::uint64_t needed_bytes) {
  if (directory.empty()) return Error(ErrorCode::kUnsupported, "external raw files beside a file without a directory");
  std::vector<RawSegment> segments;
  const int count = H5Pget_external_count(creation_list);
  std::uint64_t left = needed_bytes;
  for (int i = 0; i < std::min(count, kFilesLimit) && left > 0; ++i) {
    std::string name(4096, '\0');
    off_t offset = 0;
    hsize_t size = 0;
    if (H5Pget_external(creation_list, static_cast<unsigned>(i), name.size() - 1, name.data(), &offset, &size) < 0)
      return Error(ErrorCode::kCorruptData, "the list of external raw files is damaged");
    name.resize(name.find('\0'));
    HEADRACE_ASSIGN(const std::string path, path_inside(directory, name));
    const auto file = fingerprint_now(path);
    if (!file) return Error(ErrorCode::kNotFound, fmt::format("cannot find '{}'", name));
    const std::uint64_t want = size == H5F_UNLIMITED ? left : std::min<std::uint64_t>(left, size);
    const auto start = static_cast<std::uint64_t>(offset);
    if (offset < 0 || start > file->size_bytes || want > file->size_bytes - start)
      return Error(ErrorCode::kCorruptData, fmt::format("external file '{}' has {} bytes, {} from {} on are needed",
                                                        name, file->size_bytes, want, start));
    segments.push_back({path, start, want});
    left -= want;
  }
  if (left > 0)
    return Error(ErrorCode::kCorruptData,
                 fmt::format("its external raw files hold {} bytes, {} are needed", needed_bytes - left, needed_bytes));
  return segments;
}

Result<std::vector<OutsideFile>> virtual_sources(const LibraryLock& library, hid_t file, hid_t creation_list,
                                                 DriverState& state) {
  std::size_t count = 0;
  if (H5Pget_virtual_count(creation_list, &count) < 0 || count > kFilesLimit)
    return Error(ErrorCode::kUnsupported, fmt::format("a virtual dataset of {} mappings", count));
  std::vector<OutsideFile> sources;
  std::map<std::string, Id> open;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = virtual_name(H5Pget_virtual_filename, creation_list, i);
    const std::string dataset = virtual_name(H5Pget_virtual_dsetname, creation_list, i);
    if (name.find('%') != std::string::npos || dataset.find('%') != std::string::npos)
      return Error(ErrorCode::kUnsupported, fmt::format("virtual sources by pattern ('{}', '{}')", name, dataset));
    const Id mapped(H5Pget_virtual_srcspace(creation_list, i));
    const Id into(H5Pget_virtual_vspace(creation_list, i));
    const hssize_t points = H5Sget_select_npoints(into.get());
    if (points < 0 || static_cast<hsize_t>(points) == H5S_UNLIMITED)
      return Error(ErrorCode::kUnsupported, "virtual sources without an end");
    if (name == ".") {
      HEADRACE_TRY(check_source_dataset(library, file, dataset, mapped.get(), points));
      continue;
    }
    HEADRACE_ASSIGN(const std::string path, path_inside(state.directory, name));
    auto [entry, is_new] = open.try_emplace(path);
    if (is_new) {
      const Id access = driver_access_list(library, state);
      state.sources_allowed = true;
      entry->second = Id(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()));
      state.sources_allowed = false;
      if (!entry->second.ok())
        return Error(ErrorCode::kCorruptData, fmt::format("its virtual source file '{}' cannot be opened: {}", name,
                                                          last_library_error(library).text()));
      sources.push_back({path, fingerprint_now(path).value_or(FileFingerprint{})});
    }
    HEADRACE_TRY(check_source_dataset(library, entry->second.get(), dataset, mapped.get(), points));
  }
  return sources;
}

Status check_sources(const std::vector<OutsideFile>& sources) {
  for (const OutsideFile& s : sources) {
    if (fingerprint_now(s.path) != s.fingerprint)
      return Error(ErrorCode::kFileChanged, fmt::format("virtual source '{}' is gone or has changed", s.path));
  }
  return {};
}

}  // namespace headrace::hdf5
