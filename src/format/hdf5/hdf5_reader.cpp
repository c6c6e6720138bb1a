#include "format/hdf5/hdf5_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/nearest_name.h"
#include "format/hdf5/arrays/chunked_array.h"
#include "format/hdf5/arrays/library_array.h"
#include "format/hdf5/arrays/plain_arrays.h"
#include "format/hdf5/dataset_info.h"
#include "format/hdf5/file_state.h"
#include "format/hdf5/open_described.h"
#include "format/hdf5/remembered.h"
#include "format/hdf5/types/native_bytes.h"
#include "format/hdf5/types/readable_type.h"
#include "format/hdf5/virtual/virtual_array.h"
#include "format/hdf5/walk.h"

namespace headrace::hdf5 {
namespace {

/// Contiguous rows, or the fill value if they were never written.
Result<std::shared_ptr<ArrayBase>> open_contiguous(const LibraryLock& library, std::shared_ptr<FileState> state,
                                                   DatasetInfo info, const Id& dataset,
                                                   std::vector<std::byte> fill_element) {
  H5D_space_status_t allocated = H5D_SPACE_STATUS_ERROR;
  if (H5Dget_space_status(dataset.get(), &allocated) < 0)
    return library_failure(library, *state, "find the array's bytes");
  if (info.row_bytes * info.array.rows() == 0 || allocated == H5D_SPACE_STATUS_NOT_ALLOCATED)
    return std::shared_ptr<ArrayBase>(
        std::make_shared<FillArray>(std::move(state), std::move(info), std::move(fill_element)));
  const haddr_t address = H5Dget_offset(dataset.get());  // absolute, user block included
  const std::uint64_t end_bytes = state->driver->file->size();
  const std::uint64_t stored_bytes = info.stored_row_bytes() * info.array.rows();
  if (address == HADDR_UNDEF || address > end_bytes || stored_bytes > end_bytes - address)
    return Error(ErrorCode::kCorruptData,
                 fmt::format("its {} bytes from {} on reach past the end of the file of {} bytes", stored_bytes,
                             address, end_bytes));
  if (H5Dget_storage_size(dataset.get()) < stored_bytes)
    return Error(ErrorCode::kCorruptData, fmt::format("{} bytes are stored, its shape needs {}",
                                                      H5Dget_storage_size(dataset.get()), stored_bytes));
  return std::shared_ptr<ArrayBase>(std::make_shared<ContiguousArray>(std::move(state), std::move(info), address));
}

Result<std::shared_ptr<ArrayBase>> open_compact(const LibraryLock& library, std::shared_ptr<FileState> state,
                                                DatasetInfo info, Id dataset) {
  const std::uint64_t bytes = info.row_bytes * info.array.rows();
  const std::uint64_t stored = info.stored_row_bytes() * info.array.rows();
  if (H5Dget_storage_size(dataset.get()) < stored)
    return Error(ErrorCode::kCorruptData,
                 fmt::format("{} bytes are stored, its shape needs {}", H5Dget_storage_size(dataset.get()), stored));
  if (bytes > (std::uint64_t{1} << 20)) return Error(ErrorCode::kCorruptData, "a compact array of more than 64 KiB");
  std::vector<std::byte> values(bytes);
  const Id stored_type(H5Dget_type(dataset.get()));
  const hid_t type = info.element.memory_type.ok() ? info.element.memory_type.get() : stored_type.get();
  if (bytes > 0 && H5Dread(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
    return library_failure(library, *state, "read the compact array");
  to_native(info.element, values);
  return std::shared_ptr<ArrayBase>(
      std::make_shared<MemoryArray>(std::move(state), std::move(info), std::move(values)));
}

}  // namespace

Result<std::shared_ptr<ArrayBase>> open_described(const LibraryLock& library, std::shared_ptr<FileState> state,
                                                  DatasetInfo info, Id dataset) {
  const Id list(H5Dget_create_plist(dataset.get()));
  const Id type(H5Dget_type(dataset.get()));
  HEADRACE_ASSIGN(std::vector<std::byte> fill, fill_element(library, list.get(), type.get(), info.element));
  if (info.row_bytes == 0 || info.array.rows() == 0)
    return std::shared_ptr<ArrayBase>(std::make_shared<FillArray>(std::move(state), std::move(info), std::move(fill)));
  switch (info.array.layout) {
    case Layout::kContiguous:
      return open_contiguous(library, std::move(state), std::move(info), dataset, std::move(fill));
    case Layout::kCompact:
      return open_compact(library, std::move(state), std::move(info), std::move(dataset));
    case Layout::kExternal:
      return ExternalArray::open(std::move(state), std::move(info));
    case Layout::kVirtual:
      return std::shared_ptr<ArrayBase>(
          std::make_shared<VirtualArray>(std::move(state), std::move(info), std::move(fill)));
    case Layout::kChunked:
      break;
  }
  if (info.array.read_path == ReadPath::kFallback)
    return std::shared_ptr<ArrayBase>(
        std::make_shared<LibraryArray>(library, std::move(state), std::move(info), std::move(dataset)));
  HEADRACE_ASSIGN(CodecChain chain, CodecChain::make(codecs_of(info.filters), info.stored_form));
  return std::shared_ptr<ArrayBase>(
      std::make_shared<ChunkedArray>(std::move(state), std::move(info), std::move(chain), std::move(fill)));
}

namespace {

class Hdf5Reader final : public FormatReader {
 public:
  /// The state's file is open in libhdf5, and this reader one of its users.
  Hdf5Reader(std::shared_ptr<FileState> state, Walked walked) : state_(std::move(state)), walked_(std::move(walked)) {}
  ~Hdf5Reader() override {
    const LibraryLock library;
    state_->leave_library(library);
  }

  [[nodiscard]] std::string format_name() const override { return format_name_of(*state_); }
  [[nodiscard]] const std::string& path() const override { return state_->path; }
  [[nodiscard]] const std::vector<ArrayInfo>& arrays() const override { return walked_.arrays; }
  [[nodiscard]] const std::vector<LeftOut>& passed_over() const override { return walked_.passed_over; }
  [[nodiscard]] const Attributes& attributes() const override { return walked_.attributes; }
  [[nodiscard]] const RandomAccessFile& file() const override { return *state_->driver->file; }

  Result<std::shared_ptr<ArrayReader>> open_array(const std::string& path) const override {
    auto opened = open(path);
    if (!opened.ok()) opened.error().with_file(state_->path).with_field(trimmed(path));
    return opened;
  }

  [[nodiscard]] std::string facts(std::span<const std::shared_ptr<ArrayReader>> opened) const override {
    return facts_of(*state_, walked_.arrays, walked_.passed_over, walked_.attributes, opened);
  }

 private:
  static std::string trimmed(const std::string& path) {
    const std::size_t first = path.find_first_not_of('/');
    if (first == std::string::npos) return {};
    return path.substr(first, path.find_last_not_of('/') - first + 1);
  }

  Result<std::shared_ptr<ArrayReader>> open(const std::string& asked) const {
    const std::string path = trimmed(asked);
    const LibraryLock library;
    const ArrayInfo* array = find(path);
    if (array == nullptr) {
      if (const auto refused = walked_.refused.find(path); refused != walked_.refused.end()) return refused->second;
      if (const auto key = path.empty() || !walked_.groups_sound
                               ? std::nullopt
                               : find_object(library, *state_, path))  // another name for it?
        if (const auto known = walked_.by_object.find(*key); known != walked_.by_object.end())
          array = &walked_.arrays[known->second];
    }
    if (array == nullptr) return missing(path);
    if (const auto refused = walked_.refused.find(array->path); refused != walked_.refused.end())
      return refused->second;
    if (array->read_path == ReadPath::kUnsupported) return unreadable(*array);
    Id dataset = open_dataset(library, *state_, array->path);
    if (!dataset.ok()) return library_failure(library, *state_, "open the dataset");
    HEADRACE_ASSIGN(DatasetInfo info, describe_dataset(library, *state_, dataset.get(), array->path,
                                                       {.trail = nullptr, .stored_bytes = array->stored_bytes}));
    info.array.attributes = array->attributes;  // the walk has read the texts of variable length as well
    if (info.array.read_path == ReadPath::kUnsupported) return unreadable(info.array);
    HEADRACE_ASSIGN(auto opened, open_described(library, state_, std::move(info), std::move(dataset)));
    return std::shared_ptr<ArrayReader>(std::move(opened));
  }

  static Error unreadable(const ArrayInfo& array) {
    return Error(ErrorCode::kUnsupported, array.reason).with_hint(remedy_for(array.reason));
  }

  [[nodiscard]] const ArrayInfo* find(const std::string& path) const {
    const auto it = std::ranges::lower_bound(walked_.arrays, path, {}, &ArrayInfo::path);
    return it != walked_.arrays.end() && it->path == path ? &*it : nullptr;
  }

  [[nodiscard]] Error missing(const std::string& path) const {
    std::vector<std::string> names;
    for (const ArrayInfo& a : walked_.arrays) names.push_back(a.path);
    if (names.empty()) return Error(ErrorCode::kFieldMissing, "the file has no arrays");
    names = nearest_names(path, names);
    return Error(ErrorCode::kFieldMissing, fmt::format("the file has no array '{}'", path))
        .with_hint("It has: " + list_names(names) + ".");
  }

  std::shared_ptr<FileState> state_;
  Walked walked_;
};

}  // namespace

Result<bool> is_hdf5(const RandomAccessFile& file) {
  HEADRACE_ASSIGN(const std::optional<Superblock> superblock, read_superblock(file));
  return superblock.has_value();
}

Result<std::shared_ptr<FileState>> open_state(std::shared_ptr<RandomAccessFile> file, const std::string& path) {
  HEADRACE_ASSIGN(const std::optional<Superblock> superblock, read_superblock(*file));
  if (!superblock) return Error(ErrorCode::kUnsupported, "the file is not HDF5");
  const std::uint64_t size = file->size();
  if (superblock->version > 3)
    return Error(ErrorCode::kUnsupported,
                 fmt::format("its superblock has version {}; 0 to 3 are known", superblock->version));
  if (!superblock->understood)
    return Error(ErrorCode::kCorruptData, fmt::format("the file of {} bytes ends, or makes no sense, within "
                                                      "its superblock: a truncated copy?",
                                                      size))
        .with_hint("Copy it again and compare the sizes.");
  if (superblock->end_bytes > size)
    return Error(ErrorCode::kCorruptData, fmt::format("the file has {} bytes but its superblock says {}: a "
                                                      "truncated copy?",
                                                      size, superblock->end_bytes))
        .with_hint("Copy it again and compare the sizes.");
  if (superblock->being_written)
    return Error(ErrorCode::kUnsupported, "the file is open for writing, or its writer ended without closing")
        .with_hint("Wait for the writer; if there is none: h5clear -s FILE");
  auto state = std::make_shared<FileState>();
  state->driver->file = std::move(file);
  state->superblock = *superblock;
  state->path = path;
  return state;
}

Result<std::shared_ptr<FormatReader>> open_hdf5(std::shared_ptr<RandomAccessFile> file, const std::string& path) {
  HEADRACE_ASSIGN(auto state, open_state(std::move(file), path));
  Walked walked;
  {
    const LibraryLock library;
    HEADRACE_TRY(state->use_library(library));
    HEADRACE_ASSIGN(walked, walk_file(library, *state));
  }
  return std::shared_ptr<FormatReader>(std::make_shared<Hdf5Reader>(std::move(state), std::move(walked)));
}

std::string version_text() {
  const LibraryLock library;
  return library_version(library);
}

}  // namespace headrace::hdf5
