#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "format/format_reader.h"
#include "format/hdf5/hdf5_reader.h"
#include "format/hdf5/remembered.h"
#include "format/npy/cache_folder.h"
#include "format/npy/npy_header.h"
#include "format/npy/npy_reader.h"
#include "format/parquet/footer.h"
#include "format/parquet/parquet_reader.h"
#include "format/readable_directory.h"
#include "format/sniff.h"
#include "format/tokens/megatron_index.h"
#include "format/tokens/token_file.h"
#include "format/tokens/token_manifest.h"
#include "format/zarr/store_walk.h"
#include "format/zarr/zarr_reader.h"
#include "storage/file_system.h"

namespace headrace {
namespace {

constexpr std::uint64_t kHeadBytes = 512;

Error not_ours(std::span<const std::byte> head, const std::string& path) {
  Sniffed found = sniff(head);
  if (found.what.empty() && (path.ends_with(".bin") || path.ends_with(".ds")))
    found.hint = "If it is a file of tokens, hr.open_tokens (C++: headrace::open_tokens) takes it.";
  Error error(ErrorCode::kUnsupported,
              found.what.empty() ? "no HDF5, Parquet, Zarr or NumPy file, nor anything else that is known here"
                                 : fmt::format("no HDF5, Parquet, Zarr or NumPy file: {}", found.what));
  return std::move(error.with_hint(found.hint));
}

using Opened = Result<std::shared_ptr<FormatReader>>;
using File = std::shared_ptr<RandomAccessFile>;

/// A format of one file: its first bytes say that it is.
struct FileFormat {
  bool (*begins)(std::span<const std::byte> head);
  Opened (*open)(File file, const std::string& path);
};

constexpr FileFormat kFileFormats[] = {
    {npy::is_npy, npy::open_npy},
    {is_zip, npy::open_npz},
    {parquet::is_parquet, parquet::open_parquet},
    {token_files::is_megatron_index, [](File, const std::string& path) { return token_files::open_megatron(path); }},
};

/// A format whose files are a directory.
struct DirectoryFormat {
  bool (*is)(const std::string& path);
  Opened (*open)(const std::string& path);
};

/// Open a directory that Headrace wrote: a cache, or refuse tokenised text, whose manifest looks alike.
Opened open_cache_folder(const std::string& path) {
  if (!token_files::is_token_folder(path)) return npy::open_cache_folder(path);
  return Error(ErrorCode::kUnsupported, "this is a folder of tokens")
      .with_file(path)
      .with_stage("open")
      .with_hint("hr.open_tokens (C++: headrace::open_tokens) takes it.");
}

constexpr DirectoryFormat kDirectoryFormats[] = {
    {npy::is_cache_folder, open_cache_folder},
    {zarr::is_store, zarr::open_store},
};

Opened open_bytes(File file, const std::string& path) {
  if (file->size() == 0)
    return Error(ErrorCode::kCorruptData, "the file is empty").with_hint("Its copy or its writer failed?");
  HEADRACE_ASSIGN(const bool is_hdf5, hdf5::is_hdf5(*file));  // its bytes may begin behind a block of the user's
  if (is_hdf5) return hdf5::open_hdf5(std::move(file), path);
  std::vector<std::byte> head(static_cast<std::size_t>(std::min(kHeadBytes, file->size())));
  HEADRACE_TRY(file->read_at(0, head));
  for (const FileFormat& format : kFileFormats)
    if (format.begins(head)) return format.open(std::move(file), path);
  return not_ours(head, path);
}

}  // namespace

bool is_readable_directory(const std::string& path) {
  return std::ranges::any_of(kDirectoryFormats, [&](const DirectoryFormat& format) { return format.is(path); });
}

std::string unread_directory(const std::string& path) {
  return zarr::known_directory(path);
}

Result<std::shared_ptr<FormatReader>> open_file(const std::string& path) {
  for (const DirectoryFormat& format : kDirectoryFormats)
    if (format.is(path)) return format.open(path);
  auto file = FileSystem::of(path).open(path);
  if (!file.ok()) return std::move(file.error().with_file(path).with_stage("open"));
  auto reader = open_bytes(std::move(*file), path);
  if (!reader.ok()) reader.error().with_file(path).with_stage("open");
  return reader;
}

std::shared_ptr<FormatReader> open_remembered(const std::string& path, const FileFingerprint& fingerprint,
                                              std::string_view facts) {
  return hdf5::open_remembered(FileSystem::of(path).known(path, fingerprint), path, facts);
}

}  // namespace headrace
