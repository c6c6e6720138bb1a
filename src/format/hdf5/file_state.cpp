#include "format/hdf5/file_state.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "format/hdf5/structure/group_check.h"

namespace headrace::hdf5 {
namespace {

constexpr std::size_t kMetadataCacheBytes = 4 << 20;  // HDF5 lets it grow to 32 MiB a file

std::string directory_of(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path parent = fs::path(path).parent_path();
  const fs::path real = fs::canonical(parent.empty() ? fs::path(".") : parent, failed);
  return failed ? std::string() : real.string();
}

/// Messages that 1.10.8 gives for what it has never heard of: "bad version number for layout message" (chunked data of
/// format 4.0), "… for datatype message" (bool and complex of v112 and later), and their like.
bool speaks_of_versions(const LibraryError& error) {
  static constexpr std::array<const char*, 8> kWords = {
      "bad version number",   "bad superblock version number", "wrong superblock version", "unknown version",
      "bad flag combination", "unknown chunk index type",      "invalid datatype version", "wrong version"};
  for (const char* words : kWords)
    if (error.mentions(words)) return true;
  return false;
}

/// " and a layout message of version 5", for what libhdf5 1.10 does not know.
std::string newer_messages(const std::vector<HeaderMessage>& header) {
  std::string text;
  for (const HeaderMessage& m : header) {
    if (m.bytes.empty() || m.shared()) continue;
    const unsigned first = std::to_integer<unsigned>(m.bytes[0]);
    if (m.is(MessageType::kLayout) && first > 4) text += fmt::format(" and a layout message of version {}", first);
    if (m.is(MessageType::kDatatype) && first >> 4 > 3)
      text += fmt::format(" and a datatype message of version {}", first >> 4);
  }
  return text;
}

}  // namespace

Error library_failure(const LibraryLock& library, FileState& state, const std::string& what,
                      const std::vector<HeaderMessage>& header) {
  const LibraryError said = last_library_error(library);
  if (state.driver->read_error) {
    Error cause = *state.driver->read_error;
    state.driver->read_error.reset();
    return cause;
  }
  const std::string version = library_version(library);
  if (!speaks_of_versions(said))
    return Error(ErrorCode::kCorruptData, fmt::format("cannot {}: {}", what, said.text()))
        .with_hint("The file's metadata is damaged.");
  const std::string message = fmt::format("libhdf5 {} cannot {}: {}. The file has superblock version {}{}", version,
                                          what, said.text(), state.superblock.version, newer_messages(header));
  // Object headers have checksums since superblock 2, so there a strange version is no damage.
  if (state.superblock.version < 2)
    return Error(ErrorCode::kCorruptData, message)
        .with_hint("It is damaged, or was written with features newer than this library.");
  return Error(ErrorCode::kUnsupported, message + ": it was written for a newer HDF5")
      .with_hint(
          "Write it with h5py's libver=\"earliest\" or libver=(\"earliest\", \"v110\"), convert it with a "
          "newer h5repack --low=0 --high=2, or build Headrace against HDF5 2.0 or later.");
}

Status open_with_library(const LibraryLock& library, FileState& state) {
  HEADRACE_TRY(check_root(*state.driver->file, state.superblock));
  if (state.directory.empty()) state.directory = directory_of(state.path);
  Id access = driver_access_list(library, *state.driver);
  if (!access.ok())
    return Error(ErrorCode::kInternal, "libhdf5 refuses the driver: " + last_library_error(library).text());
  H5AC_cache_config_t cache{};
  cache.version = H5AC__CURR_CACHE_CONFIG_VERSION;
  if (H5Pget_mdc_config(access.get(), &cache) >= 0) {
    cache.max_size = kMetadataCacheBytes;
    H5Pset_mdc_config(access.get(), &cache);
  }
  state.driver->opening = true;
  state.file = Id(H5Fopen(state.path.c_str(), H5F_ACC_RDONLY, access.get()));
  state.driver->opening = false;
  if (state.file.ok()) return {};
  return library_failure(library, state, "open the file");
}

std::string format_name_of(const FileState& state) {
  return fmt::format("HDF5 (superblock {})", state.superblock.version);
}

Status FileState::use_library(const LibraryLock& library) {
  if (!file.ok()) HEADRACE_TRY(open_with_library(library, *this));
  ++users_;
  return {};
}

}  // namespace headrace::hdf5
